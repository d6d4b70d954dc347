import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DEFAULT_BREAKER_POLICY } from '../../../src/core/fallback/breaker.ts';
import { addOutcomes, endedLately, uptimeOf, conditionNow } from '../../../src/core/fallback/outcomes.ts';
import {
  admission,
  beganWith,
  type EndpointHealth,
  UNKNOWN_HEALTH,
  observe,
  observeStart,
  stabilityOf,
} from '../../../src/core/fallback/health.ts';
import { forgiven, isOfItsRequest } from '../../../src/core/fallback/forgiven.ts';
import { HEALTH_POLICY } from '../../support/records.ts';
import { NOW } from '../../support/requests.ts';
import { stormOfRuns } from '../../support/properties.ts';
import { storm } from '../../support/storms.ts';
import { failure } from '../../../src/contracts/failure.ts';

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

const BROKEN = failure('server', 'for a test');

function failed(health: EndpointHealth, now: number, again = false): EndpointHealth {
  const { generation } = health.breaker;
  return observe(health, POLICY, { ok: false, generation, failure: BROKEN, again, lostUsd: now % 7 }, now);
}

function succeeded(health: EndpointHealth, now: number): EndpointHealth {
  return observe(health, POLICY, { ok: true, generation: health.breaker.generation }, now);
}

describe('a request that fails at an endpoint again', () => {
  it('is counted once in breaker, health and uptime', () => {
    const history = fc.array(fc.boolean(), { maxLength: 20 });
    fc.assert(
      fc.property(history, fc.integer({ min: 1, max: 5 }), (calls, times) => {
        let health = UNKNOWN_HEALTH;
        for (const [index, ok] of calls.entries()) {
          health = (ok ? succeeded : failed)(health, 1e8 + index * 100);
        }
        const once = failed(health, 1e8 + 5_000);
        let often = once;
        for (let time = 0; time < times; time += 1) often = failed(often, 1e8 + 6_000 + time, true);
        expect(often.condition).toEqual(once.condition);
        expect(often.consecutiveFailures).toBe(once.consecutiveFailures);
        expect(endedLately(often, 1e8 + 9_000, 60_000)).toEqual(endedLately(once, 1e8 + 9_000, 60_000));
        expect(often.breaker).toMatchObject({ state: once.breaker.state, failed: once.breaker.failed });
        expect(often.breaker.suspicion).toBe(once.breaker.suspicion);
      }),
      stormOfRuns(500),
    );
  });

  it('still makes the endpoint be left alone for as long as it asks', () => {
    const once = failed(UNKNOWN_HEALTH, 1e8);
    const asked = failure('overloaded', 'for a test', { retryAfterMs: 7_000 });
    const again = observe(once, POLICY, { ok: false, generation: 0, failure: asked, again: true }, 1e8 + 1);
    expect(admission(again, POLICY, 1e8 + 1)).toMatchObject({ ok: false, waitMs: 7_000, asked: true });
  });
});

describe('a failure that was the fault of its request', () => {
  it('leaves the health as if it had never been', () => {
    const step = fc.tuple(fc.integer({ min: 0, max: 40_000 }), fc.integer({ min: 0, max: 9 }));
    const steps = fc.array(step, { maxLength: 12 });
    let inLatest = 0;
    fc.assert(
      fc.property(steps, steps, (earlier, later) => {
        let now = 1e8;
        const fold = (health: EndpointHealth, calls: typeof earlier): EndpointHealth => {
          let folded = health;
          for (const [afterMs, chance] of calls) {
            now += afterMs;
            folded = (chance < 7 ? succeeded : failed)(folded, now);
          }
          return folded;
        };
        const before = fold(UNKNOWN_HEALTH, earlier);
        const at = (now += 10);
        const after = failed(before, at);
        const left = fold(after, later);
        now = at;
        const clean = fold(before, later);
        fc.pre(left.breaker.openings === 0 && clean.breaker.openings === 0 && after.breaker.openings === 0);
        fc.pre(left.breaker.generation === 0 && clean.breaker.generation === 0);
        if (left.latest === after.latest) inLatest += 1;
        const back = forgiven(left, POLICY, { at, account: undefined, before, after }, now);
        for (const spanMs of [30_000, 1_800_000, 86_400_000]) {
          expect(uptimeOf(back, now, spanMs) ?? 1).toBe(uptimeOf(clean, now, spanMs) ?? 1);
        }
        expect(conditionNow(back.condition, now)).toBeCloseTo(conditionNow(clean.condition, now), 6);
        const lostUsd = ({ condition }: EndpointHealth): number =>
          condition.lostUsd * Math.exp((condition.at - now) / 20_000);
        expect(lostUsd(back)).toBeCloseTo(lostUsd(clean), 6);
        expect(back.breaker.failed).toBeCloseTo(clean.breaker.failed, 6);
        expect(back.breaker.succeeded).toBeCloseTo(clean.breaker.succeeded, 6);
        expect(back.consecutiveFailures).toBe(clean.consecutiveFailures);
        expect(stabilityOf(back, now)).toBe(stabilityOf(clean, now));
      }),
      stormOfRuns(2_000),
    );
    expect(inLatest).toBeGreaterThan(storm(50));
  });

  it('is found by where else it failed, and by others that succeeded meanwhile', () => {
    const one = (failures: number, succeededSince: boolean) => ({ failures, succeededSince });
    expect(isOfItsRequest([one(2, true)])).toBe(true);
    expect(isOfItsRequest([one(1, true), one(1, false)])).toBe(true);
    expect(isOfItsRequest([one(1, true)])).toBe(false);
    expect(isOfItsRequest([one(3, false), one(3, false)])).toBe(false);
  });
});

