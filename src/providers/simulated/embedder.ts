import type { Endpoint } from '../../catalog/endpoint.ts';
import type { UpstreamEmbeddings } from '../../core/embeddings/upstream-embeddings.ts';
import { type AttemptFailure, failure } from '../../core/fallback/failure.ts';
import { likelyTokens } from '../../core/normalize/token-estimate.ts';
import type { NormalizedEmbeddingRequest } from '../../core/normalize/normalized-embedding-request.ts';
import type { EmbeddingItem } from '../../protocol/embedding-request.ts';
import { messageTokens } from './tokens.ts';
import { vectorFor } from './vectors.ts';

/** Length of vectors when the request names none, and the greatest it may name. */
export const SIMULATED_DIMENSIONS = 256;
const MAX_SIMULATED_DIMENSIONS = 4_096;
/** Tokens in all inputs of a request: more would keep the process from everything else for too long. */
const MAX_TOKENS = 300_000;

/** Vectors that are ready to be handed out, or the reason why there are none. */
export type Embedded =
  | { readonly ok: true; readonly result: UpstreamEmbeddings }
  | { readonly ok: false; readonly failure: AttemptFailure };

/** Embeds the inputs of a request on behalf of an endpoint, and refuses what real servers refuse too. */
export function embedInputs(request: NormalizedEmbeddingRequest, endpoint: Endpoint, seed: number): Embedded {
  const { inputs, dimensions = SIMULATED_DIMENSIONS } = request;
  if (dimensions > MAX_SIMULATED_DIMENSIONS) {
    const message = `The simulated provider makes vectors of at most ${MAX_SIMULATED_DIMENSIONS} numbers`;
    return { ok: false, failure: failure('invalid_request', message, { status: 400 }) };
  }
  const limit = endpoint.contextLength ?? Infinity;
  const counts = inputs.map(tokensOf);
  const tokens = counts.reduce((sum, count) => sum + count, 0);
  const tooLong = counts.find((count) => count > limit);
  if (tooLong !== undefined || tokens > MAX_TOKENS) {
    const message =
      tooLong === undefined
        ? `The inputs have ${tokens} tokens, but one request may have ${MAX_TOKENS}`
        : `An input has ${tooLong} tokens, but this model has a context of ${limit}`;
    return { ok: false, failure: failure('context_length', message, { status: 400 }) };
  }
  const space = `${seed} ${endpoint.model}`;
  return {
    ok: true,
    result: {
      vectors: inputs.map((input) => vectorFor(input, dimensions, space)),
      usage: { prompt_tokens: tokens, completion_tokens: 0, total_tokens: tokens },
    },
  };
}

function tokensOf(input: EmbeddingItem): number {
  if (typeof input === 'string') return likelyTokens(input);
  return 'content' in input ? messageTokens({ role: 'user', content: input.content }) : input.length;
}
