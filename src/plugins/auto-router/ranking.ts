/** Ranks candidate models for a classified prompt. */
import { byPrice, bySize, type Candidate } from '../services/inner-call/candidates.ts';
import { bestOfTier } from '../services/inner-call/value.ts';
import type { TaskProbability } from './classifier.ts';
import { ASSUMED_COUNT, type RankingSource } from './catalog-scores.ts';
import { TASK_TYPES } from './task-types.ts';

/** What candidates were ordered by. */
export type RankedBy = 'scores' | 'default_models' | 'size';

/** Prompts that speak for no difference between two models, before any was called. */
const PRIOR_COUNT = 20;
/** Standard errors that a gain must exceed. */
const STANDARD_ERRORS = 1;
/** Share of a prompt's tasks that a model needs scores for, to be compared at them. */
const LEAST_COVERED = 0.5;

/** A candidate with its scores for one prompt. */
export interface Rated {
  readonly candidate: Candidate;
  /** For each task that the prompt may be. */
  readonly byTask: readonly (CountedScore | undefined)[];
  /** How good it is at everything; undefined without any score. */
  readonly overall: number | undefined;
  /** How good it is likely to be at the prompt. */
  readonly expected: number;
  /** Share of the prompt's tasks that it has a score for. */
  readonly covered: number;
}

/** Asks a source for what it knows of every candidate. Values that are no numbers are none. */
export function rate(
  candidates: readonly Candidate[],
  rank: RankingSource,
  shares: readonly TaskProbability[],
): readonly Rated[] {
  const rows = candidates.map((candidate) => {
    const row = new Map<string, CountedScore>();
    for (const name of rank.names?.(candidate) ?? TASK_TYPES) {
      const score = scoreOf(rank, candidate, name);
      if (score !== undefined) row.set(name, score);
    }
    return row;
  });
  const overall = overallScores(rows);
  const known = candidates.map((candidate, index) => {
    const byTask = shares.map(({ task }) => scoreOf(rank, candidate, task));
    const covered = shares.reduce((sum, { probability }, at) => sum + (byTask[at] === undefined ? 0 : probability), 0);
    return { candidate, byTask, covered, overall: overall[index] };
  });
  const qualities = areOnOneScale(rows) ? provenQualities(known, shares) : known.map((one) => meanScore(one, shares));
  return known.map((one, index) => ({ ...one, expected: qualities[index] ?? 0 }));
}

type Unweighed = Omit<Rated, 'expected'>;

/** Whether the overall scores of models can be compared with their scores for tasks: all have the same names. */
function areOnOneScale(rows: readonly ReadonlyMap<string, CountedScore>[]): boolean {
  const scored = rows.filter((row) => row.size > 0);
  const [first] = scored;
  return (
    first !== undefined &&
    scored.every((row) => row.size === first.size && [...row.keys()].every((name) => first.has(name)))
  );
}

/** The score for the tasks of a prompt; where a model has none for a task, the overall one. */
function meanScore({ byTask, overall = 0 }: Unweighed, shares: readonly TaskProbability[]): number {
  return shares.reduce((sum, { probability }, index) => sum + probability * (byTask[index]?.score ?? overall), 0);
}

/**
 * How good models are likely to be at a prompt: as good as overall, and better or worse than that by as much as their
 * scores for its tasks differ from it by more than chance explains, and by more than those of the other models do.
 */
function provenQualities(pool: readonly Unweighed[], shares: readonly TaskProbability[]): readonly number[] {
  const qualities = pool.map(({ overall }) => overall ?? 0);
  for (const [index, { probability }] of shares.entries()) {
    const differences = pool.map(({ byTask, overall = 0 }) => {
      const own = byTask[index];
      return own === undefined ? undefined : own.score - overall;
    });
    const known = differences.filter((difference) => difference !== undefined);
    const mean = known.reduce((sum, difference) => sum + difference, 0) / Math.max(1, known.length);
    for (const [at, { byTask }] of pool.entries()) {
      const [own, difference] = [byTask[index], differences[at]];
      if (own === undefined || difference === undefined) continue;
      const shrunk = (own.count / (own.count + PRIOR_COUNT)) * (difference - mean);
      const proven = Math.max(0, Math.abs(shrunk) - STANDARD_ERRORS * Math.sqrt(varianceOf(own)));
      qualities[at] = (qualities[at] ?? 0) + probability * Math.sign(shrunk) * proven;
    }
  }
  return qualities;
}

