import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type EndpointHealth, observe, UNKNOWN_HEALTH } from '../../../src/core/fallback/health.ts';
import { isGone, outlives, repetitionShare } from '../../../src/core/fallback/throttle.ts';
import { runs } from '../../support/properties.ts';
import { HEALTH_POLICY } from '../../support/records.ts';
import { NOW } from '../../support/requests.ts';
import { failure } from '../../../src/contracts/failure.ts';

function ended(outcomes: readonly boolean[], now = NOW): EndpointHealth {
  return outcomes.reduce<EndpointHealth>((health, ok) => {
    const { generation } = health.breaker;
    const call = ok ? ({ ok, generation } as const) : ({ ok, generation, failure: failure('server', 'no') } as const);
    return observe(health, HEALTH_POLICY, call, now);
  }, UNKNOWN_HEALTH);
}

describe('the share of repetitions that is let through', () => {
  it('is all where nothing is known, and where half of the calls succeed', () => {
    expect(repetitionShare(undefined, NOW)).toBe(1);
    expect(repetitionShare(UNKNOWN_HEALTH, NOW)).toBe(1);
    expect(repetitionShare(ended([true, false, false, true]), NOW)).toBe(1);
    expect(repetitionShare(ended([false, false]), NOW)).toBe(1);
  });

  it('is twice the share of recent successes', () => {
    const tenth = Array.from({ length: 1_000 }, (_, index) => index % 10 === 0);
    expect(repetitionShare(ended(tenth), NOW)).toBeCloseTo(0.2, 2);
    expect(repetitionShare(ended(tenth.map(() => false)), NOW)).toBeLessThan(0.005);
  });

  it('forgets what is more than some seconds ago', () => {
    expect(repetitionShare(ended(Array.from({ length: 100 }, () => false)), NOW + 15_000)).toBe(1);
  });

  it('follows the successes: more of them never let less through', () => {
    const counts = fc.tuple(fc.nat(60), fc.nat(60));
    fc.assert(
      fc.property(counts, ([succeeded, failed]) => {
        const outcomes = (count: number): boolean[] => [
          ...Array.from({ length: failed }, () => false),
          ...Array.from({ length: count }, () => true),
        ];
        const share = repetitionShare(ended(outcomes(succeeded)), NOW);
        expect(share).toBeGreaterThan(0);
        expect(share).toBeLessThanOrEqual(1);
        expect(repetitionShare(ended(outcomes(succeeded + 1)), NOW)).toBeGreaterThanOrEqual(share);
      }),
      runs(300),
    );
  });
});

describe('an endpoint where no server listens', () => {
  const refused = failure('connection', 'for a test', { notListening: true });
  const broken = failure('server', 'for a test');
  const failed = (health: EndpointHealth, now: number, how = broken): EndpointHealth =>
    observe(health, HEALTH_POLICY, { ok: false, generation: health.breaker.generation, failure: how }, now);
  const refusing = (health: EndpointHealth, now: number): EndpointHealth => failed(health, now, refused);
  const succeeded = (health: EndpointHealth, now: number): EndpointHealth =>
    observe(health, HEALTH_POLICY, { ok: true, generation: health.breaker.generation }, now);

  it('is gone ten seconds after its last answer, at once where it never gave one, and never after another failure', () => {
    expect([isGone(undefined, 1e8), isGone(UNKNOWN_HEALTH, 1e8)]).toEqual([false, false]);
    expect(isGone(refusing(UNKNOWN_HEALTH, 1e8), 1e8)).toBe(true);
    expect(isGone(failed(refusing(UNKNOWN_HEALTH, 1e8), 1e8), 1e8)).toBe(false);
    const answered = refusing(succeeded(UNKNOWN_HEALTH, 1e8), 1e8 + 1);
    expect(isGone(answered, 1e8 + 9_999)).toBe(false);
    expect(isGone(answered, 1e8 + 10_000)).toBe(true);
    expect(isGone(succeeded(answered, 1e8 + 10_000), 1e8 + 60_000)).toBe(false);
  });
});

describe('a call that outlives those that fail', () => {
  it('takes clearly longer', () => {
    expect(outlives(219, 60)).toBe(false);
    expect(outlives(221, 60)).toBe(true);
    expect(outlives(8_000, 5_000)).toBe(false);
  });

  it('is not to be seen where none has failed', () => {
    expect(outlives(60_000, 0)).toBe(false);
  });
});
