/** Sorts endpoints by price, latency or throughput. */
import type { Endpoint } from '../../catalog/endpoint.ts';
import type { SortKey } from '../../protocol/provider-preferences.ts';
import { answerQualities } from './exacto.ts';
import { type EndpointPerformance, latencyOf, throughputOf } from './performance.ts';
import type { World } from './world.ts';
import { type PricedRequest, requestPrice } from './adaptive/expected-cost.ts';

/** Window of the measures that preferences look at. */
export const PREFERENCE_WINDOW_MS = 300_000;

/** Windows of the measures that count where nothing was measured in that one, the shorter first. */
export const EARLIER_WINDOWS_MS = [1_800_000, 7_200_000] as const;

/**
 * Sorts stably: equal endpoints keep their order, and what has no price comes last. By speed, an endpoint that was hardly
 * called comes first until it is measured, because it may be the fastest; one that was called and gave no measure comes
 * last.
 */
export function sortEndpoints(
  endpoints: readonly Endpoint[],
  key: SortKey,
  request: PricedRequest,
  world: World,
): readonly Endpoint[] {
  const value = valueFor(key, endpoints, request, world);
  const valued = endpoints.map((endpoint) => ({ endpoint, value: value(endpoint) ?? Infinity }));
  return valued.sort((left, right) => compare(left.value, right.value)).map(({ endpoint }) => endpoint);
}

function compare(left: number, right: number): number {
  return left === right ? 0 : left - right;
}

/** Gives the number by which endpoints are sorted; smaller is better. */
function valueFor(
  key: SortKey,
  endpoints: readonly Endpoint[],
  request: PricedRequest,
  world: World,
): (endpoint: Endpoint) => number | undefined {
  switch (key) {
    case 'price':
      return (endpoint) => requestPrice(endpoint, request);
    case 'latency':
      return (endpoint) => (isUnknown(endpoint, world) ? -Infinity : speedOf(endpoint, world, latencyOf));
    case 'throughput':
      return (endpoint) => (isUnknown(endpoint, world) ? -Infinity : negative(speedOf(endpoint, world, throughputOf)));
    case 'exacto': {
      const qualities = answerQualities(endpoints, request, world);
      return (endpoint) => qualities.get(endpoint.id);
    }
  }
}

/** Whether an endpoint is yet to be measured. */
function isUnknown(endpoint: Endpoint, { timing }: World): boolean {
  return timing !== undefined && timing(endpoint) === undefined;
}

/** What is known of an endpoint's speed: from the last five minutes, or from before where nothing was measured in these. */
function speedOf(endpoint: Endpoint, world: World, reading: typeof latencyOf): number | undefined {
  const performance = world.record(endpoint)?.performance;
  if (performance === undefined) return undefined;
  return reading(performance, world.now, PREFERENCE_WINDOW_MS)?.p50 ?? speedBefore(performance, world.now, reading);
}

/** The same from before the last five minutes. */
export function speedBefore(
  performance: EndpointPerformance,
  now: number,
  reading: typeof latencyOf,
): number | undefined {
  for (const windowMs of EARLIER_WINDOWS_MS) {
    const known = reading(performance, now, windowMs);
    if (known !== undefined) return known.p50;
  }
  return undefined;
}

/** Milliseconds to the first token; undefined where too little was measured. */
export function medianLatency(endpoint: Endpoint, world: World): number | undefined {
  const record = world.record(endpoint);
  return record && latencyOf(record.performance, world.now, PREFERENCE_WINDOW_MS)?.p50;
}

/** Tokens per second after the first; undefined where too little was measured. */
export function medianThroughput(endpoint: Endpoint, world: World): number | undefined {
  const record = world.record(endpoint);
  return record && throughputOf(record.performance, world.now, PREFERENCE_WINDOW_MS)?.p50;
}

function negative(value: number | undefined): number | undefined {
  return value === undefined ? undefined : -value;
}
