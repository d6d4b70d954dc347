import type { RouterMetadata } from './metadata.ts';
import type { Usage } from './chunk.ts';

/** One vector. */
export interface Embedding<Vector = readonly number[] | string> {
  readonly object: 'embedding';
  /** Position of its input in the request. */
  readonly index: number;
  /** Numbers, or base64 of little-endian 32-bit floats, as `encoding_format` asked. */
  readonly embedding: Vector;
}

/** What embeddings used and cost. Nothing is generated, so there are no completion tokens. */
export type EmbeddingUsage = Pick<
  Usage,
  'prompt_tokens' | 'total_tokens' | 'cost' | 'is_byok' | 'estimated' | 'cost_details' | 'prompt_tokens_details'
>;

/**
 * Body of an answer to `POST /embeddings` (gaps 10).
 *
 * @typeParam Vector - `readonly number[]` for the format `float`, `string` for `base64`.
 */
export interface EmbeddingResult<Vector = readonly number[] | string> {
  /** `gen-<unix seconds>-<20 characters>`, the same as in the `X-Generation-Id` header. */
  readonly id: string;
  readonly object: 'list';
  /** Model that answered. */
  readonly model: string;
  /** Display name of the provider that answered. */
  readonly provider: string;
  /** One vector for each input, in their order. */
  readonly data: readonly Embedding<Vector>[];
  readonly usage: EmbeddingUsage;
  /** Present when the request asked for it. */
  readonly router_metadata?: RouterMetadata;
}
