/** Measures the speed and tool-call quality of endpoints in rolling histograms. */

/**
 * How fast an endpoint is, how well its tool calls turn out and how well its answers fit schemas, as rolling histograms in plain data.
 * Latency is milliseconds to the first token, throughput tokens per second after it.
 */
export interface EndpointPerformance {
  readonly slices: readonly PerformanceSlice[];
  /** Calls that are not in the slices yet, the latest first: adding them copies a slice, so several are added at once. */
  readonly recent?: RecentCall | undefined;
}

/** A call that was measured, and those before it. */
interface RecentCall {
  /** Start of the slice that it counts into: the newest when the clock goes back. */
  readonly start: number;
  /** Bucket; undefined where this was not measured. */
  readonly latency: number | undefined;
  readonly throughput: number | undefined;
  readonly toolCalls: CallMeasurement['toolCalls'];
  readonly schema: CallMeasurement['schema'];
  readonly before: RecentCall | undefined;
  /** How many there are, with those before. */
  readonly count: number;
}

/** Measures of fifty seconds. */
interface PerformanceSlice extends CallCounts {
  /** Monotonic milliseconds. */
  readonly start: number;
  readonly latency: Histogram;
  readonly throughput: Histogram;
}

/** Counts per logarithmic bucket, from the first to the last that has any: most calls are about equally fast. */
interface Histogram {
  readonly first: number;
  readonly counts: readonly number[];
}

/** What one call showed: one that succeeded, or one whose complete answer did not fit its schema. */
export interface CallMeasurement {
  readonly latencyMs?: number | undefined;
  /** True when `latencyMs` is the time to the end of an answer in one piece. */
  readonly inOnePiece?: boolean | undefined;
  readonly tokensPerSecond?: number | undefined;
  /** Tokens that were computed until then; see `Growth`. */
  readonly computedTokens?: number | undefined;
  /** Present when the request had tools: whether all calls were valid. */
  readonly toolCalls?: 'valid' | 'invalid' | undefined;
  /** Present when the answer was held to a JSON schema: whether it fits, after it was healed. */
  readonly schema?: 'fits' | 'misfits' | undefined;
}

/** Values at percentiles. */
export interface PercentileValues {
  readonly p50: number;
  readonly p75: number;
  readonly p90: number;
  readonly p99: number;
}

/** Performance of an endpoint that was never measured. */
export const UNMEASURED: EndpointPerformance = { slices: [] };

const SLICE_MS = 50_000;
const KEPT_MS = 7_200_000;
/** Buckets grow by an eighth of a factor of two, so a value is known to within 5 %. */
const BUCKETS_PER_DOUBLING = 8;
/** Values from 1 to about 1,000,000. */
const BUCKETS = 160;
const EMPTY: Histogram = { first: 0, counts: [] };

/** Calls that are kept beside the slices at most. */
const MOST_RECENT = 32;

/** Folds in one measurement. */
export function measureCall(
  { slices, recent }: EndpointPerformance,
  seen: CallMeasurement,
  now: number,
): EndpointPerformance {
  const count = (recent?.count ?? 0) + 1;
  const latency = bucketOf(seen.latencyMs);
  const throughput = bucketOf(seen.tokensPerSecond);
  const newest = recent?.start ?? slices.at(-1)?.start ?? -Infinity;
  const start = Math.max(newest, Math.floor(now / SLICE_MS) * SLICE_MS);
  const { toolCalls, schema } = seen;
  const measured = { slices, recent: { start, latency, throughput, toolCalls, schema, before: recent, count } };
  return count < MOST_RECENT ? measured : { slices: slicesOf(measured) };
}

