import type { EmbeddingItem, EncodingFormat } from '../../protocol/embedding-request.ts';
import type { RoutedRequest } from './normalized-request.ts';

/** A request for embeddings after parsing: no nulls, no aliases, defaults applied. */
export interface NormalizedEmbeddingRequest extends RoutedRequest {
  readonly operation: 'embeddings';
  /** What becomes one vector each, in order. */
  readonly inputs: readonly EmbeddingItem[];
  /** How the caller wants the vectors. What a provider is asked for is its codec's business. */
  readonly encodingFormat: EncodingFormat;
  /** Length that the vectors must have. */
  readonly dimensions?: number | undefined;
  /** In the caller's words. */
  readonly inputType?: string | undefined;
  /** Likely number of tokens in all inputs together, for usage that a provider did not report. */
  readonly likelyTokens: number;
}
