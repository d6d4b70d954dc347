import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Allowance,
  allowanceAfterSending,
  allowanceLeft,
  allowanceOf,
  waitForAllowance,
} from '../../../src/core/selection/adaptive/endpoint-room.ts';

const MINUTE = 60_000;

describe('what a provider says that it will still take', () => {
  it('lets calls through as long as something is left', () => {
    let allowance: Allowance | undefined = allowanceOf({ remaining: 2, resetMs: 10_000 }, 0, MINUTE, 0);
    expect(waitForAllowance(allowance, 1, 0)).toBe(0);
    allowance = allowanceAfterSending(allowanceAfterSending(allowance, 1), 1);
    expect(waitForAllowance(allowance, 1, 0)).toBe(10_000);
    expect(waitForAllowance(allowance, 1, 9_000)).toBe(1_000);
    expect(waitForAllowance(allowance, 1, 10_000)).toBe(0);
  });

  it('fills up at a constant speed where its size is known', () => {
    const allowance = allowanceOf({ remaining: 0, limit: 60, resetMs: 60_000 }, 0, MINUTE, 0);
    expect(waitForAllowance(allowance, 1, 0)).toBe(1_000);
    expect(waitForAllowance(allowance, 10, 0)).toBe(10_000);
    expect(waitForAllowance(allowance, 1, 1_000)).toBe(0);
    expect(allowanceLeft(allowance, 30_000)).toBeCloseTo(0.5);
  });

  it('does not count what was sent after the call that brought the report', () => {
    expect(waitForAllowance(allowanceOf({ remaining: 3, resetMs: 5_000 }, 3, MINUTE, 0), 1, 0)).toBe(5_000);
  });

  it('is believed for so long only', () => {
    const allowance = allowanceOf({ remaining: 0, resetMs: 3_600_000 }, 0, MINUTE, 0);
    expect(waitForAllowance(allowance, 1, 0)).toBe(MINUTE);
    expect(waitForAllowance(allowance, 1, MINUTE)).toBe(0);
  });

  it('lets a call through that is larger than all of the limit, once all of it is there', () => {
    const allowance = allowanceOf({ remaining: 0, limit: 1_000, resetMs: 10_000 }, 0, MINUTE, 0);
    expect(waitForAllowance(allowance, 5_000, 0)).toBe(10_000);
  });

  it('after the wait that it gives there is room, whatever was said', () => {
    const amount = fc.integer({ min: 0, max: 1_000_000 });
    fc.assert(
      fc.property(
        amount,
        fc.option(amount),
        amount,
        amount,
        amount,
        amount,
        (remaining, limit, resetMs, spent, by, now) => {
          const allowance = allowanceOf({ remaining, limit: limit ?? undefined, resetMs }, spent, MINUTE, now);
          const waitMs = waitForAllowance(allowance, by, now);
          expect(waitMs).toBeGreaterThanOrEqual(0);
          expect(waitMs).toBeLessThanOrEqual(MINUTE);
          // To within the rounding of a millisecond.
          expect(waitForAllowance(allowance, by, now + waitMs)).toBeLessThanOrEqual(1);
        },
      ),
    );
  });
});