/** All measures, cut into slices of time, the latest last. */
export function slicesOf({ slices, recent }: EndpointPerformance): readonly PerformanceSlice[] {
  if (recent === undefined) return slices;
  const calls: RecentCall[] = [];
  for (let call: RecentCall | undefined = recent; call !== undefined; call = call.before) calls.push(call);
  let kept = [...slices];
  let own: OpenSlice | undefined;
  for (const { start, latency, throughput, toolCalls, schema } of calls.toReversed()) {
    const last = kept.at(-1);
    if (last === undefined || last.start < start) {
      kept = kept.filter((one) => one.start > start - KEPT_MS);
      own = openSlice({ ...NO_CALLS, start, latency: EMPTY, throughput: EMPTY });
      kept.push(own);
    } else if (own === undefined) {
      own = openSlice(last);
      kept[kept.length - 1] = own;
    }
    own.requests += 1;
    if (toolCalls !== undefined) own.toolRequests += 1;
    if (toolCalls === 'invalid') own.badToolCalls += 1;
    if (schema !== undefined) own.schemaAnswers += 1;
    if (schema === 'misfits') own.misfits += 1;
    tally(own.latency, latency);
    tally(own.throughput, throughput);
  }
  return kept;
}

/** Percentiles of latency: p90 is the time within which 90 % of the first tokens came. */
export function latencyOf(performance: EndpointPerformance, now: number, spanMs: number): PercentileValues | undefined {
  return readingOf(performance, now, spanMs).latency;
}

/** Percentiles of throughput, counted from the fast side: p90 is the speed that 90 % of the answers reached. */
export function throughputOf(
  performance: EndpointPerformance,
  now: number,
  spanMs: number,
): PercentileValues | undefined {
  return readingOf(performance, now, spanMs).throughput;
}

/** Calls of some time. */
export interface CallCounts {
  readonly requests: number;
  readonly toolRequests: number;
  readonly badToolCalls: number;
  /** Answers that were held to a JSON schema, and those of them that did not fit. */
  readonly schemaAnswers: number;
  readonly misfits: number;
}

/** Counts before anything was called. */
export const NO_CALLS: CallCounts = { requests: 0, toolRequests: 0, badToolCalls: 0, schemaAnswers: 0, misfits: 0 };

/** Counts over the last `spanMs` milliseconds. */
export function callCounts(performance: EndpointPerformance, now: number, spanMs: number): CallCounts {
  return readingOf(performance, now, spanMs).counts;
}

/** The latest reading of each for each span: plans read all endpoints, and few have been called since the plan before. */
const readings = new WeakMap<EndpointPerformance, Map<number, Reading>>();

function readingOf(performance: EndpointPerformance, now: number, spanMs: number): Reading {
  const since = Math.floor((now - spanMs) / SLICE_MS) * SLICE_MS;
  const bySpan = readings.get(performance) ?? new Map<number, Reading>();
  const known = bySpan.get(spanMs);
  if (known?.since === since) return known;
  const reading = new Reading(performance, since);
  readings.set(performance, bySpan.set(spanMs, reading));
  return reading;
}

/** What the calls say since the start of a slice, without cutting the recent ones into slices. */
class Reading {
  readonly since: number;
  readonly counts: CallCounts;
  /** Start of the earliest slice that counts and is kept. */
  readonly #first: number;
  readonly #slices: readonly PerformanceSlice[];
  readonly #recent: RecentCall | undefined;
  #latency: PercentileValues | 'unread' | undefined = 'unread';
  #throughput: PercentileValues | 'unread' | undefined = 'unread';

