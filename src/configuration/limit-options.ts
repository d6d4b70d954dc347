import type { BudgetsOptions, RateLimitsOptions, ResponseCacheOptions } from '../config-limits.ts';
import { RATE_LIMITS, budget } from '../core/options/limit-options.ts';
import { type OptionKind, flag, group, kind, oneOf, wholeNumber, withFunctions } from '../core/options/option-kinds.ts';

const some = kind('a number of at least 1', (value) => Number.isFinite(value) && Number(value) >= 1);

/** Limits of the rate for everybody, and who counts. */
export const rateLimits: OptionKind = group<RateLimitsOptions>({
  ...RATE_LIMITS,
  limiter: withFunctions('a limiter with take and settle', 'take', 'settle'),
});

/** What budgets are told. */
export const budgets: OptionKind = group<BudgetsOptions>({
  default: budget,
  unknownPrice: oneOf<NonNullable<BudgetsOptions['unknownPrice']>>({ refuse: true, allow: true }),
  unknownAnswerTokens: wholeNumber(0),
  holdMs: kind('a number of at least 1,000 milliseconds', (value) => Number.isFinite(value) && Number(value) >= 1_000),
  keeper: withFunctions('a keeper with reserve and settle', 'reserve', 'settle'),
});

/** What the response cache is told. */
export const responseCache: OptionKind = group<ResponseCacheOptions>({
  enabled: flag,
  ttlSeconds: some,
  maxEntryBytes: some,
  maxBytes: some,
  store: withFunctions('a store of answers with get and set', 'get', 'set'),
});
