/** The contract of codecs for embeddings, and the joining of partial answers. */
import type { Endpoint } from '../catalog/endpoint.ts';
import type { ErrorContext } from './upstream-failure.ts';
import { type AttemptFailure, failure } from '../contracts/failure.ts';
import type { NormalizedEmbeddingRequest } from '../contracts/request.ts';
import type { ReportedUsage, UpstreamEmbeddings } from '../contracts/stream-piece.ts';

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

/** How one wire requires embeddings and reads them. Pure: a codec never sends anything. */
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

/** One answer of several that belong to one request. */
export interface EmbeddingsPart {
  readonly result: UpstreamEmbeddings;
  /** Inputs of the request. */
  readonly inputs: number;
}

/**
 * Joins the answers to a request that needed several calls, in their order. Each must have a vector for each of its
 * inputs: one too few here and one too many there would make up a whole in which vectors are beside the wrong texts.
 * Tokens are added up, unless somebody did not count.
 */
export function joinEmbeddings(parts: readonly EmbeddingsPart[]): UpstreamEmbeddings | AttemptFailure {
  const [first] = parts;
  if (first !== undefined && parts.length === 1) return first.result;
  for (const { result, inputs } of parts) {
    const { length } = result.vectors;
    if (length !== inputs) {
      return failure('bad_response', `The number of vectors that the provider sent is ${length}, not ${inputs}`);
    }
  }
  const usages = parts.map(({ result }) => result.usage);
  return {
    vectors: parts.flatMap(({ result }) => result.vectors),
    usage: usages.every((usage) => usage !== undefined) ? sum(usages) : undefined,
  };
}

function sum(usages: readonly ReportedUsage[]): ReportedUsage {
  const total = (read: (usage: ReportedUsage) => number): number => usages.reduce((all, usage) => all + read(usage), 0);
  return {
    prompt_tokens: total((usage) => usage.prompt_tokens),
    completion_tokens: total((usage) => usage.completion_tokens),
    total_tokens: total((usage) => usage.total_tokens),
    ...(usages.every(({ reportedCost }) => reportedCost !== undefined)
      ? { reportedCost: total(({ reportedCost }) => reportedCost ?? 0) }
      : {}),
  };
}
