import { byPrice, type Candidate } from '../inner-call/candidates.ts';
import { scoreNamesOf } from './task-types.ts';

/**
 * Where ranks come from: how good a model is at a kind of task, from 0 to 1, or undefined when unknown. Asked for every
 * candidate while a route is planned, so it must answer at once, and the same for the same question.
 */
export type RankingSource = (candidate: Candidate, task: string) => number | undefined;

/** What candidates were ordered by. */
export type RankedBy = 'scores' | 'default_models' | 'price';

/**
 * The default {@link RankingSource}: the scores of the catalog, as programs give them with
 * `createRouter({ models: { 'author/slug': { scores: { coding: 0.8 } } } })`. Of several endpoints the best one counts.
 */
export function catalogScores(): RankingSource {
  return ({ endpoints }, task) => {
    for (const name of scoreNamesOf(task)) {
      const scores = endpoints.flatMap((endpoint) => endpoint.scores?.[name] ?? []);
      if (scores.length > 0) return Math.max(...scores);
    }
    return undefined;
  };
}

/** Orders candidates by score, and those without one behind them by price. Without any score, by list or by price. */
export function ranked(
  candidates: readonly Candidate[],
  scoreOf: (candidate: Candidate) => number | undefined,
  defaultModels: readonly string[],
): { readonly ranking: readonly Candidate[]; readonly by: RankedBy } {
  const scores = candidates.map(scoreOf);
  const places = candidates.map(({ model }) => defaultModels.indexOf(model.id));
  const by = scores.some((score) => score !== undefined)
    ? 'scores'
    : places.some((place) => place >= 0)
      ? 'default_models'
      : 'price';
  const worths = by === 'scores' ? scores : places.map((place) => (place < 0 ? undefined : -place));
  const worth = new Map(candidates.map((one, index) => [one, worths[index] ?? -Infinity]));
  const ranking = [...candidates].sort(
    (left, right) => descending(worth.get(left) ?? 0, worth.get(right) ?? 0) || byPrice(left, right),
  );
  return { ranking, by };
}

/** The bigger number first; equal infinities are equal. */
function descending(left: number, right: number): number {
  return left === right ? 0 : right - left;
}
