import { describe, expect, it } from 'vitest';
import { type EndpointHealth, observe, UNKNOWN_HEALTH } from '../../src/core/fallback/health.ts';
import { beganWith } from '../../src/runtime/chat/began-cooldowns.ts';
import { HEALTH_POLICY } from '../support/records.ts';
import { NOW } from '../support/requests.ts';
import { failure } from '../../src/contracts/failure.ts';

function failed(health: EndpointHealth, kind: 'server' | 'rate_limited', now: number, retryAfterMs?: number) {
  const { generation } = health.breaker;
  return observe(health, HEALTH_POLICY, { ok: false, failure: failure(kind, 'x', { retryAfterMs }), generation }, now);
}

describe('the cooldown that a failure began', () => {
  it('is the one that its provider asked for', () => {
    const after = failed(UNKNOWN_HEALTH, 'rate_limited', NOW, 4_000);
    expect(beganWith(UNKNOWN_HEALTH, after, 'rate_limited', NOW)).toBe(after.cooldown);
    expect(after.cooldown).toMatchObject({ until: NOW + 4_000, asked: true });
  });

  it('is the opening of the breaker, once', () => {
    let health = UNKNOWN_HEALTH;
    const began: unknown[] = [];
    for (let call = 0; call < 5; call += 1) {
      const after = failed(health, 'server', NOW + call);
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
    for (let call = 0; call < 5; call += 1) health = failed(health, 'server', NOW);
    const at = health.breaker.openUntil;
    const after = failed(health, 'server', at);
    expect(beganWith(health, after, 'server', at)).toMatchObject({ since: at, until: after.breaker.openUntil });
    expect(after.breaker.openUntil).toBeGreaterThan(at);
  });
});
