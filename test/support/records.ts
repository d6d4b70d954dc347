import { DEFAULT_BREAKER_POLICY } from '../../src/core/fallback/breaker.ts';
import { type EndpointHealth, type HealthPolicy, UNKNOWN_HEALTH, observe } from '../../src/core/fallback/health.ts';
import { MAX_RETRY_AFTER_MS } from '../../src/core/fallback/http-date.ts';
import { measureCall, type CallMeasurement, UNMEASURED } from '../../src/core/selection/performance.ts';
import type { EndpointRecord } from '../../src/core/selection/world.ts';
import { NOW } from './requests.ts';
import { type FailureKind, failure } from '../../src/contracts/failure.ts';

/** The defaults of the router. */
export const HEALTH_POLICY: HealthPolicy = { breaker: DEFAULT_BREAKER_POLICY, maxCooldownMs: MAX_RETRY_AFTER_MS };

/** Calls that an endpoint has behind it, oldest first: `ok`, or how it failed. */
export type History = readonly ('ok' | FailureKind)[];

/** Health after a history whose last call ended so many milliseconds before {@link NOW}, one call every `everyMs`. */
export function healthAfter(history: History, agoMs = 1_000, everyMs = 10): EndpointHealth {
  return history.reduce<EndpointHealth>((health, how, index) => {
    const at = NOW - agoMs - (history.length - 1 - index) * everyMs;
    const { generation } = health.breaker;
    const outcome =
      how === 'ok'
        ? ({ ok: true, generation } as const)
        : ({ ok: false, failure: failure(how, 'for a test'), generation } as const);
    return observe(health, HEALTH_POLICY, outcome, at);
  }, UNKNOWN_HEALTH);
}

/** A record of an endpoint with this history. */
export function recordAfter(history: History, agoMs?: number, everyMs?: number): EndpointRecord {
  return { health: healthAfter(history, agoMs, everyMs), performance: UNMEASURED };
}

/** A record of an endpoint that was measured so, all of it so many milliseconds before {@link NOW}. */
export function recordMeasured(measurements: readonly CallMeasurement[], agoMs = 1_000): EndpointRecord {
  return {
    health: UNKNOWN_HEALTH,
    performance: measurements.reduce((known, one) => measureCall(known, one, NOW - agoMs), UNMEASURED),
  };
}

/** So many times the same. */
export function times<Value>(count: number, value: Value): readonly Value[] {
  return Array.from({ length: count }, () => value);
}
