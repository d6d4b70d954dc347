import type { Secret } from '../../platform/secret.ts';
import { ACCOUNT } from '../../config/tables/accounts.ts';
import { type ConfigProblem, RouterError } from '../../protocol/router-error.ts';
import type { Account } from '../../core/account.ts';
import { kindsOf } from '../../platform/kind-of.ts';
import { echo } from '../../protocol/fault.ts';
import type { Environment } from '../../platform/environment.ts';
import { type EventHub, warn } from '../chat/events.ts';
import { seldom } from '../../platform/seldom.ts';
import type { MaybePromise } from '../../platform/wait.ts';
import type { RecordMap } from '../chat/endpoint-records.ts';
import { hmacSha256 } from '../../platform/hash.ts';

/** What finds the faults in everything that an account may have. */
export const ACCOUNT_OPTIONS = kindsOf(ACCOUNT);

const NONE: readonly ConfigProblem[] = [];

/** What is wrong with the limits and budgets of an account. Costs nothing for an account that has none. */
function accountLimitProblems(account: Account): readonly ConfigProblem[] {
  if (account.rateLimits === undefined && account.budget === undefined && account.keyBudget === undefined) return NONE;
  const problems: ConfigProblem[] = [];
  for (const name of ['rateLimits', 'budget', 'keyBudget'] as const) {
    const value = account[name];
    if (value !== undefined) problems.push(...ACCOUNT_OPTIONS[name](value, name));
  }
  return problems;
}

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

/**
 * Stand-ins for end users, for providers who isolate abuse by user (contract: `user`). A keyed hash per account: the
 * same user always has the same stand-in, two accounts never share one, and nobody can get back to the name.
 */
export class EndUsers {
  readonly #secret: Secret;
  readonly #known: RecordMap<{ readonly id: string }>;

  constructor(secret: Secret, known: RecordMap<{ readonly id: string }>) {
    this.#secret = secret;
    this.#known = known;
  }

  /** The stand-in of an account's user, or of the account itself where the request names none. */
  standIn(account: string, user: string | null | undefined): MaybePromise<string> {
    const key = `${account}\0${user ?? ''}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known.id;
    const hash = hmacSha256(this.#secret.reveal(), key);
    return typeof hash === 'string' ? this.#remember(key, hash) : hash.then((hex) => this.#remember(key, hex));
  }

  #remember(key: string, hash: string): string {
    const id = `user_${hash.slice(0, 32)}`;
    this.#known.set(key, { id });
    return id;
  }
}