describe('calls of an endpoint that is left alone', () => {
  const resortMs = (health: EndpointHealth, now: number): number | undefined => {
    const admitted = admission(health, POLICY, now);
    return admitted.ok ? undefined : admitted.lastResortMs;
  };

  const outOf = (health: EndpointHealth, now: number): EndpointHealth =>
    Array.from({ length: 5 }).reduce<EndpointHealth>((before) => failed(before, now), health);

  it('are twenty at once, and then three a second', () => {
    let health = outOf(UNKNOWN_HEALTH, 1e8);
    let now = 1e8;
    let sent = 0;
    for (; now < 1e8 + 2_000; now += 10) {
      if (resortMs(health, now) !== 0) continue;
      health = failed(observeStart(health, POLICY, now), now);
      sent += 1;
    }
    expect(sent).toBeGreaterThanOrEqual(25);
    expect(sent).toBeLessThanOrEqual(26);
    expect(resortMs(health, now)).toBeLessThanOrEqual(334);
  });

  it('are thirty at a time and one a second beyond, and all are let through once one succeeds', () => {
    let health = outOf(UNKNOWN_HEALTH, 1e8);
    let sent = 0;
    for (let now = 1e8; now < 1e8 + 25_000; now += 400) {
      if (resortMs(health, now) !== 0 && !admission(health, POLICY, now).ok) continue;
      health = observeStart(health, POLICY, now);
      sent += 1;
    }
    // None is ever answered: 30 in the first seconds, and then one each time that a second has passed.
    expect(sent).toBeGreaterThan(35);
    expect(sent).toBeLessThan(50);
    expect(admission(succeeded(health, 1e8 + 60_000), POLICY, 1e8 + 60_000)).toEqual({ ok: true });
  });

  it('do not wait for each other while some outlive those that fail, thirty more than these at a time', () => {
    let health = outOf(UNKNOWN_HEALTH, 1e8);
    for (let call = 0; call < 20; call += 1) health = observeStart(health, POLICY, 1e8);
    expect(resortMs(health, 1e8 + 200)).toBeGreaterThan(0);
    const resortBeside = (outliving: number): number | undefined => {
      const admitted = admission(health, POLICY, 1e8 + 200, { outliving });
      return admitted.ok ? undefined : admitted.lastResortMs;
    };
    for (let call = 20; call < 35; call += 1) {
      expect(resortBeside(5)).toBe(0);
      health = observeStart(health, POLICY, 1e8 + 200);
    }
    expect(resortBeside(5)).toBe(1_000);
    expect(resortBeside(35)).toBe(0);
  });

  it('is one a second where our account was refused', () => {
    const refused = failure('quota', 'for a test');
    let health = observe(UNKNOWN_HEALTH, POLICY, { ok: false, generation: 0, failure: refused }, 1e8);
    expect(resortMs(health, 1e8)).toBe(1_000);
    expect(resortMs(health, 1e8 + 1_000)).toBe(0);
    health = observeStart(health, POLICY, 1e8 + 5_000);
    expect(resortMs(health, 1e8 + 5_000)).toBe(1_000);
  });
});

function failedBy(health: EndpointHealth, kind: 'server' | 'rate_limited', now: number, retryAfterMs?: number) {
  const { generation } = health.breaker;
  return observe(health, HEALTH_POLICY, { ok: false, failure: failure(kind, 'x', { retryAfterMs }), generation }, now);
}

describe('the cooldown that a failure began', () => {
  it('is the one that its provider asked for', () => {
    const after = failedBy(UNKNOWN_HEALTH, 'rate_limited', NOW, 4_000);
    expect(beganWith(UNKNOWN_HEALTH, after, 'rate_limited', NOW)).toBe(after.cooldown);
    expect(after.cooldown).toMatchObject({ until: NOW + 4_000, asked: true });
  });

  it('is the opening of the breaker, once', () => {
    let health = UNKNOWN_HEALTH;
    const began: unknown[] = [];
    for (let call = 0; call < 5; call += 1) {
      const after = failedBy(health, 'server', NOW + call);
      began.push(beganWith(health, after, 'server', NOW + call));
      health = after;
    }
    expect(began.slice(0, 4)).toEqual([undefined, undefined, undefined, undefined]);
    expect(began[4]).toEqual({ since: NOW + 4, until: health.breaker.openUntil, cause: 'server' });
    // A call from before the opening says nothing new.
    const stale = observe(
      health,
      HEALTH_POLICY,
      { ok: false, failure: failure('server', 'x'), generation: 0 },
      NOW + 5,
    );
    expect(beganWith(health, stale, 'server', NOW + 5)).toBeUndefined();
  });

  it('is a further opening after a probe that failed', () => {
    let health = UNKNOWN_HEALTH;
    for (let call = 0; call < 5; call += 1) health = failedBy(health, 'server', NOW);
    const at = health.breaker.openUntil;
    const after = failedBy(health, 'server', at);
    expect(beganWith(health, after, 'server', at)).toMatchObject({ since: at, until: after.breaker.openUntil });
    expect(after.breaker.openUntil).toBeGreaterThan(at);
  });
});
