import type { Endpoint } from '../../catalog/endpoint.ts';
import type { Cutoffs, Preferences } from '../normalize/normalized-request.ts';
import { type PercentileValues, latencyOf, throughputOf } from './performance.ts';
import { PREFERENCE_WINDOW_MS } from './sort.ts';
import type { World } from './world.ts';

/** True when a request states any soft threshold. */
export function hasThresholds(preferences: Preferences): boolean {
  return preferences.minThroughput !== undefined || preferences.maxLatency !== undefined;
}

/** Whether an endpoint is known to meet every cutoff (gaps 3.2). What was never measured does not. */
export function meetsThresholds(endpoint: Endpoint, preferences: Preferences, world: World): boolean {
  const performance = world.record(endpoint)?.performance;
  if (performance === undefined) return false;
  const { minThroughput, maxLatency } = preferences;
  if (minThroughput !== undefined) {
    const own = throughputOf(performance, world.now, PREFERENCE_WINDOW_MS);
    if (!holds(minThroughput, own, (value, limit) => value >= limit)) return false;
  }
  if (maxLatency === undefined) return true;
  const own = latencyOf(performance, world.now, PREFERENCE_WINDOW_MS);
  return holds(maxLatency, own, (value, limit) => value / 1_000 <= limit);
}

function holds(
  cutoffs: Cutoffs,
  own: PercentileValues | undefined,
  fits: (value: number, limit: number) => boolean,
): boolean {
  if (own === undefined) return false;
  for (const percentile of ['p50', 'p75', 'p90', 'p99'] as const) {
    const limit = cutoffs[percentile];
    if (limit !== undefined && !fits(own[percentile], limit)) return false;
  }
  return true;
}
