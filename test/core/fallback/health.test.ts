import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addOutcomes, DEFAULT_BREAKER_POLICY } from '../../../src/core/fallback/breaker.ts';
import { failure } from '../../../src/core/fallback/failure.ts';
import {
  type EndpointHealth,
  UNKNOWN_HEALTH,
  observe,
  stabilityOf,
  uptimeOf,
} from '../../../src/core/fallback/health.ts';
import { stormOfRuns } from '../../support/properties.ts';
import { storm } from '../../support/storms.ts';

const POLICY = { breaker: DEFAULT_BREAKER_POLICY, maxCooldownMs: 60_000 };

function uptimeAfter(status: number): number | undefined {
  const { generation } = UNKNOWN_HEALTH.breaker;
  const answered = observe(UNKNOWN_HEALTH, POLICY, { ok: true, generation }, 1_000);
  const refused = failure('credentials', 'no', { status });
  return uptimeOf(observe(answered, POLICY, { ok: false, failure: refused, generation }, 1_001), 1_002, 60_000);
}

/** Counts a call in all windows at once. */
function countedAtOnce(health: EndpointHealth, ok: boolean, now: number): EndpointHealth {
  const call = { start: now, succeeded: ok ? 1 : 0, failed: ok ? 0 : 1 };
  return {
    ...health,
    minute: addOutcomes(health.minute, { sliceMs: 5_000, slices: 12 }, call),
    halfHour: addOutcomes(health.halfHour, { sliceMs: 300_000, slices: 6 }, call),
    day: addOutcomes(health.day, { sliceMs: 1_800_000, slices: 48 }, call),
    consecutiveFailures: ok ? 0 : health.consecutiveFailures + 1,
    lastFailureAt: ok ? health.lastFailureAt : now,
  };
}

describe('the uptime of an endpoint', () => {
  it('is as if every call had been counted at once, also when the clock goes back', () => {
    const elapsed = fc.oneof(fc.integer({ min: -9_000, max: 20_000 }), fc.integer({ min: -900_000, max: 3_000_000 }));
    const calls = fc.array(fc.tuple(elapsed, fc.boolean()), { minLength: 1, maxLength: 300 });
    const broken = failure('server', 'for a test');
    let known = 0;
    fc.assert(
      fc.property(calls, (all) => {
        let now = 1e8;
        let health = UNKNOWN_HEALTH;
        let expected = UNKNOWN_HEALTH;
        for (const [elapsedMs, ok] of all) {
          now += elapsedMs;
          const { generation } = health.breaker;
          health = observe(health, POLICY, ok ? { ok, generation } : { ok, generation, failure: broken }, now);
          expected = countedAtOnce(expected, ok, now);
          for (const spanMs of [30_000, 60_000, 1_800_000, 86_400_000]) {
            const uptime = uptimeOf(health, now + 1_000, spanMs);
            expect(uptime).toBe(uptimeOf(expected, now + 1_000, spanMs));
            if (uptime !== undefined) known += 1;
          }
          expect(stabilityOf(health, now)).toBe(stabilityOf(expected, now));
        }
      }),
      stormOfRuns(1_000),
    );
    expect(known).toBeGreaterThan(storm(10_000));
  });

  it('falls with a key that is not accepted', () => {
    expect(uptimeAfter(401)).toBe(0.5);
  });

  it('does not fall with a 403, which may be about what was asked', () => {
    expect(uptimeAfter(403)).toBe(1);
  });
});
