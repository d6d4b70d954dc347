/** The options of rate limits, budgets and the response cache: defaults, and what is wrong between them. */
import type { BudgetKeeper, RateLimiter } from '../contracts/account-limits.ts';
import type { ResponseCacheStore, StateStore } from '../contracts/state-store.ts';
import { computed, fill, option, type OptionsOf, type OptionTable } from '../options/option.ts';
import {
  type Budget,
  BUDGET,
  RATE_LIMITS,
  type RateLimits,
  TAGGED_BUDGETS,
  TAGGED_RATE_LIMITS,
  type TaggedRateLimits,
} from '../options/spending.ts';
import type { ConfigProblem } from '../protocol/router-error.ts';
import { memoryResponseCache, stateResponseCache } from '../storage/response-caches.ts';
import { stateBudgets, stateRateLimiter } from '../storage/state-limits.ts';
import type { Environment } from '../platform/environment.ts';
import type { ResponsesOptions } from '../runtime/limits/responses.ts';
import type { SpendingPolicy } from '../runtime/limits/spending.ts';

/** What accounts may use in a minute, and what counts it. Accounts bring theirs as `rateLimits`. */
export const RATE_LIMITS_OPTIONS = {
  /** For accounts, field by field where they have no limits of their own. Default: no limits. */
  default: option.object<RateLimits>(RATE_LIMITS),
  ...TAGGED_RATE_LIMITS,
  /** What counts. Default: counters in `state`. */
  limiter: computed(option.contract<RateLimiter>('RateLimiter', 'a limiter with take and settle', ['take', 'settle'])),
} satisfies OptionTable;

/** What accounts may use in a minute, and what counts it. Accounts bring theirs as `rateLimits`. */
export interface RateLimitsOptions extends TaggedRateLimits, OptionsOf<typeof RATE_LIMITS_OPTIONS> {}

/** How budgets are kept. Accounts bring theirs as `budget` and `keyBudget`. */
export const BUDGETS = {
  /** For accounts that have no budget of their own. Default: none. */
  default: option.object<Budget>(BUDGET),
  ...TAGGED_BUDGETS,
  /**
   * What becomes of calls whose price is unknown, for accounts that have a budget: `refuse` answers with 402, `allow`
   * reserves nothing and counts what the provider reports. Default `refuse`.
   */
  unknownPrice: option.enum(['refuse', 'allow'], { default: 'refuse' }),
  /** What reserves and settles. Default: counters in `state`. */
  keeper: computed(
    option.contract<BudgetKeeper>('BudgetKeeper', 'a keeper with reserve and settle', ['reserve', 'settle']),
  ),
} satisfies OptionTable;

/** How budgets are kept. Accounts bring theirs as `budget` and `keyBudget`. */
export interface BudgetsOptions extends OptionsOf<typeof BUDGETS> {}

/** Milliseconds after which what a dead process had reserved is free again: longer than requests take by default. */
const HOLD_MS = 900_000;

/** Bytes of one response; larger ones are not kept: they are images and audio, which would push out all others. */
const MAX_ENTRY_BYTES = 1_000_000;

const positive = { says: 'must be a number of at least 1', least: 1 };

/** How responses are kept and given again (gaps 9.4). */
export const RESPONSE_CACHE = {
  /** True: requests use the cache unless they say no. False: those that request it do. Default false. */
  enabled: option.boolean({ default: false }),
  /** Time that a response is kept, unless a request says otherwise. Default 300. */
  ttlSeconds: option.number(positive, { default: 300, unit: 'seconds' }),
  /** Bytes of all responses in the memory of this process. Only without `state` and `store`. Default 64,000,000. */
  maxBytes: option.number(positive, { default: 64_000_000, unit: 'bytes' }),
  /** Where responses are kept. Default: in `state` where it is given, so that instances share them; else in memory. */
  store: computed(
    option.contract<ResponseCacheStore>('ResponseCacheStore', 'a store of answers with get and set', ['get', 'set']),
  ),
} satisfies OptionTable;

/** How responses are kept and given again (gaps 9.4). */
export interface ResponseCacheOptions extends OptionsOf<typeof RESPONSE_CACHE> {}

/** Limits and budgets with everything filled in. */
export interface ResolvedLimits {
  readonly rateLimits: RateLimits & TaggedRateLimits;
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
  const { limiter, default: unlessOwn, ...tagged } = rateLimits;
  const { default: everybody, keeper, ...spending } = fill(BUDGETS, budgets);
  const { enabled, ttlSeconds, maxBytes, store } = fill(RESPONSE_CACHE, responseCache);
  const { now, wallClock } = environment;
  return {
    rateLimits: { ...unlessOwn, ...tagged },
    limiter: limiter ?? stateRateLimiter(state, wallClock),
    spending: { everybody, ...spending },
    responses: {
      store: store ?? (shared ? stateResponseCache(state) : memoryResponseCache(maxBytes, now)),
      policy: { enabled, ttlSeconds },
      maxEntryBytes: MAX_ENTRY_BYTES,
    },
    keeper: keeper ?? stateBudgets(state, { holdMs: HOLD_MS, wallClock }),
  };
}

/** What limits are kept with. */
interface LimitServices {
  readonly state: StateStore;
  /** True when instances may share the state. */
  readonly shared: boolean;
  readonly environment: Environment;
}

/** What is wrong between options; each by itself is checked by its kind. */
export function* limitsProblems(
  cache: ResponseCacheOptions = {},
  { shared = false }: { readonly shared?: boolean | undefined } = {},
): Generator<ConfigProblem> {
  if (cache.maxBytes !== undefined && (shared || cache.store !== undefined)) {
    yield {
      path: 'responseCache.maxBytes',
      problem: 'limits the memory of this process, but answers are kept elsewhere',
    };
  }
}
