import type { BudgetsOptions, RateLimitsOptions, ResponseCacheOptions } from '../config-limits.ts';
import type { Budget } from '../core/limits/budget.ts';
import type { FreeModelLimits } from '../core/limits/rate-limits.ts';
import { type OptionKind, anything, flag, group } from '../core/options/option-kinds.ts';

/** Names of limits; their values are checked by `limitsProblems`, for accounts as well. */
export const rateLimits: OptionKind = group<RateLimitsOptions>({
  requestsPerMinute: anything,
  tokensPerMinute: anything,
  freeModels: group<FreeModelLimits>({ requestsPerMinute: anything, requestsPerDay: anything }),
  limiter: anything,
});

/** Names of what budgets are told. */
export const budgets: OptionKind = group<BudgetsOptions>({
  default: group<Budget>({ limitUsd: anything, period: anything }),
  unknownPrice: anything,
  unknownAnswerTokens: anything,
  holdMs: anything,
  keeper: anything,
});

/** Names of what the response cache is told. */
export const responseCache: OptionKind = group<ResponseCacheOptions>({
  enabled: flag,
  ttlSeconds: anything,
  maxEntryBytes: anything,
  maxBytes: anything,
  store: anything,
});
