import type { Budget } from '../core/limits/budget.ts';
import type { RateLimits } from '../core/limits/rate-limits.ts';
import type { ConfigProblem } from '../protocol/router-error.ts';
import type { BudgetKeeper } from '../contracts/budget-keeper.ts';
import type { ResponseCacheStore } from '../contracts/response-cache.ts';
import { memoryResponseCache, stateResponseCache } from '../storage/response-caches.ts';
import type { RateLimiter } from '../contracts/rate-limiter.ts';
import { stateBudgets } from '../storage/state-budgets.ts';
import { stateRateLimiter } from '../storage/state-rate-limiter.ts';
import type { Environment } from '../platform/environment.ts';
import type { ResponsesOptions } from '../runtime/limits/responses.ts';
import type { SpendingPolicy } from '../runtime/limits/spending.ts';
import type { StateStore } from '../contracts/state-store.ts';

/** Limits of the rate: those for accounts that have none of their own, and who counts. */
export interface RateLimitsOptions extends RateLimits {
  /** Default: counters in `state`. */
  readonly limiter?: RateLimiter | undefined;
}

/** How budgets are kept. Accounts bring theirs as `budget` and `keyBudget`. */
export interface BudgetsOptions {
  /** For accounts that have no budget of their own. Default: none. */
  readonly default?: Budget | undefined;
  /**
   * What becomes of calls whose price nobody knows, for accounts that have a budget: `refuse` answers with 402, `allow`
   * reserves nothing and counts what the provider reports. Default `refuse`.
   */
  readonly unknownPrice?: 'refuse' | 'allow' | undefined;
  /** Tokens that are reserved for an answer when neither the request nor the endpoint bounds it. Default 16,384. */
  readonly unknownAnswerTokens?: number | undefined;
  /** Milliseconds after which what a dead process had reserved is free again; at the latest twice that. Default 900,000. */
  readonly holdMs?: number | undefined;
  /** Default: counters in `state`. */
  readonly keeper?: BudgetKeeper | undefined;
}

/** How whole answers are kept and given again (gaps 9.4). */
export interface ResponseCacheOptions {
  /** True: requests use the cache unless they say no. Default false: those that ask for it do. */
  readonly enabled?: boolean | undefined;
  /** Seconds that an answer is kept, unless a request says otherwise. Default 300. */
  readonly ttlSeconds?: number | undefined;
  /** Bytes of one answer; larger ones are not kept. Default 1,000,000. */
  readonly maxEntryBytes?: number | undefined;
  /** Bytes of all answers in the memory of this process. Only without `state` and `store`. Default 64,000,000. */
  readonly maxBytes?: number | undefined;
  /** Where answers are kept. Default: in `state` where it is given, so that instances share them; else in memory. */
  readonly store?: ResponseCacheStore | undefined;
}

/** Limits and budgets with everything filled in. */
export interface ResolvedLimits {
  readonly rateLimits: RateLimits;
  readonly limiter: RateLimiter;
  readonly spending: SpendingPolicy;
  readonly keeper: BudgetKeeper;
  readonly responses: ResponsesOptions;
}

/** Completes the options. What was given has been checked. */
export function resolveLimits(
  rateLimits: RateLimitsOptions = {},
  budgets: BudgetsOptions = {},
  responseCache: ResponseCacheOptions = {},
  { state, shared, environment }: LimitServices,
): ResolvedLimits {
  const { limiter, ...limits } = rateLimits;
  const { wallClock } = environment;
  return {
    rateLimits: limits,
    limiter: limiter ?? stateRateLimiter(state, wallClock),
    spending: {
      everybody: budgets.default,
      unknownPrice: budgets.unknownPrice ?? 'refuse',
      unknownAnswerTokens: budgets.unknownAnswerTokens ?? 16_384,
    },
    responses: {
      store: responseCache.store ?? defaultCache(responseCache, { state, shared, environment }),
      policy: { enabled: responseCache.enabled ?? false, ttlSeconds: responseCache.ttlSeconds ?? 300 },
      maxEntryBytes: responseCache.maxEntryBytes ?? 1_000_000,
    },
    keeper: budgets.keeper ?? stateBudgets(state, { holdMs: budgets.holdMs ?? 900_000, wallClock }),
  };
}

/** What limits are kept with. */
export interface LimitServices {
  readonly state: StateStore;
  /** True when instances may share the state. */
  readonly shared: boolean;
  readonly environment: Environment;
}

function defaultCache(
  { maxBytes = 64_000_000 }: ResponseCacheOptions,
  { state, shared, environment }: LimitServices,
): ResponseCacheStore {
  return shared ? stateResponseCache(state) : memoryResponseCache(maxBytes, environment.now);
}

/** What is wrong between options; each by itself is checked by its kind. */
export function* limitsProblems(cache: ResponseCacheOptions = {}, shared = false): Generator<ConfigProblem> {
  if (cache.maxBytes !== undefined && (shared || cache.store !== undefined)) {
    yield {
      path: 'responseCache.maxBytes',
      problem: 'bounds the memory of this process, but answers are kept elsewhere',
    };
  }
}
