import type { Endpoint } from '../../catalog/endpoint.ts';
import { countsOf, throughputOf } from './performance.ts';
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

/** Sorts endpoints into three classes by how their tool calls turn out (gaps 3.2, "exacto"). */
export function toolQualities(endpoints: readonly Endpoint[], world: World): ReadonlyMap<string, ToolQuality> {
  const measures = endpoints.map((endpoint) => measuresOf(endpoint, world));
  const comparable = areComparable(endpoints);
  const slow = comparable
    ? cutoff(
        measures.map((one) => one.throughput),
        THROUGHPUT_DEVIATIONS,
      )
    : undefined;
  const failing = comparable
    ? cutoff(
        measures.map((one) => one.success),
        QUALITY_DEVIATIONS,
      )
    : undefined;
  const weak = comparable
    ? cutoff(
        measures.map((one) => one.benchmark),
        QUALITY_DEVIATIONS,
      )
    : undefined;
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
  const performance = world.record(endpoint)?.performance;
  if (performance === undefined) return { benchmark };
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
