import type { Candidate } from './candidates.ts';

/** Scores of the candidates that have one, and whether their source failed. */
export interface SafeScores {
  readonly scores: ReadonlyMap<Candidate, number>;
  readonly failed: boolean;
}

/** Asks for the score of every candidate. A source that throws knows none; a value that is no number is none. */
export function safeScores(
  candidates: readonly Candidate[],
  scoreOf: (candidate: Candidate) => number | undefined,
): SafeScores {
  try {
    const scores = candidates.map((candidate) => [candidate, scoreOf(candidate)] as const);
    const known = scores.filter((entry): entry is readonly [Candidate, number] => Number.isFinite(entry[1]));
    return { scores: new Map(known), failed: false };
  } catch {
    // What it threw may repeat a prompt, so it is told to nobody; that it threw stands in the stage.
    return { scores: new Map(), failed: true };
  }
}
