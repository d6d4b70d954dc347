/** A sample of the ways to leave a budget; `npm run bench:budgets` tries all of them. */
import { describe, expect, it } from 'vitest';
import { STRATEGIES, tryStrategy } from '../../bench/budgets/strategies.ts';
import { someOf } from '../support/storms.ts';

describe('an account that tries to leave its budget', () => {
  it('has as many ways as the bench is about', () => {
    expect(STRATEGIES.length).toBeGreaterThanOrEqual(60);
    expect(new Set(STRATEGIES.map(({ name }) => name)).size).toBe(STRATEGIES.length);
  });

  it.each(someOf(STRATEGIES, { every: 4 }))(
    'is not billed more than it: $name',
    { timeout: 90_000 },
    async (strategy) => {
      expect((await tryStrategy(strategy)).ratio).toBeLessThanOrEqual(1.05);
    },
  );
});
