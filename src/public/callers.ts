/** Public surface: who calls, and what callers may use and spend. */
export { apiKeys } from '../auth/api-keys.ts';
export type { ApiKey } from '../auth/api-keys.ts';
export type { Authenticate, Credentials } from '../auth/authenticate.ts';
export type { Account, AccountProviderKey, RoutingPolicy, Scope } from '../core/account.ts';
export type { BudgetsOptions, RateLimitsOptions, ResponseCacheOptions } from '../config-limits.ts';
export type * from '../limits/budget-keeper.ts';
export type * from '../limits/rate-limiter.ts';
export type * from '../limits/response-cache.ts';
