import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { backoffMs } from '../../../src/core/fallback/backoff.ts';
import { runs } from '../../support/properties.ts';

describe('backoff', () => {
  it('is a time that doubles up to its cap, and up to a hundredth more', () => {
    const policy = { baseMs: 250, capMs: 8_000 };
    expect([0, 1, 2, 6, 1_000].map((repetition) => backoffMs(policy, repetition, 0.9999))).toEqual([
      252, 504, 1_009, 7_999, 7_999,
    ]);
    expect([0, 3].map((repetition) => backoffMs(policy, repetition, 0))).toEqual([250, 2_000]);
  });

  it('lies in [0, cap] and never below what the provider asked for (P15)', () => {
    const policy = fc.record({ baseMs: fc.nat(10_000), capMs: fc.nat(60_000) });
    const roll = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    fc.assert(
      fc.property(
        policy,
        fc.nat(100),
        roll,
        fc.option(fc.nat(3_600_000), { nil: undefined }),
        (given, times, chance, asked) => {
          const waitMs = backoffMs(given, times, chance, asked);
          expect(waitMs).toBeGreaterThanOrEqual(asked ?? 0);
          expect(waitMs).toBeLessThanOrEqual(Math.max(given.capMs, asked ?? 0));
          expect(Number.isInteger(waitMs)).toBe(true);
        },
      ),
      runs(1_000),
    );
  });
});
