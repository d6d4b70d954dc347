/** The options of rate limits and budgets of accounts. */
import { option, type OptionsOf, type OptionTable, required } from './option.ts';

const limit = () => option.number({ says: 'must be a non-negative number', least: 0, isEndless: true });

/** What an account may use of models that cost nothing. */
export const FREE_MODEL_LIMITS = {
  /** Requests in any minute. Default: no limit. */
  requestsPerMinute: limit(),
  /** Requests per calendar day, UTC. Default: no limit. */
  requestsPerDay: limit(),
} satisfies OptionTable;

/** What an account may use of models that cost nothing. The original service allows 20 per minute and 50 per day. */
export interface FreeModelLimits extends OptionsOf<typeof FREE_MODEL_LIMITS> {}

/** What an account may use in a minute. What is left out, or `Infinity`, is not limited. */
export const RATE_LIMITS = {
  /** Requests in any minute, batches' included. 0 turns all away. Default: no limit. */
  requestsPerMinute: limit(),
  /**
   * Tokens per minute, prompt and answer together. A request takes an estimate first; what it really used takes its
   * place when it is over. Default: no limit.
   */
  tokensPerMinute: limit(),
  /** Limits of the requests for models that cost nothing, `:free` and `router/free` (gaps 7.6). Default: no limits. */
  freeModels: option.object<FreeModelLimits>(FREE_MODEL_LIMITS),
} satisfies OptionTable;

/** What an account may use in a minute. What is left out, or `Infinity`, is not limited. */
export interface RateLimits extends OptionsOf<typeof RATE_LIMITS> {}

/** Limits of values of requests, beside those of their accounts. */
export const TAGGED_RATE_LIMITS = {
  /**
   * By a key of the request's `metadata`: what each of its values may use in a minute, within its account. Requests
   * without the key are not held to it. Default: none.
   */
  tags: option.record(option.object<RateLimits>(RATE_LIMITS)),
  /** What each `session_id` may use in a minute, within its account. Default: no limit. */
  session: option.object<RateLimits>(RATE_LIMITS),
} satisfies OptionTable;

/** Limits of values of requests, beside those of their accounts. */
export interface TaggedRateLimits extends OptionsOf<typeof TAGGED_RATE_LIMITS> {}

/** How long a budget lasts before it begins anew, by the calendar and UTC. Weeks begin on Monday. */
export type BudgetPeriod = (typeof BUDGET_PERIODS)[number];

/** All periods. `total` never begins anew. */
export const BUDGET_PERIODS = ['day', 'week', 'month', 'total'] as const;

/** In nano-dollars still a whole number that is exact. */
const MOST_USD = 9_000_000;

/** What may be spent. */
export const BUDGET = {
  /** What may be spent until the period ends. */
  limitUsd: required(
    option.number(
      { says: `must be US dollars from 0 to ${MOST_USD}`, least: 0, most: MOST_USD },
      { unit: 'US dollars' },
    ),
  ),
  /** After which time it begins anew, by the calendar and UTC; `total` never does. Default `total`. */
  period: option.enum(BUDGET_PERIODS, { default: 'total' }),
} satisfies OptionTable;

/** What may be spent. */
export interface Budget extends OptionsOf<typeof BUDGET> {}

/** Budgets of values of requests, beside those of their accounts and API keys. */
export const TAGGED_BUDGETS = {
  /**
   * By a key of the request's `metadata`: what may be spent by each of its values, within its account. Requests without
   * the key are not held to it. Default: none.
   */
  tags: option.record(option.object<Budget>(BUDGET)),
  /** What may be spent by each `session_id`, within its account. Default: no budget. */
  session: option.object<Budget>(BUDGET),
} satisfies OptionTable;

/** Budgets of values of requests, beside those of their accounts and API keys. */
export interface TaggedBudgets extends OptionsOf<typeof TAGGED_BUDGETS> {}
