/** Writes down what a decision observed of an endpoint, and reads it back. */
import type { ObservedAdmission, ObservedEndpoint, ObservedPercentiles } from '../../contracts/ledger.ts';
import { type Admission, type EndpointHealth, UNKNOWN_HEALTH } from '../fallback/health.ts';
import { UNCALIBRATED } from '../tokens/likely-tokens.ts';
import { type Timing, UNKNOWN_SPEED } from '../selection/adaptive/speed.ts';
import { type EndpointPerformance, NO_CALLS } from '../selection/performance.ts';
import type { EndpointRecord } from '../selection/world.ts';
import { BUCKETS, type ObservedState } from '../selection/observed-endpoint.ts';
/** In the last half hour, but not in the last five minutes; and in the last two hours, but not in the last half. */
const EARLIER_MS = -600_000;
const LONG_AGO_MS = -3_600_000;

/** Writes down what a decision saw of an endpoint. Undefined where it is as with one of which nothing bad is known. */
export function observedEndpoint(
  state: ObservedState | undefined,
  admission: Admission | undefined,
  now: number,
): ObservedEndpoint | undefined {
  const asked = admission === undefined ? {} : { admission: observedAdmission(admission) };
  if (state === undefined) return admission === undefined ? undefined : asked;
  const { condition, lateness, lateAt, tools, tokens = 1, charges, timing } = state;
  const { latency, throughput, stability, before } = state.measures;
  const seen: ObservedEndpoint = {
    ...(condition === undefined ? {} : { condition: [condition.value, now - condition.at, condition.lostUsd] }),
    ...(lateness === 0 ? {} : { lateness: [lateness, now - lateAt] }),
    ...asked,
    ...(latency === undefined ? {} : { latency }),
    ...(throughput === undefined ? {} : { throughput }),
    ...(before === undefined ? {} : { before }),
    ...(tools === undefined ? {} : { tools }),
    ...(tokens === 1 ? {} : { tokens }),
    ...(charges === 1 ? {} : { charges }),
    ...(stability === 0 ? {} : { stability }),
    ...(timing === undefined ? {} : { timing: [timing.baseMs, timing.perTokenMs, timing.queueMs] }),
  };
  return Object.keys(seen).length === 0 ? undefined : seen;
}

function observedAdmission(admission: Admission): ObservedAdmission {
  const { ok, headroom } = admission;
  const free = headroom === undefined ? {} : { headroom };
  if (ok) return { ok, ...(admission.probe === true ? { probe: true } : {}), ...free };
  const { cause, waitMs, asked } = admission;
  return { ok, cause, wait_ms: waitMs, ...(asked === true ? { asked } : {}), ...free };
}

/** A record that answers as the one did from which this was written; see above. */
export function restoredRecord(seen: ObservedEndpoint): EndpointRecord {
  return new RestoredRecord(seen);
}

/** Measures are only restored for decisions that look at them. */
class RestoredRecord implements EndpointRecord {
  readonly health: EndpointHealth;
  readonly speed: EndpointRecord['speed'];
  readonly tokens: EndpointRecord['tokens'];
  readonly charges: EndpointRecord['charges'];
  readonly #seen: ObservedEndpoint;
  #performance: EndpointPerformance | undefined;

  constructor(seen: ObservedEndpoint) {
    const { condition, lateness, stability, tokens, charges } = seen;
    this.#seen = seen;
    const well = condition === undefined ? UNKNOWN_HEALTH : healthWith(condition);
    this.health = stability === undefined ? well : { ...well, ...STABILITIES[stability] };
    this.speed = lateness && { ...UNKNOWN_SPEED, lateness: lateness[0], at: -lateness[1] };
    this.tokens = tokens === undefined ? undefined : { ...UNCALIBRATED, factor: tokens };
    this.charges = charges === undefined ? undefined : { times: charges, at: 0 };
  }

  get performance(): EndpointPerformance {
    this.#performance ??= performanceOf(this.#seen);
    return this.#performance;
  }
}

function healthWith([value, ageMs, lostUsd = 0]: NonNullable<ObservedEndpoint['condition']>): EndpointHealth {
  return { ...UNKNOWN_HEALTH, condition: { value, lostUsd, at: -ageMs, faded: 0 } };
}

/** Histories that are judged to be below par, and out of order. */
const STABILITIES: Readonly<Record<1 | 2, Partial<EndpointHealth>>> = {
  1: { halfHour: [{ start: 0, succeeded: 90, failed: 10 }] },
  2: { consecutiveFailures: 2, lastFailureAt: 0 },
};

function performanceOf({ latency, throughput, tools, before = {} }: ObservedEndpoint): EndpointPerformance {
  const recent = { ...EMPTY_SLICE, start: 0, latency: histogramOf(latency), throughput: histogramOf(throughput) };
  const older = { latency: oneIn(before.latency), throughput: oneIn(before.throughput) };
  if (tools === undefined) return { slices: [{ ...EMPTY_SLICE, ...older, start: EARLIER_MS }, recent] };
  const { requests, tool_requests: toolRequests, bad_tool_calls: badToolCalls, throughput: median } = tools;
  const { schema_answers: schemaAnswers = 0, misfits = 0 } = tools;
  const earlier = {
    ...EMPTY_SLICE,
    latency: older.latency,
    start: EARLIER_MS,
    requests,
    // So many that the few of the last five minutes do not move the median.
    throughput: median === undefined ? EMPTY : { first: median, counts: [1e6] },
  };
  // Of a throughput from before, the last half hour knows nothing either where its tool calls have none.
  const longAgo = median === undefined ? older.throughput : EMPTY;
  const first = {
    ...EMPTY_SLICE,
    start: LONG_AGO_MS,
    toolRequests,
    badToolCalls,
    schemaAnswers,
    misfits,
    throughput: longAgo,
  };
  return { slices: [first, earlier, recent] };
}

/** Counts of buckets, from the first on. */
type Buckets = EndpointPerformance['slices'][number]['latency'];

const EMPTY: Buckets = { first: 0, counts: [] };
const EMPTY_SLICE = { ...NO_CALLS, latency: EMPTY, throughput: EMPTY };

/** A single value. */
function oneIn(bucket: number | undefined): Buckets {
  return bucket === undefined ? EMPTY : { first: bucket, counts: [1] };
}

/** A hundred values with these percentiles. */
function histogramOf(percentiles: ObservedPercentiles | undefined): Buckets {
  if (percentiles === undefined) return EMPTY;
  const counts = Array.from({ length: BUCKETS }, () => 0);
  for (const [index, count] of COUNTS.entries()) {
    const bucket = percentiles[index] ?? 0;
    counts[bucket] = (counts[bucket] ?? 0) + count;
  }
  return { first: 0, counts };
}

/** Up to the median, from there to the 75th percentile, to the 90th and beyond. */
const COUNTS = [50, 25, 15, 10] as const;

/** What a call took at an endpoint, as far as a decision looked at that. */
export function timingIn(seen: ObservedEndpoint | undefined): Timing | undefined {
  if (seen?.timing === undefined) return undefined;
  const [baseMs, perTokenMs, queueMs] = seen.timing;
  return { baseMs, perTokenMs, queueMs };
}

/** Whether an endpoint might be called. */
export function admissionOf(endpoint: ObservedEndpoint | undefined): Admission {
  const seen = endpoint?.admission;
  if (seen === undefined) return ADMITTED;
  const { ok, probe, headroom, cause = 'pace', wait_ms: waitMs = 0, asked } = seen;
  return ok ? { ok, probe, headroom } : { ok, cause, waitMs, asked, headroom };
}

const ADMITTED: Admission = { ok: true };
