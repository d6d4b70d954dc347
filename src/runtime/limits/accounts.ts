/** Checks the accounts that authentication returns. */
import { optionProblems } from '../../platform/check-options.ts';
import type { Secret } from '../../platform/secret.ts';
import { ACCOUNT } from '../../options/accounts.ts';
import { type ConfigProblem, RouterError } from '../../protocol/router-error.ts';
import { type Account, ANONYMOUS } from '../../contracts/account.ts';
import { echo } from '../../protocol/fault.ts';
import type { Environment } from '../../platform/environment.ts';
import { type EventHub, warn } from '../events/events.ts';
import { seldom } from '../../platform/seldom.ts';
import { andThen, type MaybePromise } from '../../platform/wait.ts';
import { MAX_READERS } from '../../core/limits/share.ts';
import type { RecordMap } from '../endpoints/endpoint-load.ts';
import { hmacSha256 } from '../../platform/hash.ts';
import { rateLimitError } from '../../core/limits/limit-errors.ts';
import { limitsFor, type RateLimits, limitedTags } from '../../core/limits/rate-limits.ts';
import type { TaggedRateLimits } from '../../options/spending.ts';
import type { RoutedRequest, NormalizedEmbeddingRequest } from '../../contracts/request.ts';
import { likelyPromptTokens } from '../../core/tokens/token-estimate.ts';
import type { RateClaim, RateDecision, RateLimiter, LimitedTag, RateTicket } from '../../contracts/account-limits.ts';

const NONE: readonly ConfigProblem[] = [];

/** What is wrong with the limits and budgets of an account. Costs nothing for an account that has none. */
function accountLimitProblems(account: Account): readonly ConfigProblem[] {
  if (account.rateLimits === undefined && account.budget === undefined && account.keyBudget === undefined) return NONE;
  const problems: ConfigProblem[] = [];
  for (const name of ['rateLimits', 'budget', 'keyBudget'] as const) {
    const value = account[name];
    if (value !== undefined) problems.push(...optionProblems(ACCOUNT[name], value, name));
  }
  return problems;
}

/**
 * Lets an account pass whose limits and budgets mean something.
 *
 * @throws {@link RouterError} 503 for one whose do not: what it may use or spend is then not known, and neither all nor
 * nothing of it would be right. What is wrong is reported to the operator, in a `warning` with the code `account`.
 */
export type CheckAccount = (account: Account) => void;

/** Makes a {@link CheckAccount}, which tells of each account at most once a minute. */
export function accountCheck(environment: Environment, events: EventHub): CheckAccount {
  const warnSeldom = seldom(environment, (message) => warn(events, { code: 'account', message }));
  return (account) => {
    const problems = accountLimitProblems(account);
    if (problems.length === 0) return;
    const shown = problems.map(({ path, problem }) => `${path} ${problem}`).join('; ');
    warnSeldom(`The limits of the account ${echo(account.id)} cannot be used, so it gets a 503: ${shown}`);
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
  /** The stand-in of requests without account and user; undefined before the first of them. */
  ofNobody: string | undefined;

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
    if (key === NOBODY) this.ofNobody = id;
    return id;
  }
}

/** What requests without account and user are remembered by. */
const NOBODY = `${ANONYMOUS.id}\0`;

const NO_TAGS: readonly never[] = [];
const NO_LIMITS: RateLimits = {};

/** Tokens of an answer that a request which names no bound is expected to have. */
const LIKELY_ANSWER_TOKENS = 1_000;

/** Holds accounts to their rates, request by request. Calls of plugins are a part of their request. */
export class AccountRates {
  readonly #limiter: RateLimiter;
  readonly #everybody: RateLimits & TaggedRateLimits;
  readonly #divides: boolean;
  /** Limits of an account without any of its own. Undefined where such an account is not limited. */
  readonly #common: RateLimits | undefined;
  /** False where only accounts with limits of their own are limited. */
  readonly limitsEverybody: boolean;
  readonly #environment: Environment;
  readonly #events: EventHub;

