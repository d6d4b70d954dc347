import type { NormalizedRequest } from '../../core/normalize/normalized-request.ts';
import type { Codec } from '../codec.ts';
import { callIdPrefix, originalIds } from '../tool-ids.ts';
import type { ErrorContext } from '../upstream-failure.ts';
import { type DecodeContext, decodeResult } from './decode-result.ts';
import { type Dialect, toolIdRule } from './dialect.ts';
import { embeddingsCodec } from './embeddings.ts';
import { INPUT_COUNT } from './count-input.ts';
import { encodeRequest } from './encode-request.ts';
import { ChatStreamDecoder } from './stream-decoder.ts';

/** The chat completions wire in one dialect. */
export function chatCompletionsCodec(dialect: Dialect): Codec {
  const rule = toolIdRule(dialect);

  function contextOf(context: ErrorContext, request: NormalizedRequest): DecodeContext {
    const originalId = originalIds(request.messages, rule);
    return { ...context, dialect, idPrefix: callIdPrefix(request), originalId };
  }

  return {
    path: () => '/chat/completions',
    encode: (request, endpoint) => encodeRequest(request, endpoint, dialect),
    decodeResult: (body, context, request) => decodeResult(body, contextOf(context, request)),
    embeddings: embeddingsCodec(dialect),
    tokenCount: dialect.countsInput === true ? INPUT_COUNT : undefined,
    streamDecoder: (context, request) => new ChatStreamDecoder(contextOf(context, request)),
  };
}
