/** Scores models by the catalog, the default source of ranks for the auto router. */
import type { Candidate } from '../services/inner-call/candidates.ts';
import { scoreNamesOf } from './task-types.ts';

/** How good a model is at something, and how much is known of it. */
export interface Score {
  /** From 0 to 1. */
  readonly score: number;
  /** Prompts that it was measured on. Default: unknown, which counts as {@link ASSUMED_COUNT}. */
  readonly count?: number | undefined;
}

/**
 * Where ranks come from: how good a model is at a kind of task, from 0 to 1, or undefined when that is unknown. Called
 * for every candidate while a route is planned, so it must answer at once, and the same for the same question. A plain
 * function is a source.
 */
export interface RankingSource {
  (candidate: Candidate, task: string): number | Score | undefined;
  /** Everything that a candidate has scores for; together they say how good it is overall. Default: all tasks. */
  readonly names?: ((candidate: Candidate) => readonly string[]) | undefined;
}

/** Prompts that a score without a count is taken to be measured on: few enough that small differences mean nothing. */
export const ASSUMED_COUNT = 100;

/**
 * The default {@link RankingSource}: the scores of the catalog, as programs give them with
 * `createRouter({ models: { 'author/slug': { scores: { coding: 0.8 }, scoreCounts: { coding: 164 } } } })`. Of several
 * endpoints the best one counts.
 */
export function catalogScores(): RankingSource {
  return Object.assign(scoreFromCatalog, { names: namesInCatalog });
}

function scoreFromCatalog({ endpoints }: Candidate, task: string): Score | undefined {
  for (const name of scoreNamesOf(task)) {
    const best = bestScore(endpoints, name);
    if (best !== undefined) return best;
  }
  return undefined;
}

function bestScore(endpoints: Candidate['endpoints'], name: string): Score | undefined {
  let best: Score | undefined;
  for (const { scores, scoreCounts } of endpoints) {
    const score = scores?.[name];
    if (score !== undefined && score > (best?.score ?? -Infinity)) best = { score, count: scoreCounts?.[name] };
  }
  return best;
}

function namesInCatalog({ endpoints }: Candidate): readonly string[] {
  const [only] = endpoints;
  if (endpoints.length === 1) return Object.keys(only?.scores ?? {});
  return [...new Set(endpoints.flatMap(({ scores }) => Object.keys(scores ?? {})))];
}