function scoreOf(rank: RankingSource, candidate: Candidate, task: string): CountedScore | undefined {
  const given = rank(candidate, task);
  const { score, count = ASSUMED_COUNT } = typeof given === 'object' ? given : { score: given };
  return Number.isFinite(score) && score !== undefined ? { score, count } : undefined;
}

/** What decides the order besides scores. */
export interface RankingRules {
  readonly shares: readonly TaskProbability[];
  readonly defaultModels: readonly string[];
  /** How much worse than the best a good value may be, where the caller requested low costs; undefined otherwise. */
  readonly farWorse: number | undefined;
  /** Places that matter. */
  readonly places: number;
  /** Whether a candidate is in the cost band. */
  readonly isInBand: (candidate: Candidate) => boolean;
}

/** Candidates in order, by what, and which of them is the best overall. */
interface Ranking {
  readonly ranking: readonly Candidate[];
  readonly by: RankedBy;
  readonly bestOverall?: Candidate | undefined;
}

/**
 * Orders candidates. With scores: the best model overall, unless another one is better at the tasks of this prompt by
 * more than chance explains; where the caller requested low costs, the cost band by quality per cost, and a model from
 * outside of it in the place of one that it beats in both. Models without scores come behind. Without any score: the
 * default models, else by size.
 */
export function ranked(rated: readonly Rated[], rules: RankingRules): Ranking {
  const { shares, defaultModels, farWorse, places, isInBand } = rules;
  const inBand = rated.filter(({ candidate }) => isInBand(candidate));
  const scored = inBand.filter(isScored);
  if (scored.length === 0) {
    return withoutScores(
      inBand.map(({ candidate }) => candidate),
      defaultModels,
    );
  }
  const known = scored.filter(isCovered);
  const compared = known.length > 0 ? known : scored;
  const ordered =
    farWorse === undefined
      ? byGain(compared, shares, places)
      : bestOfTier(
          rated.filter(known.length > 0 ? isCovered : isScored),
          ({ expected, candidate: { price } }) => ({ quality: expected, price }),
          { isInside: ({ candidate }) => isInBand(candidate), farWorse, places },
        );
  const isOrdered = new Set(ordered);
  const others = scored.filter((one) => !isOrdered.has(one)).sort(bestOverallFirst);
  const unknown = inBand.filter((one) => !isScored(one)).map(({ candidate }) => candidate);
  return {
    ranking: [...[...ordered, ...others].map(({ candidate }) => candidate), ...unknown.sort(bySize)],
    by: 'scores',
    bestOverall: [...compared].sort(bestOverallFirst)[0]?.candidate,
  };
}

/** Whether anything is known of how good a model is. */
export function isScored({ overall, covered }: Rated): boolean {
  return overall !== undefined || covered > 0;
}

function isCovered({ covered }: Rated): boolean {
  return covered >= LEAST_COVERED;
}

/** Fills place after place: the best of the rest overall, or the one that gains most over it at these tasks. */
function byGain(rated: readonly Rated[], shares: readonly TaskProbability[], places: number): readonly Rated[] {
  let rest: readonly Rated[] = [...rated].sort(bestOverallFirst);
  const ordered: Rated[] = [];
  while (ordered.length < places) {
    const base = rest[0];
    if (base === undefined) break;
    let best = base;
    let most = 0;
    for (const one of rest) {
      const gain = provenGain(one, base, shares);
      if (gain > most) [best, most] = [one, gain];
    }
    ordered.push(best);
    rest = rest.filter((one) => one !== best);
  }
  return [...ordered, ...rest];
}

/**
 * What a model gains over another one at the tasks of a prompt, beyond chance: n/(n+20) · mean gain − 1 · its standard
 * error, over the tasks by how likely they are. Errors of tasks are added up as if they were one: often the same score
 * stands behind several. Scores are means, so the error is that of two independent measurements, which is rather too
 * large for models that got the same prompts. A task that one of the two has no score for says nothing.
 */
