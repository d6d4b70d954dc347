import { type Budget, BUDGET_PERIODS, type BudgetPeriod } from './budget.ts';
import type { FreeModelLimits, RateLimits } from './rate-limits.ts';
import { group, kind, oneOf, type OptionKind, type OptionShape } from '../../platform/option-kinds.ts';

/** In nano-dollars still a whole number that is exact. */
const MOST_USD = 9_000_000;

/** `Infinity` is a limit that is none. */
const limit = kind('a number that is not negative', (value) => typeof value === 'number' && value >= 0);

/** Limits of the rate, of everybody or of one account. */
export const RATE_LIMITS: OptionShape<RateLimits> = {
  requestsPerMinute: limit,
  tokensPerMinute: limit,
  freeModels: group<FreeModelLimits>({ requestsPerMinute: limit, requestsPerDay: limit }),
};

const periods = Object.fromEntries(BUDGET_PERIODS.map((period) => [period, true])) as Record<BudgetPeriod, true>;

/** What may be spent. */
export const budget: OptionKind = group<Budget>(
  {
    limitUsd: kind(
      `US dollars from 0 to ${MOST_USD}`,
      (value) => typeof value === 'number' && value >= 0 && value <= MOST_USD,
    ),
    period: oneOf<BudgetPeriod>(periods),
  },
  ['limitUsd'],
);
