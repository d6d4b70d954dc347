/** Classes endpoints by how well their tool calls turn out, for the variant `exacto`. */
import type { Endpoint } from '../../catalog/endpoint.ts';
import type { Needs, RoutedRequest } from '../../contracts/request.ts';
import { type CallCounts, callCounts, throughputOf, UNMEASURED } from './performance.ts';
import type { World } from './world.ts';

/** Quality for tool calls, or for answers in a schema: 0 good, 1 not enough data, 2 clearly below the others. */
type ToolQuality = 0 | 1 | 2;

/** Comparison starts with this many providers. */
const MINIMUM_PROVIDERS = 4;
const MINIMUM_REQUESTS = 100;
const MINIMUM_ANSWERS = 200;
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

/** Share of the answers of a shape that are broken where nothing is known of an endpoint. */
const USUALLY_BROKEN = 0.02;
/** Answers of a shape from which on an endpoint is compared with that. */
const LEAST_ANSWERS = 30;
/** How sure it must be that an endpoint breaks more of them than the best one, and by how much. */
const BROKEN_DEVIATIONS = 2.5;
const BROKEN_MARGIN = 0.05;

/** Shapes of answers that endpoints break: tool calls, and JSON in a schema. */
type Shape = 'tools' | 'schema';

/** Whether the answer to a request is to be JSON in a schema. */
export function hasSchema({ parameters }: Partial<Pick<Needs, 'parameters'>>): boolean {
  return parameters?.includes('structured_outputs') === true;
}

/** Endpoints that a request comes to last because of how they break answers of its shapes; undefined where it has none. */
export function poorAtAnswers(
  endpoints: readonly Endpoint[],
  { needs }: Pick<RoutedRequest, 'needs'>,
  world: World,
): ReadonlySet<string> | undefined {
  const schema = hasSchema(needs) ? poorAt('schema', endpoints, world) : undefined;
  if (!needs.tools) return schema;
  const tools = poorAt('tools', endpoints, world);
  return schema === undefined ? tools : new Set([...tools, ...schema]);
}

/**
 * Endpoints that answers of a shape are asked of last: those that are clearly below the others ({@link qualitiesAt}), and
 * those that break more answers than the best one, which is taken to break 2 % before it has shown anything. The
 * latter needs neither four providers nor hundreds of calls.
 */
export function poorAt(shape: Shape, endpoints: readonly Endpoint[], world: World): ReadonlySet<string> {
  const poor = new Set<string>();
  if (areComparable(endpoints)) {
    for (const [id, quality] of qualitiesAt(shape, endpoints, world)) if (quality === 2) poor.add(id);
  }
  let best = 1;
  const least = endpoints.map((endpoint) => {
    const performance = world.record(endpoint)?.performance ?? UNMEASURED;
    const { all, bad } = answersIn(callCounts(performance, world.now, TWO_HOURS_MS), shape);
    // What too little is known of counts as the usual one, the less it has shown.
    const assumed = Math.max(0, LEAST_ANSWERS - all);
    const share = (bad + USUALLY_BROKEN * assumed) / (all + assumed);
    best = Math.min(best, share);
    return assumed > 0 ? 0 : share - BROKEN_DEVIATIONS * Math.sqrt((share * (1 - share)) / all);
  });
  for (const [index, { id }] of endpoints.entries()) if ((least[index] ?? 0) > best + BROKEN_MARGIN) poor.add(id);
  return poor;
}

function answersIn(counts: CallCounts, shape: Shape): { readonly all: number; readonly bad: number } {
  return shape === 'tools'
    ? { all: counts.toolRequests, bad: counts.badToolCalls }
    : { all: counts.schemaAnswers, bad: counts.misfits };
}

/** Sorts endpoints by how the answers turn out that a request wants (gaps 3.2, "exacto"): the worse shape counts. */
export function answerQualities(
  endpoints: readonly Endpoint[],
  { needs }: { readonly needs: Partial<Needs> },
  world: World,
): ReadonlyMap<string, ToolQuality> {
  const tools = toolQualities(endpoints, world);
  if (!hasSchema(needs)) return tools;
  const schema = qualitiesAt('schema', endpoints, world);
  const poor = poorAt('schema', endpoints, world);
  const qualityOf = ({ id }: Endpoint): ToolQuality => {
    const known = schema.get(id) === 1 ? tools.get(id) : schema.get(id);
    return poor.has(id) || tools.get(id) === 2 ? 2 : (known ?? 1);
  };
  return new Map(endpoints.map((endpoint) => [endpoint.id, qualityOf(endpoint)]));
}

/** Sorts endpoints into three classes by how their tool calls turn out (gaps 3.2, "exacto"). */
export function toolQualities(endpoints: readonly Endpoint[], world: World): ReadonlyMap<string, ToolQuality> {
  return qualitiesAt('tools', endpoints, world);
}

function qualitiesAt(shape: Shape, endpoints: readonly Endpoint[], world: World): ReadonlyMap<string, ToolQuality> {
  const measures = endpoints.map((endpoint) => measuresOf(shape, endpoint, world));
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
  /** Share of requests with tools whose calls were all valid, or of answers that fit their schema. */
  readonly success?: number | undefined;
  readonly benchmark?: number | undefined;
}

function measuresOf(shape: Shape, endpoint: Endpoint, world: World): Measures {
  const benchmark = shape === 'tools' ? endpoint.scores?.[BENCHMARK] : undefined;
  const performance = world.record(endpoint)?.performance ?? UNMEASURED;
  const recent = callCounts(performance, world.now, HALF_HOUR_MS);
  const { all, bad } = answersIn(callCounts(performance, world.now, TWO_HOURS_MS), shape);
  return {
    benchmark,
    throughput:
      recent.requests < MINIMUM_REQUESTS ? undefined : throughputOf(performance, world.now, HALF_HOUR_MS)?.p50,
    success: all < MINIMUM_ANSWERS ? undefined : 1 - bad / all,
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
