import type { Endpoint } from '../../catalog/endpoint.ts';
import type { ObservedEndpoint, ObservedPercentiles, ObservedTools } from '../../contracts/ledger.ts';
import { type EndpointHealth, stabilityOf } from '../fallback/health.ts';
import { chargedNow } from './adaptive/charges.ts';
import type { Timing } from './adaptive/speed.ts';
import { callCounts, type EndpointPerformance, latencyOf, type PercentileValues, throughputOf } from './performance.ts';
import type { EndpointRecord } from './world.ts';
import { PREFERENCE_WINDOW_MS, speedBefore } from './sort.ts';

/**
 * What a decision saw of an endpoint, as a few numbers, and back again. The records of the live router hold thousands of
 * counts; a decision only ever looks at what is here. {@link restoredRecord} builds a record that gives the same answers: a
 * replay then calls the same functions as the live path, and none of them knows which it is.
 *
 * In a replay it is always 0 o'clock: what happened before has a negative time.
 */

const HALF_HOUR_MS = 1_800_000;

const TWO_HOURS_MS = 7_200_000;

const BUCKETS_PER_DOUBLING = 8;

export const BUCKETS = 160;

/** What a decision looked at of an endpoint that was called before. */
export interface ObservedState {
  readonly endpoint: Endpoint;
  /** Undefined where failures left everything of it. */
  readonly condition: Omit<EndpointHealth['condition'], 'faded'> | undefined;
  /** Of what is known of its speed: all of that would have to be kept with it. */
  readonly lateness: number;
  readonly lateAt: number;
  readonly measures: Measures;
  readonly tools: ObservedTools | undefined;
  /** Tokens that it counts for one that was estimated. */
  readonly tokens: number | undefined;
  /** How many times as much as declared it charged. */
  readonly charges: number;
  /** What a call took there, where the decision looked at that. */
  readonly timing: Timing | undefined;
}

/** What is worked out once for the decisions of a second. */
interface Measures {
  readonly latency: ObservedPercentiles | undefined;
  readonly throughput: ObservedPercentiles | undefined;
  readonly stability: 0 | 1 | 2;
  /** Medians from before, where nothing was measured in the last five minutes. */
  readonly before: ObservedSpeed | undefined;
}

type ObservedSpeed = NonNullable<ObservedEndpoint['before']>;

/** Adding up thousands of counts takes longer than a decision; where it looked at none, those of a second ago will do. */
const MEASURED = new WeakMap<Endpoint, Measures & { readonly at: number }>();

const MEASURED_FOR_MS = 1_000;

/** When an endpoint was looked at, and what the decision may hang on. */
interface ObservedWhen {
  readonly now: number;
  /** How fast it is. */
  readonly isExact: boolean;
  /** How its tool calls and held answers turned out, where it had so many; undefined where that does not count. */
  readonly toolsFrom: number | undefined;
  /** How it counts tokens. */
  readonly countsTokens: boolean;
}

/** What a decision looks at of what is known of an endpoint. */
export function observedState(
  endpoint: Endpoint,
  { health, speed, performance, tokens, charges }: EndpointRecord,
  { now, isExact, toolsFrom, countsTokens }: ObservedWhen,
  timing: Timing | undefined,
): ObservedState {
  let measures = isExact ? undefined : MEASURED.get(endpoint);
  if (measures === undefined || now - measures.at >= MEASURED_FOR_MS || now < measures.at) {
    const latency = bucketsOf(latencyOf(performance, now, PREFERENCE_WINDOW_MS));
    const throughput = bucketsOf(throughputOf(performance, now, PREFERENCE_WINDOW_MS));
    const before = isExact ? speedsBefore(performance, now, { latency, throughput }) : undefined;
    measures = { at: now, latency, throughput, stability: stabilityOf(health, now), before };
    MEASURED.set(endpoint, measures);
  }
  return {
    endpoint,
    condition: health.condition.value === 1 ? undefined : health.condition,
    lateness: speed?.lateness ?? 0,
    lateAt: speed?.at ?? 0,
    measures,
    tools: toolsFrom === undefined ? undefined : toolsOf(performance, now, toolsFrom),
    tokens: countsTokens ? tokens?.factor : undefined,
    charges: chargedNow(charges, now),
    timing,
  };
}

function speedsBefore(
  performance: EndpointPerformance,
  now: number,
  known: Pick<Measures, 'latency' | 'throughput'>,
): ObservedSpeed | undefined {
  const latency = known.latency === undefined ? speedBefore(performance, now, latencyOf) : undefined;
  const throughput = known.throughput === undefined ? speedBefore(performance, now, throughputOf) : undefined;
  if (latency === undefined && throughput === undefined) return undefined;
  return {
    ...(latency === undefined ? {} : { latency: bucketOf(latency) }),
    ...(throughput === undefined ? {} : { throughput: bucketOf(throughput) }),
  };
}

function bucketsOf(values: PercentileValues | undefined): ObservedPercentiles | undefined {
  return values && [bucketOf(values.p50), bucketOf(values.p75), bucketOf(values.p90), bucketOf(values.p99)];
}

/** Values are known by their buckets, so nothing is lost. */
function bucketOf(value: number): number {
  return Math.round(Math.log2(value) * BUCKETS_PER_DOUBLING);
}

function toolsOf(performance: EndpointPerformance, now: number, least: number): ObservedTools | undefined {
  const longer = callCounts(performance, now, TWO_HOURS_MS);
  if (longer.toolRequests < least && longer.schemaAnswers < least) return undefined;
  const recent = callCounts(performance, now, HALF_HOUR_MS);
  const median = throughputOf(performance, now, HALF_HOUR_MS)?.p50;
  return {
    requests: recent.requests,
    tool_requests: longer.toolRequests,
    bad_tool_calls: longer.badToolCalls,
    ...(longer.schemaAnswers === 0 ? {} : { schema_answers: longer.schemaAnswers, misfits: longer.misfits }),
    ...(median === undefined ? {} : { throughput: bucketOf(median) }),
  };
}
