import { describe, expect, it } from 'vitest';
import { LeaseLength } from '../../../src/core/batch/lease.ts';

describe('the length of leases', () => {
  it('is what was asked for where renewals come in time', () => {
    const lease = new LeaseLength(30_000);
    for (let renewal = 0; renewal < 50; renewal += 1) lease.renewed(10_100);
    expect(lease.ms).toBe(30_000);
  });

  it.each([50, 400, 2_000, 20_000])('is enough for a store that takes %i ms, from the first late renewal on', (ms) => {
    const lease = new LeaseLength(100);
    let lapsed = 0;
    for (let renewal = 0; renewal < 200; renewal += 1) {
      const tookMs = lease.ms / 3 + ms;
      if (tookMs > lease.ms) lapsed += 1;
      lease.renewed(tookMs);
    }
    expect(lapsed).toBeLessThanOrEqual(1);
    expect(lease.ms).toBeLessThanOrEqual(Math.max(100, 5 * ms));
  });

  it('grows once for one delay, however many leases it made late', () => {
    const lease = new LeaseLength(100);
    for (let held = 0; held < 50; held += 1) lease.renewed(900);
    for (let held = 0; held < 50; held += 1) lease.lost(900);
    expect(lease.ms).toBe(1_800);
  });

  it('has a limit, and becomes what it was when everything is fast again', () => {
    const lease = new LeaseLength(100);
    lease.lost(36_000_000);
    expect(lease.ms).toBe(300_000);
    for (let renewal = 0; renewal < 100; renewal += 1) lease.renewed(lease.ms / 3 + 1);
    expect(lease.ms).toBe(100);
  });
});
