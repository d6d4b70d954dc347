import { ACCOUNT } from '../../config/tables/accounts.ts';
import type { ConfigProblem } from '../../protocol/router-error.ts';
import type { Account } from '../account.ts';
import { kindsOf } from '../../platform/kind-of.ts';

/** What finds the faults in everything that an account may have. */
export const ACCOUNT_OPTIONS = kindsOf(ACCOUNT);

const NONE: readonly ConfigProblem[] = [];

/** What is wrong with the limits and budgets of an account. Costs nothing for an account that has none. */
export function accountLimitProblems(account: Account): readonly ConfigProblem[] {
  if (account.rateLimits === undefined && account.budget === undefined && account.keyBudget === undefined) return NONE;
  const problems: ConfigProblem[] = [];
  for (const name of ['rateLimits', 'budget', 'keyBudget'] as const) {
    const value = account[name];
    if (value !== undefined) problems.push(...ACCOUNT_OPTIONS[name](value, name));
  }
  return problems;
}
