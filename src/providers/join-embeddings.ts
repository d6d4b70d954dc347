import { type AttemptFailure, failure } from '../core/fallback/failure.ts';
import type { UpstreamEmbeddings } from '../core/embeddings/upstream-embeddings.ts';
import type { ReportedUsage } from '../core/stream/pieces.ts';

/** One answer of several that belong to one request. */
export interface EmbeddingsPart {
  readonly result: UpstreamEmbeddings;
  /** Inputs that it was asked for. */
  readonly inputs: number;
}

/**
 * Joins the answers to a request that needed several calls, in their order. Each must have a vector for each of its
 * inputs: one too few here and one too many there would make up a whole in which vectors stand beside the wrong texts.
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
