// A provider from a codec and the shared transport.
export { httpProvider } from './http-provider.ts';
export type { HttpProviderOptions } from './http-provider.ts';
export type { ApiAnswer, ApiRequest, ProviderApi, ProviderApiOptions } from './provider-api.ts';
export type { BatchCodecs } from './batch-codecs.ts';
export type { Codec, DecodedResult } from './codec.ts';
export type { DecodedEmbeddings, EmbeddingCodec, EncodedEmbeddingRequest } from './embedding-codec.ts';
export type { StreamDecoder } from './piece-stream.ts';
export type { SseEvent } from './sse.ts';
export type { DialectName } from '../protocol/dialect.ts';
export type { NativeRequest } from '../core/dialects/dialect.ts';

// To write requests.
export { EncodeError } from './encode-error.ts';
export { parseDataUrl } from './data-url.ts';
export type { DataUrl } from './data-url.ts';
export { ToolIds, callIdPrefix } from './tool-ids.ts';
export type { ToolIdRule } from './tool-ids.ts';
export { readEnvironment } from './openai-compatible/environment.ts';

// To read answers.
export { readJsonAnswer } from './read-json-answer.ts';
export type { JsonAnswer } from './read-json-answer.ts';
export { parseJson } from './parse-json.ts';
export { escapeText, unescapeText } from '../core/stream/pieces.ts';
export { collectAnswer } from './collect-answer.ts';
export { scatter } from '../core/stream/scatter.ts';
export { failureInBand } from './upstream-failure.ts';
export type { ErrorContext } from './upstream-failure.ts';
export type { ErrorShape } from './error-shape.ts';
export { isJsonObject } from '../protocol/json.ts';
