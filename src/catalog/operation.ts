import type { Endpoint } from './endpoint.ts';

/** What a request asks of a model. */
export type Operation = 'chat' | 'embeddings';

/**
 * Whether an endpoint may be asked for this, by its declaration; undefined when nobody declared what comes out of it.
 * An endpoint serves embeddings when it declares the output `embeddings`, and chat when it declares any other.
 */
export function serves({ outputModalities, canEmbed }: Endpoint, operation: Operation): boolean | undefined {
  if (operation === 'embeddings' && !canEmbed) return false;
  if (outputModalities === undefined) return undefined;
  const embeds = outputModalities.has('embeddings');
  return operation === 'embeddings' ? embeds : !embeds || outputModalities.size > 1;
}

/**
 * The endpoint as embeddings are asked of it. Where it may serve chat as well, its health is kept apart: a model that
 * refuses to make embeddings is no worse at chat.
 */
export function asEmbeddingEndpoint(endpoint: Endpoint): Endpoint {
  return serves(endpoint, 'chat') === false ? endpoint : { ...endpoint, id: `${endpoint.id}/embeddings` };
}
