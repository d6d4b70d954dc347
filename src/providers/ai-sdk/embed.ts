import { type AttemptFailure, failure } from '../../core/fallback/failure.ts';
import { isJsonObject } from '../../protocol/json.ts';
import { type EmbeddingsPart, joinEmbeddings } from '../join-embeddings.ts';
import type { EmbeddingCall } from '../provider.ts';
import type { EmbeddingReply } from '../provider-reply.ts';
import type { CallDefaults } from './encode-call.ts';
import { encodeEmbeddingCalls } from './embedding-call.ts';
import type { AiSdkEmbeddingModel } from './model.ts';
import { type WarningSink, judgeWarnings } from './warnings.ts';

/** What a call of an embedding model is made with, besides the request. */
export interface EmbeddingContext {
  readonly signal: AbortSignal;
  readonly defaults: CallDefaults;
  readonly warnings: WarningSink;
}

/** Asks a model for the vectors of a request, in as many calls as its limit makes of it, one after the other. */
export async function embedWith(
  model: AiSdkEmbeddingModel,
  { request, endpoint, progress }: Pick<EmbeddingCall, 'request' | 'endpoint' | 'progress'>,
  { signal, defaults, warnings }: EmbeddingContext,
): Promise<EmbeddingReply> {
  const most: unknown = await model.maxEmbeddingsPerCall;
  const calls = encodeEmbeddingCalls(request, endpoint, model, isLimit(most) ? most : undefined, defaults);
  const parts: EmbeddingsPart[] = [];
  for (const { headers, ...options } of calls) {
    progress.sending(() => JSON.parse(JSON.stringify(options)));
    const all = { ...options, ...(headers === undefined ? {} : { headers }), abortSignal: signal };
    const answer: unknown = await model.doEmbed(all as never);
    const part = readAnswer(answer, options.values.length, warnings);
    if ('kind' in part) return { type: 'failed', failure: part };
    parts.push(part);
  }
  const joined = joinEmbeddings(parts);
  return 'vectors' in joined ? { type: 'embedded', result: joined } : { type: 'failed', failure: joined };
}

function readAnswer(answer: unknown, inputs: number, sink: WarningSink): EmbeddingsPart | AttemptFailure {
  if (!isJsonObject(answer)) return failure('bad_response', 'The model gave no answer');
  const { embeddings, usage, warnings, response } = answer;
  const refused = judgeWarnings(warnings, sink);
  if (refused !== undefined) return refused;
  if (!Array.isArray(embeddings) || !embeddings.every((vector) => Array.isArray(vector))) {
    return failure('bad_response', 'The model gave an answer without embeddings');
  }
  const vectors = inOrder(embeddings, isJsonObject(response) ? response['body'] : null);
  if (vectors === undefined) return failure('bad_response', 'The provider sent embeddings with impossible indexes');
  const tokens = isJsonObject(usage) ? usage['tokens'] : undefined;
  // A model that does not count says so with NaN.
  const counted = typeof tokens === 'number' && Number.isSafeInteger(tokens) && tokens >= 0;
  return {
    inputs,
    result: {
      vectors,
      usage: counted ? { prompt_tokens: tokens, completion_tokens: 0, total_tokens: tokens } : undefined,
    },
  };
}

type Vector = readonly number[];

/**
 * Vectors by their indexes. The SDK takes them in the order in which they stand in the answer of the provider, which
 * need not be that of the inputs.
 */
function inOrder(vectors: readonly Vector[], body: unknown): readonly Vector[] | undefined {
  const items = isJsonObject(body) && Array.isArray(body['data']) ? body['data'] : [];
  const indexes = items.map((item) => (isJsonObject(item) ? item['index'] : undefined));
  if (indexes.length !== vectors.length || indexes.every((index, place) => index === undefined || index === place)) {
    return vectors;
  }
  const ordered = vectors.map((_, place) => vectors[indexes.indexOf(place)]);
  return ordered.every((vector) => vector !== undefined) ? ordered : undefined;
}

/** Models without a limit say `undefined` or infinity. */
function isLimit(most: unknown): most is number {
  return typeof most === 'number' && Number.isSafeInteger(most) && most > 0;
}
