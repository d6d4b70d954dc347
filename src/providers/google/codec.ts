import type { NormalizedRequest } from '../../core/normalize/normalized-request.ts';
import type { JsonObject } from '../../protocol/json.ts';
import type { Codec } from '../codec.ts';
import type { ErrorContext } from '../upstream-failure.ts';
import type { AnswerContext } from './answer-reader.ts';
import { decodeResult } from './decode-result.ts';
import { encodeRequest } from './encode-request.ts';
import { SignatureMemory } from './signature-memory.ts';
import { GoogleStreamDecoder } from './stream-decoder.ts';
import type { GoogleSurface } from './wire.ts';

/** Google's own wire: `generateContent`. */
export function googleCodec(surface: GoogleSurface, safetySettings: readonly JsonObject[] | undefined): Codec {
  const memory = new SignatureMemory();

  function answerContext(context: ErrorContext, request: NormalizedRequest): AnswerContext {
    return {
      ...context,
      request,
      // Unique among requests, and the same in every repetition of one.
      idPrefix: `call_${request.id.slice(-12)}`,
      remember: (callId, signature) => memory.remember(request.account.id, callId, signature),
    };
  }

  return {
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
  };
}

/**
 * Path of a model below the base address: a name with a slash in it, such as `tunedModels/x`, is a path already. A name can never lead
 * anywhere else: what means something in an address is escaped.
 */
export function modelPath(upstreamModel: string): string {
  // The author's name is part of ids of ours, not of Google's.
  const name = upstreamModel.replace(/^google\//, '');
  const segments = name.split('/');
  const isPath = segments.length > 1 && segments.every((segment) => /[^.]/.test(segment));
  return isPath ? segments.map(encodeURIComponent).join('/') : `models/${encodeURIComponent(name)}`;
}
