import type { Account } from '../../core/account.ts';
import { rateLimitError } from '../../core/limits/limit-errors.ts';
import { limitsFor, type RateLimits, type RateTicket, tagsOf } from '../../core/limits/rate-limits.ts';
import type { NormalizedEmbeddingRequest } from '../../core/normalize/normalize-embedding.ts';
import type { TaggedRateLimits } from '../../config/tables/spending.ts';
import type { RoutedRequest } from '../../core/normalize/normalized-request.ts';
import { likelyPromptTokens } from '../../core/normalize/token-estimate.ts';
import type { RateDecision, RateLimiter } from '../../contracts/rate-limiter.ts';
import type { MaybePromise } from '../../platform/wait.ts';
import type { Environment } from '../../platform/environment.ts';
import { type EventHub, warn } from '../chat/events.ts';

const NO_TAGS: readonly never[] = [];

/** Tokens of an answer that a request which names no bound is expected to have. */
const LIKELY_ANSWER_TOKENS = 1_000;

/** Holds accounts to their rates, request by request. Calls of plugins are a part of their request. */
export class Rates {
  readonly #limiter: RateLimiter;
  readonly #everybody: RateLimits & TaggedRateLimits;
  readonly #divides: boolean;
  /** True when accounts are not limited unless they have limits of their own. */
  readonly #isFree: boolean;
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
    this.#isFree = !this.#divides && limitsFor(everybody, undefined) === undefined;
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
    const tags = this.#divides ? tagsOf(this.#everybody, request) : NO_TAGS;
    if (own === undefined && tags.length === 0) return request;
    const limits = own ?? {};
    const account = request.account.id;
    const claim = { account, limits, tags, tokens: likelyTokensOf(request), isFree: isFree(request) };
    const decided = this.#limiter.take(claim);
    const admit = (decision: RateDecision): Request => {
      if (!decision.granted) throw rateLimitError(decision.broken, this.#environment.wallClock());
      return decision.ticket === undefined ? request : { ...request, rateTicket: decision.ticket };
    };
    return decided instanceof Promise ? decided.then(admit) : admit(decided);
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
    if (rateLimits === undefined && this.#isFree) return undefined;
    return limitsFor(this.#everybody, rateLimits);
  }
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
