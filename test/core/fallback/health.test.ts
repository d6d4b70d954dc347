import { describe, expect, it } from 'vitest';
import { DEFAULT_BREAKER_POLICY } from '../../../src/core/fallback/breaker.ts';
import { failure } from '../../../src/core/fallback/failure.ts';
import { UNKNOWN_HEALTH, observe, uptimeOf } from '../../../src/core/fallback/health.ts';

const POLICY = { breaker: DEFAULT_BREAKER_POLICY, maxCooldownMs: 60_000 };

function uptimeAfter(status: number): number | undefined {
  const { generation } = UNKNOWN_HEALTH.breaker;
  const answered = observe(UNKNOWN_HEALTH, POLICY, { ok: true, generation }, 1_000);
  const refused = failure('credentials', 'no', { status });
  return uptimeOf(observe(answered, POLICY, { ok: false, failure: refused, generation }, 1_001), 1_002, 60_000);
}

describe('the uptime of an endpoint', () => {
  it('falls with a key that is not accepted', () => {
    expect(uptimeAfter(401)).toBe(0.5);
  });

  it('does not fall with a 403, which may be about what was asked', () => {
    expect(uptimeAfter(403)).toBe(1);
  });
});
