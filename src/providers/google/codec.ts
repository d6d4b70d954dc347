import type { ParameterName } from '../../catalog/parameters.ts';
import type { NormalizedRequest } from '../../core/normalize/normalized-request.ts';
import type { JsonObject } from '../../protocol/json.ts';
import type { Codec } from '../codec.ts';
import { callIdPrefix } from '../tool-ids.ts';
import type { ErrorContext } from '../upstream-failure.ts';
import type { AnswerContext } from './answer-reader.ts';
import { decodeResult } from './decode-result.ts';
import { encodeRequest } from './encode-request.ts';
import { SignatureMemory } from './signature-memory.ts';
import { GoogleStreamDecoder } from './stream-decoder.ts';
import { googleEmbeddings } from './embeddings.ts';
import { modelPath } from './model-path.ts';
import type { GoogleSurface } from './wire.ts';

/** Parameters of chat completions that Google does not have. */
const NO_WORDS: readonly ParameterName[] = [
  'min_p',
  'top_a',
  'repetition_penalty',
  'logit_bias',
  'prediction',
  'parallel_tool_calls',
  'verbosity',
];

/** Google's own wire: `generateContent`. */
export function googleCodec(surface: GoogleSurface, safetySettings: readonly JsonObject[] | undefined): Codec {
  const memory = new SignatureMemory();

  function answerContext(context: ErrorContext, request: NormalizedRequest): AnswerContext {
    return {
      ...context,
      request,
      idPrefix: callIdPrefix(request),
      remember: (callId, signature) => memory.remember(request.account.id, callId, signature),
    };
  }

  return {
    unsupported: NO_WORDS,
    path: ({ stream }, { upstreamModel }) =>
      `/${modelPath(upstreamModel)}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    encode: (request, endpoint) =>
      encodeRequest(request, endpoint, {
        surface,
        safetySettings,
        recall: (callId) => memory.recall(request.account.id, callId),
      }),
    decodeResult: (body, context, request) => decodeResult(body, answerContext(context, request)),
    streamDecoder: (context, request) => new GoogleStreamDecoder(answerContext(context, request)),
    // Vertex has another wire for embeddings.
    embeddings: surface.vertex ? undefined : googleEmbeddings(),
  };
}
