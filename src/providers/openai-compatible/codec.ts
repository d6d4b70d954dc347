import type { Codec } from '../codec.ts';
import { callIdPrefix } from '../tool-ids.ts';
import { decodeResult } from './decode-result.ts';
import type { Dialect } from './dialect.ts';
import { embeddingsCodec } from './embeddings.ts';
import { encodeRequest } from './encode-request.ts';
import { ChatStreamDecoder } from './stream-decoder.ts';

/** The chat completions wire in one dialect. */
export function chatCompletionsCodec(dialect: Dialect): Codec {
  return {
    path: () => '/chat/completions',
    encode: (request, endpoint) => encodeRequest(request, endpoint, dialect),
    decodeResult: (body, context, request) =>
      decodeResult(body, { ...context, dialect, idPrefix: callIdPrefix(request) }),
    embeddings: embeddingsCodec(dialect),
    streamDecoder: (context, request) =>
      new ChatStreamDecoder({ ...context, dialect, idPrefix: callIdPrefix(request) }),
  };
}
