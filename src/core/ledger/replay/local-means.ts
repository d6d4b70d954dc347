/** Estimates with confidence intervals, from requests near a time. */

const CHUNK = 4_096;

/**
 * A list of numbers that only grows. Millions of them are kept in pieces outside of what the collector looks through, and
 * none of them is ever copied to make room.
 */
export class NumberList {
  readonly #chunks: Float64Array[] = [];
  #last = new Float64Array(0);
  #used = 0;

  get length(): number {
    return this.#chunks.length === 0 ? 0 : (this.#chunks.length - 1) * CHUNK + this.#used;
  }

  push(value: number): void {
    if (this.#used === this.#last.length) {
      this.#last = new Float64Array(CHUNK);
      this.#chunks.push(this.#last);
      this.#used = 0;
    }
    this.#last[this.#used] = value;
    this.#used += 1;
  }

  /** The number at a place; 0 beyond the end. */
  at(index: number): number {
    return this.#chunks[Math.floor(index / CHUNK)]?.[index % CHUNK] ?? 0;
  }

  /** All of them, as one array. */
  toArray(): Float64Array {
    const all = new Float64Array(this.length);
    for (const [number, chunk] of this.#chunks.entries()) {
      const start = number * CHUNK;
      all.set(chunk.subarray(0, Math.min(CHUNK, all.length - start)), start);
    }
    return all;
  }
}

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
  readonly at: NumberList;
  readonly values: NumberList;
  /** Made of them when somebody first asks. */
  sorted: Sorted | undefined;
}

interface Sorted {
  readonly at: Float64Array;
  readonly values: Float64Array;
  /** Sums of the values before each of them. */
  readonly sums: Float64Array;
  /** How much each value counted in estimates, as differences from the one before. */
  readonly weights: Float64Array;
  /** Requests that were estimated together with their chance. */
  chances: number;
}

/** What values are: amounts, or 0 and 1. */
export type ValueKind = 'amounts' | 'shares';

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
    let observed = this.#observed[place];
    if (observed === undefined) {
      while (this.#observed.length < place) this.#observed.push(undefined);
      observed = { at: new NumberList(), values: new NumberList(), sorted: undefined };
      this.#observed[place] = observed;
    }
    observed.at.push(at);
    observed.values.push(value);
  }

  /**
   * What a request would have shown there, where it would have turned out by chance as the others did; undefined where none
   * went there. To be called after everything was added.
   */
  estimate(place: number, at: number): number | undefined {
    const estimate = this.estimateOfMean(place, at, 1);
    const sorted = this.#observed[place]?.sorted;
    if (sorted !== undefined) sorted.chances += 1;
    return estimate;
  }

  /**
   * The mean of what requests showed there, times a scale, as an estimate whose chance is counted elsewhere; undefined
   * where none went there.
   */
  estimateOfMean(place: number, at: number, scale: number): number | undefined {
    const observed = this.#observed[place];
    if (observed === undefined) return undefined;
    const sorted = (observed.sorted ??= sort(observed));
    const { sums, weights } = sorted;
    const [low, high] = nearest(sorted.at, at);
    const count = high - low;
    weights[low] = (weights[low] ?? 0) + scale / count;
    weights[high] = (weights[high] ?? 0) - scale / count;
    return (scale * ((sums[high] ?? 0) - (sums[low] ?? 0))) / count;
  }

  /** The mean of what requests showed there, which counts as no estimate. */
  mean(place: number, at: number): number | undefined {
    const observed = this.#observed[place];
    if (observed === undefined) return undefined;
    const { at: times, sums } = (observed.sorted ??= sort(observed));
    const [low, high] = nearest(times, at);
    return ((sums[high] ?? 0) - (sums[low] ?? 0)) / (high - low);
  }

  /**
   * The variance of the sum of all estimates so far, and how many values the least known place has.
   *
   * @param kind - `shares`: of values that are 0 or 1. A place where nothing has failed yet may fail all the same.
   */
  variance(kind: ValueKind): { readonly variance: number; readonly fewest: number } {
    let variance = 0;
    let fewest = Infinity;
    for (const observed of this.#observed) {
      if (observed?.sorted === undefined) continue;
      const { values, weights, chances } = observed.sorted;
      const spread = kind === 'shares' ? spreadOfShare(values) : spreadOf(values);
      let weight = 0;
      let squares = 0;
      for (let index = 0; index < values.length; index += 1) {
        weight += weights[index] ?? 0;
        squares += weight * weight;
      }
      variance += spread * (chances + squares);
      fewest = Math.min(fewest, values.length);
    }
    return { variance, fewest };
  }
}

/**
 * Sorts by time. Records come in the order in which requests ended, and those that began together stay in that order: the
 * same records give the same sums.
 */
function sort({ at: added, values: shown }: Observed): Sorted {
  const [times, before] = [added.toArray(), shown.toArray()];
  const order = Uint32Array.from(times, (_, index) => index);
  if (times.some((time, index) => time < (times[index - 1] ?? time))) {
    order.sort((left, right) => (times[left] ?? 0) - (times[right] ?? 0) || left - right);
  }
  const at = Float64Array.from(order, (index) => times[index] ?? 0);
  const values = Float64Array.from(order, (index) => before[index] ?? 0);
  const sums = new Float64Array(values.length + 1);
  for (let index = 0; index < values.length; index += 1) sums[index + 1] = (sums[index] ?? 0) + (values[index] ?? 0);
  return { at, values, sums, weights: new Float64Array(values.length + 1), chances: 0 };
}

/** First, and one behind the last, of the values near a time: at least {@link ENOUGH} of them, if there are so many. */
function nearest(times: Float64Array, at: number): readonly [number, number] {
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

function firstFrom(times: Float64Array, at: number): number {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((times[middle] ?? 0) < at) low = middle + 1;
    else high = middle;
  }
  return low;
}

function spreadOf(values: Float64Array): number {
  if (values.length < 2) return 0;
  let sum = 0;
  for (const value of values) sum += value;
  const mean = sum / values.length;
  let squares = 0;
  for (const value of values) squares += (value - mean) ** 2;
  return squares / (values.length - 1);
}

/** As if there had been one failure and one success more (Agresti and Coull). */
function spreadOfShare(values: Float64Array): number {
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
