import {
  BUDGETS,
  type BudgetsOptions,
  type RateLimitsOptions,
  RESPONSE_CACHE,
  type ResponseCacheOptions,
} from './limits.ts';
import { fill } from './option.ts';
import type { RateLimits } from '../core/limits/rate-limits.ts';
import type { ConfigProblem } from '../protocol/router-error.ts';
import type { BudgetKeeper } from '../contracts/budget-keeper.ts';
import { memoryResponseCache, stateResponseCache } from '../storage/response-caches.ts';
import type { RateLimiter } from '../contracts/rate-limiter.ts';
import { stateBudgets } from '../storage/state-budgets.ts';
import { stateRateLimiter } from '../storage/state-rate-limiter.ts';
import type { Environment } from '../platform/environment.ts';
import type { ResponsesOptions } from '../runtime/limits/responses.ts';
import type { SpendingPolicy } from '../runtime/limits/spending.ts';
import type { StateStore } from '../contracts/state-store.ts';

export type { BudgetsOptions, RateLimitsOptions, ResponseCacheOptions } from './limits.ts';

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
  const { default: everybody, unknownPrice, unknownAnswerTokens, holdMs, keeper } = fill(BUDGETS, budgets);
  const { enabled, ttlSeconds, maxEntryBytes, maxBytes, store } = fill(RESPONSE_CACHE, responseCache);
  const { now, wallClock } = environment;
  return {
    rateLimits: limits,
    limiter: limiter ?? stateRateLimiter(state, wallClock),
    spending: { everybody, unknownPrice, unknownAnswerTokens },
    responses: {
      store: store ?? (shared ? stateResponseCache(state) : memoryResponseCache(maxBytes, now)),
      policy: { enabled, ttlSeconds },
      maxEntryBytes,
    },
    keeper: keeper ?? stateBudgets(state, { holdMs, wallClock }),
  };
}

/** What limits are kept with. */
export interface LimitServices {
  readonly state: StateStore;
  /** True when instances may share the state. */
  readonly shared: boolean;
  readonly environment: Environment;
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
