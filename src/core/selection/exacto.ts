/** Classes endpoints by how well their tool calls turn out, for the variant `exacto`. */
import type { Endpoint } from '../../catalog/endpoint.ts';
import { countsOf, throughputOf, UNMEASURED } from './performance.ts';
import type { World } from './world.ts';

/** Quality for tool calls: 0 good, 1 not enough data, 2 clearly below the others. */
type ToolQuality = 0 | 1 | 2;

/** Comparison starts with this many providers. */
const MINIMUM_PROVIDERS = 4;
const MINIMUM_REQUESTS = 100;
const MINIMUM_TOOL_REQUESTS = 200;
const HALF_HOUR_MS = 1_800_000;
const TWO_HOURS_MS = 7_200_000;
/** How far below the median an endpoint must be, in robust standard deviations. */
const THROUGHPUT_DEVIATIONS = 1.5;
const QUALITY_DEVIATIONS = 2;
/** Turns a median absolute deviation into a standard deviation for normal data. */
const MAD_TO_SIGMA = 1.4826;
/** Score in an endpoint's `scores` that counts as its tool-calling benchmark. */
const BENCHMARK = 'tool_calling';

/** Whether there are enough providers for one to be called worse than the others. */
export function areComparable(endpoints: readonly Endpoint[]): boolean {
  if (endpoints.length < MINIMUM_PROVIDERS) return false;
  return new Set(endpoints.map((endpoint) => endpoint.provider)).size >= MINIMUM_PROVIDERS;
}

/** Share of the answers with tool calls that are broken where nothing is known of an endpoint. */
const USUALLY_BROKEN = 0.02;
/** Answers with tool calls from which on an endpoint is compared with that. */
const LEAST_TOOL_REQUESTS = 30;
/** How sure it must be that an endpoint breaks more of them than the best one, and by how much. */
const BROKEN_DEVIATIONS = 2.5;
const BROKEN_MARGIN = 0.05;

/**
 * Endpoints that requests with tools come to last: those that are clearly below the others ({@link toolQualities}), and
 * those that break more tool calls than the best one, which is taken to break 2 % before it has shown anything. The
 * latter needs neither four providers nor hundreds of calls.
 */
export function poorAtTools(endpoints: readonly Endpoint[], world: World): ReadonlySet<string> {
  const poor = new Set<string>();
  if (areComparable(endpoints)) {
    for (const [id, quality] of toolQualities(endpoints, world)) if (quality === 2) poor.add(id);
  }
  let best = 1;
  const least = endpoints.map((endpoint) => {
    const performance = world.record(endpoint)?.performance ?? UNMEASURED;
    const { toolRequests, badToolCalls } = countsOf(performance, world.now, TWO_HOURS_MS);
    // What too little is known of counts as the usual one, the less it has shown.
    const assumed = Math.max(0, LEAST_TOOL_REQUESTS - toolRequests);
    const share = (badToolCalls + USUALLY_BROKEN * assumed) / (toolRequests + assumed);
    best = Math.min(best, share);
    return assumed > 0 ? 0 : share - BROKEN_DEVIATIONS * Math.sqrt((share * (1 - share)) / toolRequests);
  });
  for (const [index, { id }] of endpoints.entries()) if ((least[index] ?? 0) > best + BROKEN_MARGIN) poor.add(id);
  return poor;
}

/** Sorts endpoints into three classes by how their tool calls turn out (gaps 3.2, "exacto"). */
export function toolQualities(endpoints: readonly Endpoint[], world: World): ReadonlyMap<string, ToolQuality> {
  const measures = endpoints.map((endpoint) => measuresOf(endpoint, world));
  const comparable = areComparable(endpoints);
  const limitOf = (name: keyof Measures, deviations: number): number | undefined =>
    comparable
      ? cutoff(
          measures.map((one) => one[name]),
          deviations,
        )
      : undefined;
  const slow = limitOf('throughput', THROUGHPUT_DEVIATIONS);
  const failing = limitOf('success', QUALITY_DEVIATIONS);
  const weak = limitOf('benchmark', QUALITY_DEVIATIONS);
  const qualities = new Map<string, ToolQuality>();
  for (const [index, endpoint] of endpoints.entries()) {
    const own = measures[index];
    if (own === undefined) continue;
    const poor = below(own.throughput, slow) || below(own.success, failing) || below(own.benchmark, weak);
    const known = own.success !== undefined || own.benchmark !== undefined;
    qualities.set(endpoint.id, poor ? 2 : known ? 0 : 1);
  }
  return qualities;
}

interface Measures {
  readonly throughput?: number | undefined;
  /** Share of requests with tools whose calls were all valid. */
  readonly success?: number | undefined;
  readonly benchmark?: number | undefined;
}

function measuresOf(endpoint: Endpoint, world: World): Measures {
  const benchmark = endpoint.scores?.[BENCHMARK];
  const performance = world.record(endpoint)?.performance ?? UNMEASURED;
  const recent = countsOf(performance, world.now, HALF_HOUR_MS);
  const longer = countsOf(performance, world.now, TWO_HOURS_MS);
  return {
    benchmark,
    throughput:
      recent.requests < MINIMUM_REQUESTS ? undefined : throughputOf(performance, world.now, HALF_HOUR_MS)?.p50,
    success: longer.toolRequests < MINIMUM_TOOL_REQUESTS ? undefined : 1 - longer.badToolCalls / longer.toolRequests,
  };
}

/** The value below which one is clearly worse than the others; undefined with too few values. */
function cutoff(values: readonly (number | undefined)[], deviations: number): number | undefined {
  const known = values.filter((value) => value !== undefined);
  if (known.length < MINIMUM_PROVIDERS) return undefined;
  const middle = median(known);
  const sigma = MAD_TO_SIGMA * median(known.map((value) => Math.abs(value - middle)));
  return middle - deviations * sigma;
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((left, right) => left - right);
  const half = sorted.length / 2;
  const upper = sorted[Math.floor(half)] ?? 0;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[half - 1] ?? 0)) / 2;
}

function below(value: number | undefined, limit: number | undefined): boolean {
  return value !== undefined && limit !== undefined && value < limit;
}
