import { describe, expect, it } from 'vitest';
import { DEFAULT_PACER_POLICY } from '../../src/core/selection/adaptive/pacer.ts';
import { SharedPacing } from '../../src/runtime/endpoints/shared-pacing.ts';

const pacing = (): SharedPacing => new SharedPacing({ ...DEFAULT_PACER_POLICY, mostRetries: 4 }, false);

describe('a wait for a place where the prompt is cached', () => {
  it('is not for a time in which others wait because no endpoint is free', () => {
    const shared = pacing();
    const leave = shared.enter('me');
    expect(shared.warmWaitMs('a', 0)).toBe(0);
    leave();
    expect(shared.warmWaitMs('a', 0)).toBe(600);
  });

  it('leaves half of the retries to those who have nowhere else to go', () => {
    const shared = pacing();
    shared.retryRefusal('a');
    shared.retryRefusal('a');
    expect(shared.warmWaitMs('a', 0)).toBe(600);
    shared.retryRefusal('a');
    expect(shared.warmWaitMs('a', 0)).toBe(0);
    expect(shared.mayRetryRefusal('a')).toBe(true);
  });

  it('counts what was waited before', () => {
    expect(pacing().warmWaitMs('a', 300)).toBe(300);
    expect(pacing().warmWaitMs('a', 900)).toBe(0);
  });

  it('is not where nothing is paced', () => {
    expect(new SharedPacing(false, false).warmWaitMs('a', 0)).toBe(0);
  });
});
