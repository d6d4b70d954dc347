/**
 * How the times of an endpoint grow with the tokens that are computed until then: those of the prompt that no cache has,
 * and those of the calls that wait before it. What is usual for a long prompt is late for a short one, and who waits in a
 * queue is not slow. A line through the latest calls, as long as it is clear that there is one.
 */
export interface Growth {
  /** Calls, the latest counting most. */
  readonly calls: number;
  /** Sums over them, each call weighed by the inverse square of the time that was expected. */
  readonly sums: GrowthSums;
  /** Milliseconds of a call without any tokens, and of each token; the latter is 0 where nothing is clear. */
  readonly baseMs: number;
  readonly perTokenMs: number;
  /** Tokens of a call in the mean of the first calls: means of times are those of such a call, so it stays what it is. */
  readonly tokens: number;
}

interface GrowthSums {
  readonly weight: number;
  readonly x: number;
  readonly y: number;
  readonly xx: number;
  readonly xy: number;
  readonly yy: number;
}

const NOTHING: Growth = {
  calls: 0,
  sums: { weight: 0, x: 0, y: 0, xx: 0, xy: 0, yy: 0 },
  baseMs: 0,
  perTokenMs: 0,
  tokens: 0,
};

/** Share of what is known that remains with each call: about the latest two hundred count. */
const KEPT = 0.995;
const REFERENCE_CALLS = 50;
/** Calls that show whether there is a line. */
const LEAST_CALLS = 12;
/** Standard errors by which a slope must differ from none: times that have nothing to do with tokens show one by chance. */
const CLEAR_ERRORS = 4;
/** Times as long as expected beyond which a time says something about an outage. */
const MOST_LATE = 4;

/** Folds in a call of so many tokens. */
export function growthAfter(growth: Growth = NOTHING, tokens: number, ms: number): Growth {
  const { sums, calls } = growth;
  const mean = sums.weight === 0 ? ms : sums.y / sums.weight;
  const expected = growth.perTokenMs > 0 ? growth.baseMs + growth.perTokenMs * tokens : mean;
  const y = calls < LEAST_CALLS ? ms : Math.min(ms, MOST_LATE * expected);
  const weight = 1 / Math.max(1, expected) ** 2;
  const next = {
    weight: KEPT * sums.weight + weight,
    x: KEPT * sums.x + weight * tokens,
    y: KEPT * sums.y + weight * y,
    xx: KEPT * sums.xx + weight * tokens * tokens,
    xy: KEPT * sums.xy + weight * tokens * y,
    yy: KEPT * sums.yy + weight * y * y,
  };
  const known = KEPT * calls + 1;
  const reference = known > REFERENCE_CALLS ? growth.tokens : growth.tokens + (tokens - growth.tokens) / known;
  return { calls: known, sums: next, tokens: reference, ...lineThrough(next, known) };
}

function lineThrough({ weight, x, y, xx, xy, yy }: GrowthSums, calls: number): Pick<Growth, 'baseMs' | 'perTokenMs'> {
  const meanX = x / weight;
  const meanY = y / weight;
  const spreadX = xx / weight - meanX ** 2;
  const spreadY = yy / weight - meanY ** 2;
  const slope = spreadX > 0 ? (xy / weight - meanX * meanY) / spreadX : 0;
  const left = Math.max(0, spreadY - slope ** 2 * spreadX);
  const isClear = calls >= LEAST_CALLS && slope > 0 && slope ** 2 * spreadX * calls > CLEAR_ERRORS ** 2 * left;
  if (!isClear) return { baseMs: meanY, perTokenMs: 0 };
  const baseMs = meanY - slope * meanX;
  // A line through the origin where the best one would begin below it.
  return baseMs >= 0 ? { baseMs, perTokenMs: slope } : { baseMs: 0, perTokenMs: xy / xx };
}

/** How many times as long as a call of the usual length one of so many tokens takes; 1 where that is unknown. */
export function growthFactor(growth: Growth | undefined, tokens: number | undefined): number {
  if (growth === undefined || growth.perTokenMs === 0 || tokens === undefined) return 1;
  const { baseMs, perTokenMs } = growth;
  return (baseMs + perTokenMs * tokens + LEAST_MS) / (baseMs + perTokenMs * growth.tokens + LEAST_MS);
}

/** Nothing takes no time at all. */
const LEAST_MS = 1;
