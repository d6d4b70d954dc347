import type { Account } from '../../core/account.ts';
import { accountLimitProblems } from '../../core/limits/account-options.ts';
import { RouterError } from '../../protocol/router-error.ts';
import { echo } from '../../protocol/fault.ts';
import type { Environment } from '../../platform/environment.ts';
import { type EventHub, warn } from '../chat/events.ts';
import { seldom } from '../../platform/seldom.ts';

/**
 * Lets an account pass whose limits and budgets mean something.
 *
 * @throws {@link RouterError} 503 for one whose do not: what it may use or spend is then not known, and neither all nor
 * nothing of it would be right. What is wrong is told to the operator, in a `warning` with the code `account`.
 */
export type CheckAccount = (account: Account) => void;

/** Makes a {@link CheckAccount}, which tells of each account at most once a minute. */
export function accountCheck(environment: Environment, events: EventHub): CheckAccount {
  const tell = seldom(environment, (message) => warn(events, { code: 'account', message }));
  return (account) => {
    const problems = accountLimitProblems(account);
    if (problems.length === 0) return;
    const told = problems.map(({ path, problem }) => `${path} ${problem}`).join('; ');
    tell(`The limits of the account ${echo(account.id)} cannot be used, so it gets a 503: ${told}`);
    throw new RouterError({
      status: 503,
      errorType: 'server',
      message: 'The limits of this account are set wrongly, which only the operator of this router can mend',
      retryable: false,
    });
  };
}
