import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  DEFAULT_RETRY_BUDGET,
  FRESH_BUDGET,
  type RetryBudget,
  mayRepeat,
  spend,
} from '../../../src/core/fallback/retry-budget.ts';
import { runs } from '../../support/properties.ts';
import { NOW } from '../../support/requests.ts';

function spentAll(budget: RetryBudget, now: number): { readonly budget: RetryBudget; readonly count: number } {
  let count = 0;
  let left = budget;
  while (mayRepeat(left, DEFAULT_RETRY_BUDGET, now)) {
    left = spend(left, 'repetition', now);
    count += 1;
  }
  return { budget: left, count };
}

describe('the budget of repetitions', () => {
  it('always has a floor of five in ten seconds', () => {
    expect(spentAll(FRESH_BUDGET, NOW).count).toBe(5);
  });

  it('grows by a fifth of the requests', () => {
    let budget = FRESH_BUDGET;
    for (let index = 0; index < 100; index += 1) budget = spend(budget, 'request', NOW);
    expect(spentAll(budget, NOW).count).toBe(25);
  });

  it('fills again when the ten seconds are over', () => {
    const { budget } = spentAll(FRESH_BUDGET, NOW);
    expect(mayRepeat(budget, DEFAULT_RETRY_BUDGET, NOW + 9_999)).toBe(false);
    expect(mayRepeat(budget, DEFAULT_RETRY_BUDGET, NOW + 11_000)).toBe(true);
  });

  it('forgets requests that are more than ten seconds old', () => {
    let budget = FRESH_BUDGET;
    for (let index = 0; index < 100; index += 1) budget = spend(budget, 'request', NOW);
    expect(spentAll(budget, NOW + 9_000).count).toBe(25);
    expect(spentAll(budget, NOW + 10_500).count).toBe(5);
  });

  it('may be closed altogether', () => {
    expect(mayRepeat(FRESH_BUDGET, { ratio: 0, floor: 0 }, NOW)).toBe(false);
  });

  it('holds over every ten seconds before a repetition, and its memory is bounded (P13)', () => {
    const events = fc.array(fc.tuple(fc.nat(3_000), fc.boolean()), { maxLength: 200 });
    const policy = fc.record({ ratio: fc.double({ min: 0, max: 1, noNaN: true }), floor: fc.nat(10) });
    fc.assert(
      fc.property(events, policy, (list, given) => {
        let budget = FRESH_BUDGET;
        let now = NOW;
        const requests: number[] = [];
        const repetitions: number[] = [];
        for (const [after, isRequest] of list) {
          now += after;
          if (isRequest) {
            requests.push(now);
            budget = spend(budget, 'request', now);
          } else if (mayRepeat(budget, given, now)) {
            repetitions.push(now);
            budget = spend(budget, 'repetition', now);
            const recent = (times: readonly number[]): number => times.filter((at) => at > now - 10_000).length;
            expect(recent(repetitions)).toBeLessThanOrEqual(recent(requests) * given.ratio + given.floor + 1e-9);
          }
          expect(budget.seconds.length).toBeLessThanOrEqual(12);
        }
      }),
      runs(1_000),
    );
  });

  it('counts into the newest second when the clock goes back', () => {
    const ahead = spend(FRESH_BUDGET, 'repetition', NOW + 60_000);
    expect(spend(ahead, 'repetition', NOW).seconds).toEqual([
      { second: (NOW + 60_000) / 1_000, requests: 0, repetitions: 2 },
    ]);
  });
});
