import { ACCOUNT } from './tables/accounts.ts';
import type { ConfigProblem } from '../protocol/router-error.ts';
import type { Account } from '../core/account.ts';
import { kindsOf } from './kind-of.ts';

/** What finds the faults in everything that an account may have. */
export const ACCOUNT_OPTIONS = kindsOf(ACCOUNT);

/** What is wrong with the limits and budgets of an account. Costs nothing for an account that has none. */
export function accountLimitProblems(account: Account): readonly ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  for (const name of ['rateLimits', 'budget', 'keyBudget'] as const) {
    const value = account[name];
    if (value !== undefined) problems.push(...ACCOUNT_OPTIONS[name](value, name));
  }
  return problems;
}
