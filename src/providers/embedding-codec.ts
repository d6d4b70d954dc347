import type { Endpoint } from '../catalog/endpoint.ts';
import type { UpstreamEmbeddings } from '../core/embeddings/upstream-embeddings.ts';
import { type AttemptFailure, failure } from '../core/fallback/failure.ts';
import type { NormalizedEmbeddingRequest } from '../core/normalize/normalized-embedding-request.ts';
import type { ErrorContext } from './upstream-failure.ts';

/** A request as it goes upstream. */
export interface EncodedEmbeddingRequest {
  /** Path below the base URL. */
  readonly path: string;
  /** Body of the request, to be serialised once. */
  readonly body: Readonly<Record<string, unknown>>;
  /** Inputs in it. Default: all of the request's. */
  readonly inputs?: number | undefined;
}

/** Decoded vectors in the order of the inputs, or what is wrong with the answer. */
export type DecodedEmbeddings =
  | { readonly ok: true; readonly result: UpstreamEmbeddings }
  | { readonly ok: false; readonly failure: AttemptFailure };

/** How one wire asks for embeddings and reads them. Pure: a codec never sends anything. */
export interface EmbeddingCodec {
  /**
   * Writes a request; as several, one after the other, where one call cannot have all inputs. They are made in their
   * order, and not before all of them could be written.
   *
   * @throws {@link EncodeError} for inputs that this wire cannot say.
   */
  encode(
    request: NormalizedEmbeddingRequest,
    endpoint: Endpoint,
  ): EncodedEmbeddingRequest | readonly EncodedEmbeddingRequest[];
  /**
   * Reads an answer. That there are as many vectors as inputs, all of one length and all of numbers, is checked by the
   * router; what only the codec can see, such as indexes, is checked here.
   */
  decode(body: string, context: ErrorContext): DecodedEmbeddings;
}

/** An answer that is none. */
export function badEmbeddings(message: string): Extract<DecodedEmbeddings, { ok: false }> {
  return { ok: false, failure: failure('bad_response', message) };
}
