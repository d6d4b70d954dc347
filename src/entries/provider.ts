/** The entry point `signalbox/provider`: what authors of providers need. */

// A provider from a codec and the shared transport.
export { httpProvider } from '../providers/http-provider.ts';
export type { HttpProviderOptions } from '../providers/http-provider.ts';
export type { ApiAnswer, ApiRequest, ProviderApi, ProviderApiOptions } from '../providers/provider-api.ts';
export type {
  Codec,
  DecodedResult,
  TokenCountCodec,
  BatchCodecs,
  StreamDecoder,
  SseEvent,
} from '../providers/codec.ts';
export type { DecodedEmbeddings, EmbeddingCodec, EncodedEmbeddingRequest } from '../providers/embedding-codec.ts';
export type { ApiFormatName } from '../protocol/api-format.ts';

// To use keys that a function gives.
export { withKey } from '../providers/issued-tokens.ts';
export type { ProviderKey } from '../contracts/account.ts';

// To write requests.
export { EncodeError } from '../providers/codec.ts';
export { parseDataUrl } from '../platform/data-url.ts';
export type { DataUrl } from '../platform/data-url.ts';
export { ToolIds, callIdPrefix } from '../providers/tool-ids.ts';
export type { ToolIdRule } from '../providers/tool-ids.ts';
export { readEnvironment } from '../platform/environment.ts';

// To read answers.
export { readJsonAnswer } from '../providers/upstream-failure.ts';
export type { JsonAnswer } from '../providers/upstream-failure.ts';
export { parseJson } from '../providers/upstream-failure.ts';
export { escapeText, unescapeText } from '../core/stream/pieces.ts';
export { collectAnswer } from '../providers/piece-stream.ts';
export { piecesOf } from '../core/stream/pieces.ts';
export { failureInBand } from '../providers/upstream-failure.ts';
export type { ErrorContext } from '../providers/upstream-failure.ts';
export type { ErrorShape } from '../providers/error-shape.ts';
export { isJsonObject } from '../protocol/json.ts';
export type { NativeRequest } from '../contracts/request.ts';
