import type { Endpoint } from '../../catalog/endpoint.ts';
import type { SortKey } from '../../protocol/provider-preferences.ts';
import { toolQualities } from './exacto.ts';
import { latencyOf, throughputOf } from './performance.ts';
import type { World } from './world.ts';
import { type PricedRequest, requestPrice } from './adaptive/expected-cost.ts';

/** Window of the measures that preferences look at. */
export const PREFERENCE_WINDOW_MS = 300_000;

/** Sorts stably: equal endpoints keep their order, and what nobody measured or priced comes last. */
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
      return (endpoint) => medianLatency(endpoint, world);
    case 'throughput':
      return (endpoint) => negative(medianThroughput(endpoint, world));
    case 'exacto': {
      const qualities = toolQualities(endpoints, world);
      return (endpoint) => qualities.get(endpoint.id);
    }
  }
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