  constructor(
    limiter: RateLimiter,
    everybody: RateLimits & TaggedRateLimits,
    environment: Environment,
    events: EventHub,
  ) {
    this.#limiter = limiter;
    this.#everybody = everybody;
    this.#divides = everybody.tags !== undefined || everybody.session !== undefined;
    this.#common = limitsFor(everybody, undefined);
    this.limitsEverybody = this.#divides || this.#common !== undefined;
    this.#environment = environment;
    this.#events = events;
  }

  /**
   * Lets a request begin: the same request, with its ticket where it has one. Costs nothing where nothing is limited.
   *
   * @throws {@link RouterError} 429 when it exceeds the rate limit.
   */
  admit<Request extends RoutedRequest>(request: Request): MaybePromise<Request> {
    const own = this.#limitsOf(request.account);
    const tags = this.#divides ? limitedTags(this.#everybody, request) : NO_TAGS;
    if (own === undefined && tags.length === 0) return request;
    const decided = this.#limiter.take(claimOf(request, own ?? NO_LIMITS, tags));
    const admit = (decision: RateDecision): Request => {
      if (!decision.granted) throw rateLimitError(decision.broken, this.#environment.wallClock());
      return decision.ticket === undefined ? request : { ...request, rateTicket: decision.ticket };
    };
    return decided instanceof Promise ? decided.then(admit) : admit(decided);
  }

  /**
   * Lets a reader of a kept stream begin. Of these an account may have as many a minute as all its requests could have at
   * a time; they are counted by themselves, so that streams can still be resumed when no request may begin.
   *
   * @throws {@link RouterError} 429 when it exceeds that.
   */
  admitReader(account: Account): MaybePromise<void> {
    const { requestsPerMinute } = this.#limitsOf(account) ?? NO_LIMITS;
    if (requestsPerMinute === undefined) return;
    const limits = { requestsPerMinute: requestsPerMinute * MAX_READERS };
    const claim = { account: `${account.id}\nreaders`, limits, tokens: 0, isFree: false };
    return andThen(this.#limiter.take(claim), (decision) => {
      if (!decision.granted) throw rateLimitError(decision.broken, this.#environment.wallClock());
    });
  }

  /** Writes down what a request used. Nobody waits for it. */
  settle(ticket: RateTicket, tokens: number): void {
    const failed = (): void =>
      warn(this.#events, {
        code: 'rate_limit',
        message: 'What a request used could not be written to its rate limit; check the store in "state"',
      });
    try {
      const settled: unknown = this.#limiter.settle(ticket, tokens);
      if (settled !== undefined) Promise.resolve(settled).catch(failed);
    } catch {
      failed();
    }
  }

  #limitsOf({ rateLimits }: Account): RateLimits | undefined {
    return rateLimits === undefined ? this.#common : limitsFor(this.#everybody, rateLimits);
  }
}

/** What a request asks of its limits. */
function claimOf(request: RoutedRequest, limits: RateLimits, tags: readonly LimitedTag[]): RateClaim {
  const account = request.account.id;
  if (limits.tokensPerMinute !== undefined || tags.some((tag) => tag.limits.tokensPerMinute !== undefined)) {
    return { account, limits, tags, tokens: likelyTokensOf(request), isFree: isFree(request) };
  }
  return {
    account,
    limits,
    tags,
    // Where no tokens are limited, only a limiter of the host's may read them: estimating a prompt takes time.
    get tokens() {
      return likelyTokensOf(request);
    },
    isFree: isFree(request),
  };
}

function likelyTokensOf(request: RoutedRequest): number {
  const { needs } = request;
  if (request.operation === 'embeddings') return (request as NormalizedEmbeddingRequest).likelyTokens;
  return likelyPromptTokens(request) + (needs.outputTokens ?? LIKELY_ANSWER_TOKENS);
}

/** `:free` has endpoints of its own, and `router/free` mixes everything that costs nothing. */
function isFree({ targets }: RoutedRequest): boolean {
  return (
    targets.length > 0 &&
    targets.every(
      ({ shuffled, endpoints }) => shuffled === true || endpoints.every(({ variant }) => variant === 'free'),
    )
  );
}
