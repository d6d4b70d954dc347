/** An estimate and the bounds between which the true value lies with 95 % probability. */
export interface Interval {
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

/** Milliseconds before and after a request within which others tell of it … */
const NEAR_MS = 600_000;
/** … and how many of them there should be; where there are fewer, those further away tell of it too. */
const ENOUGH = 30;
/** Standard deviations on both sides of the mean between which 95 % of normal values lie. */
const Z = 1.959964;

interface Observed {
  readonly at: number[];
  readonly values: number[];
  /** Sums of the values before each of them. */
  sums: Float64Array;
  /** How much each value counted in estimates, as differences from the one before. */
  weights: Float64Array;
  /** Squares of the scales of the requests that were estimated. */
  squares: number;
  isAsked: boolean;
  isSorted: boolean;
}

/**
 * Means of what requests showed that went somewhere, near a time. What a request would have shown that went elsewhere is
 * estimated by the mean of those that did go there.
 *
 * An estimate errs twice: the requests that it is made from happened to turn out as they did, and so would the one that
 * it stands for. {@link LocalMeans.variance} adds up both.
 */
export class LocalMeans {
  /** By place: a small number. */
  readonly #observed: (Observed | undefined)[] = [];

  /** Notes what a request showed. */
  add(place: number, at: number, value: number): void {
    const known = this.#observed[place];
    if (known === undefined) {
      while (this.#observed.length < place) this.#observed.push(undefined);
      this.#observed[place] = {
        at: [at],
        values: [value],
        sums: NONE,
        weights: NONE,
        squares: 0,
        isAsked: false,
        isSorted: false,
      };
    } else {
      known.at.push(at);
      known.values.push(value);
    }
  }

  /**
   * What a request would have shown there, times a scale; undefined where none went there. To be asked after everything
   * was added.
   *
   * @param isChance - Whether the request would have turned out by chance as the others did. False where somebody else
   *   counts that.
   */
  estimate(place: number, at: number, scale = 1, isChance = true): number | undefined {
    const observed = this.#observed[place];
    if (observed === undefined) return undefined;
    if (!observed.isSorted) sort(observed);
    const [low, high] = nearest(observed.at, at);
    const count = high - low;
    observed.weights[low] = (observed.weights[low] ?? 0) + scale / count;
    observed.weights[high] = (observed.weights[high] ?? 0) - scale / count;
    observed.isAsked = true;
    if (isChance) observed.squares += scale * scale;
    return (scale * ((observed.sums[high] ?? 0) - (observed.sums[low] ?? 0))) / count;
  }

  /**
   * The variance of the sum of all estimates so far, and how many values the least known place has.
   *
   * @param isShare - Whether values are 0 or 1: a place where nothing has failed yet may fail all the same.
   */
  variance(isShare = false): { readonly variance: number; readonly fewest: number } {
    let variance = 0;
    let fewest = Infinity;
    for (const observed of this.#observed) {
      if (observed?.isAsked !== true) continue;
      const { values, weights, squares: own } = observed;
      const spread = isShare ? spreadOfShare(values) : spreadOf(values);
      let weight = 0;
      let squares = 0;
      for (let index = 0; index < values.length; index += 1) {
        weight += weights[index] ?? 0;
        squares += weight * weight;
      }
      variance += spread * (own + squares);
      fewest = Math.min(fewest, values.length);
    }
    return { variance, fewest };
  }
}

const NONE = new Float64Array(0);

function sort(observed: Observed): void {
  const { at, values } = observed;
  const pairs = at.map((time, index) => [time, values[index] ?? 0] as const);
  // Records come in the order in which requests ended; sorting is stable, so the same records give the same sums.
  pairs.sort(([left], [right]) => left - right);
  observed.sums = new Float64Array(pairs.length + 1);
  observed.weights = new Float64Array(pairs.length + 1);
  for (const [index, [time, value]] of pairs.entries()) {
    at[index] = time;
    values[index] = value;
    observed.sums[index + 1] = (observed.sums[index] ?? 0) + value;
  }
  observed.isSorted = true;
}

/** First, and one behind the last, of the values near a time: at least {@link ENOUGH} of them, if there are so many. */
function nearest(times: readonly number[], at: number): readonly [number, number] {
  let low = firstFrom(times, at - NEAR_MS);
  let high = firstFrom(times, at + NEAR_MS);
  while (high - low < ENOUGH && (low > 0 || high < times.length)) {
    const before = low > 0 ? at - (times[low - 1] ?? 0) : Infinity;
    const after = high < times.length ? (times[high] ?? 0) - at : Infinity;
    if (before <= after) low -= 1;
    else high += 1;
  }
  return [low, high];
}

function firstFrom(times: readonly number[], at: number): number {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((times[middle] ?? 0) < at) low = middle + 1;
    else high = middle;
  }
  return low;
}

function spreadOf(values: readonly number[]): number {
  if (values.length < 2) return 0;
  let sum = 0;
  for (const value of values) sum += value;
  const mean = sum / values.length;
  let squares = 0;
  for (const value of values) squares += (value - mean) ** 2;
  return squares / (values.length - 1);
}

/** As if there had been one failure and one success more (Agresti and Coull). */
function spreadOfShare(values: readonly number[]): number {
  let sum = 0;
  for (const value of values) sum += value;
  const share = (sum + 1) / (values.length + 2);
  return share * (1 - share);
}

/**
 * The interval of a mean whose sum has this variance.
 *
 * @param fewest - Values that the variance is known from: few of them make it wider (Student's t, by Cornish and Fisher).
 */
export function intervalOf(
  sum: number,
  { variance, fewest }: { readonly variance: number; readonly fewest: number },
  count: number,
): Interval {
  if (count === 0) return { value: 0, low: 0, high: 0 };
  const freedom = Math.max(1, fewest - 1);
  const width = (variance === 0 ? 0 : (Z + (Z ** 3 + Z) / (4 * freedom)) * Math.sqrt(variance)) / count;
  return { value: sum / count, low: sum / count - width, high: sum / count + width };
}