export function provenGain(one: Rated, base: Rated, shares: readonly TaskProbability[]): number {
  let gain = 0;
  let error = 0;
  for (const [index, { probability }] of shares.entries()) {
    const [own, other] = [one.byTask[index], base.byTask[index]];
    if (own === undefined || other === undefined) continue;
    const count = Math.min(own.count, other.count);
    gain += probability * (count / (count + PRIOR_COUNT)) * (own.score - other.score);
    error += probability * Math.sqrt(varianceOf(own) + varianceOf(other));
  }
  return gain - STANDARD_ERRORS * error;
}

/** Of the mean of so many right and wrong answers. One more of each is assumed, because nothing is certain. */
function varianceOf({ score, count }: CountedScore): number {
  const share = (Math.min(1, Math.max(0, score)) * count + 1) / (count + 2);
  return (share * (1 - share)) / Math.max(1, count);
}

function bestOverallFirst(left: Rated, right: Rated): number {
  return descending(left.overall ?? -Infinity, right.overall ?? -Infinity) || byPrice(left.candidate, right.candidate);
}

function withoutScores(candidates: readonly Candidate[], defaultModels: readonly string[]): Ranking {
  const places = new Map(
    candidates.flatMap((one) => {
      const place = defaultModels.indexOf(one.model.id);
      return place < 0 ? [] : [[one, place] as const];
    }),
  );
  const byDefault = (one: Candidate): number => -(places.get(one) ?? Infinity);
  const ranking = [...candidates].sort(
    (left, right) => descending(byDefault(left), byDefault(right)) || bySize(left, right),
  );
  return { ranking, by: places.size > 0 ? 'default_models' : 'size' };
}

/** The bigger number first; equal infinities are equal. */
function descending(left: number, right: number): number {
  return left === right ? 0 : right - left;
}

/** A score and how many prompts it counts for. */
interface CountedScore {
  readonly score: number;
  readonly count: number;
}

/** The name whose score is the overall one, where every model has it. */
const OVERALL = 'general';
/** Rounds after which models and scores have settled, near enough; with the same names for all one is enough. */
const ROUNDS = 12;
const SETTLED = 1e-6;

/**
 * How good models are overall, each from its scores by name. Where all have `general`, it is that. Otherwise models are
 * compared by the scores that they share: each score is the level of its model plus how easy what it measures is, and
 * the levels are fitted to all of them, by the counts. With the same names for all that is the mean; a model that was
 * measured at easy things alone does not win by that.
 *
 * @returns For each model its level, undefined without a score. Only differences mean something.
 */
function overallScores(rows: readonly ReadonlyMap<string, CountedScore>[]): readonly (number | undefined)[] {
  const scored = rows.filter((row) => row.size > 0);
  if (scored.every((row) => row.has(OVERALL))) return rows.map((row) => row.get(OVERALL)?.score);
  const ease = new Map<string, number>();
  let levels = levelsOf(rows, ease);
  for (let round = 0; round < ROUNDS; round += 1) {
    const sums = new Map<string, { total: number; weight: number }>();
    for (const [index, row] of rows.entries()) {
      for (const [name, { score, count }] of row) {
        const sum = sums.get(name) ?? { total: 0, weight: 0 };
        sum.total += count * (score - (levels[index] ?? 0));
        sum.weight += count;
        sums.set(name, sum);
      }
    }
    let largest = 0;
    for (const [name, { total, weight }] of sums) {
      const fitted = weight === 0 ? 0 : total / weight;
      largest = Math.max(largest, Math.abs(fitted - (ease.get(name) ?? 0)));
      ease.set(name, fitted);
    }
    if (largest < SETTLED) break;
    levels = levelsOf(rows, ease);
  }
  return levels;
}

/** The mean of each model's scores, after what is easy or hard about them was taken out. */
function levelsOf(
  rows: readonly ReadonlyMap<string, CountedScore>[],
  ease: ReadonlyMap<string, number>,
): readonly (number | undefined)[] {
  return rows.map((row) => {
    let total = 0;
    let weight = 0;
    for (const [name, { score, count }] of row) {
      total += count * (score - (ease.get(name) ?? 0));
      weight += count;
    }
    return weight === 0 ? undefined : total / weight;
  });
}
