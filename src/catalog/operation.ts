import type { Endpoint } from './endpoint.ts';

/** What a request asks of a model. */
export type Operation = 'chat' | 'embeddings';

/**
 * Whether an endpoint may be asked for this, by its declaration; `unknown` when nobody declared what comes out of it.
 * An endpoint serves embeddings when it declares the output `embeddings`, and chat when it declares any other.
 */
export function serves({ outputModalities, canEmbed }: Endpoint, operation: Operation): 'yes' | 'no' | 'unknown' {
  if (operation === 'embeddings' && !canEmbed) return 'no';
  if (outputModalities === undefined) return 'unknown';
  const embeds = outputModalities.has('embeddings');
  const does = operation === 'embeddings' ? embeds : !embeds || outputModalities.size > 1;
  return does ? 'yes' : 'no';
}

/**
 * The endpoint as embeddings are asked of it. Where it may serve chat as well, its health is kept apart: a model that
 * refuses to make embeddings is no worse at chat.
 */
export function asEmbeddingEndpoint(endpoint: Endpoint): Endpoint {
  return serves(endpoint, 'chat') === 'no' ? endpoint : { ...endpoint, id: `${endpoint.id}/embeddings` };
}