  constructor({ slices, recent }: EndpointPerformance, since: number) {
    this.since = since;
    const newest = recent?.start ?? slices.at(-1)?.start ?? since;
    const first = Math.max(since, newest - KEPT_MS + SLICE_MS);
    this.#first = first;
    this.#slices = slices.slice(slices.findLastIndex(({ start }) => start < first) + 1);
    this.#recent = recent;
    this.counts = countsIn(this.#slices, recent, first);
  }

  get latency(): PercentileValues | undefined {
    if (this.#latency === 'unread') this.#latency = percentiles(this.#histogram('latency'), 'from least');
    return this.#latency;
  }

  get throughput(): PercentileValues | undefined {
    if (this.#throughput === 'unread') this.#throughput = percentiles(this.#histogram('throughput'), 'from most');
    return this.#throughput;
  }

  #histogram(measureName: 'latency' | 'throughput'): Uint32Array {
    const sum = new Uint32Array(BUCKETS);
    for (const slice of this.#slices) {
      const { first, counts } = slice[measureName];
      for (let at = 0; at < counts.length; at += 1) sum[first + at] = (sum[first + at] ?? 0) + (counts[at] ?? 0);
    }
    for (let call = this.#recent; isSince(call, this.#first); call = call.before) {
      const bucket = call[measureName];
      if (bucket !== undefined) sum[bucket] = (sum[bucket] ?? 0) + 1;
    }
    return sum;
  }
}

function countsIn(slices: readonly PerformanceSlice[], recent: RecentCall | undefined, first: number): CallCounts {
  const sum: OpenCounts = { ...NO_CALLS };
  for (const slice of slices) {
    sum.requests += slice.requests;
    sum.toolRequests += slice.toolRequests;
    sum.badToolCalls += slice.badToolCalls;
    sum.schemaAnswers += slice.schemaAnswers;
    sum.misfits += slice.misfits;
  }
  for (let call = recent; isSince(call, first); call = call.before) {
    sum.requests += 1;
    if (call.toolCalls !== undefined) sum.toolRequests += 1;
    if (call.toolCalls === 'invalid') sum.badToolCalls += 1;
    if (call.schema !== undefined) sum.schemaAnswers += 1;
    if (call.schema === 'misfits') sum.misfits += 1;
  }
  return sum;
}

/** A slice that measures are added to. */
interface OpenSlice extends PerformanceSlice {
  requests: number;
  toolRequests: number;
  badToolCalls: number;
  schemaAnswers: number;
  misfits: number;
  readonly latency: OpenHistogram;
  readonly throughput: OpenHistogram;
}

type OpenCounts = { -readonly [Name in keyof CallCounts]: CallCounts[Name] };

interface OpenHistogram {
  first: number;
  readonly counts: number[];
}

function openSlice({ latency, throughput, ...slice }: PerformanceSlice): OpenSlice {
  const open = ({ first, counts }: Histogram): OpenHistogram => ({ first, counts: [...counts] });
  return { ...slice, latency: open(latency), throughput: open(throughput) };
}

function bucketOf(value: number | undefined): number | undefined {
  if (value === undefined || !(value > 0) || !Number.isFinite(value)) return undefined;
  return Math.min(BUCKETS - 1, Math.max(0, Math.round(Math.log2(value) * BUCKETS_PER_DOUBLING)));
}

function tally(histogram: OpenHistogram, bucket: number | undefined): void {
  if (bucket === undefined) return;
  const { counts } = histogram;
  if (counts.length === 0) histogram.first = bucket;
  for (; bucket < histogram.first; histogram.first -= 1) counts.unshift(0);
  while (bucket >= histogram.first + counts.length) counts.push(0);
  const at = bucket - histogram.first;
  counts[at] = (counts[at] ?? 0) + 1;
}

function isSince(call: RecentCall | undefined, first: number): call is RecentCall {
  return call !== undefined && call.start >= first;
}

/** The values that so many calls are at least as good as; the best ones are the least, or the most. */
function percentiles(histogram: Uint32Array, order: 'from least' | 'from most'): PercentileValues | undefined {
  let total = 0;
  for (let bucket = 0; bucket < BUCKETS; bucket += 1) total += histogram[bucket] ?? 0;
  if (total === 0) return undefined;
  const descending = order === 'from most';
  let seen = 0;
  let step = -1;
  // Shares are asked for in rising order, so each goes on where the one before it stopped.
  const at = (share: number): number => {
    while (seen < total * share) {
      step += 1;
      seen += histogram[descending ? BUCKETS - 1 - step : step] ?? 0;
    }
    return 2 ** ((descending ? BUCKETS - 1 - step : step) / BUCKETS_PER_DOUBLING);
  };
  return { p50: at(0.5), p75: at(0.75), p90: at(0.9), p99: at(0.99) };
}
