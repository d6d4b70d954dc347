/** Public surface: the router itself, its configuration and its errors. */
export type {
  AliasOf,
  CallOptions,
  ModelOf,
  OpenedChat,
  RequestModel,
  Router,
  RouterInternals,
  VectorOf,
} from '../router/router.ts';
export type { ForgottenRefusals } from '../runtime/endpoints/known-refusals.ts';
export type { ConfigurationPatch, ConfigurationVersion, CurrentConfiguration } from '../config/change-config.ts';
export type { PromptEstimate } from '../formats/api-format.ts';
export type { TokenCount } from '../runtime/chat/count-tokens.ts';
export type { Brand, Cors, KeepAlive, RouterConfig } from '../config/router.ts';
export type { NetworkOptions, RouterNetworkOptions } from '../options/http.ts';
export type {
  ExplainedPlugin,
  ExplainedRejection,
  ExplainedServerTool,
  ExplainedStep,
  Explanation,
} from '../core/selection/explain.ts';
export { ConfigError, RouterError } from '../protocol/router-error.ts';
export type { ConfigProblem, RouterErrorOptions } from '../protocol/router-error.ts';

/** Public surface: who calls, and what callers may use and spend. */
export { apiKeys } from '../http/api-keys.ts';
export type { ApiKey } from '../http/api-keys.ts';
export { storedApiKeys } from '../http/stored-api-keys.ts';
export type { StoredApiKeys, StoredApiKeysOptions } from '../http/stored-api-keys.ts';
export { memoryKeys } from '../storage/memory.ts';
export type { CreatedKey, KeyChanges, KeyManagement, KeyStore, NewKey, StoredKey } from '../contracts/key-store.ts';
export type { Authenticate, Credentials } from '../contracts/authenticate.ts';
export type { Account, AccountProviderKey, RoutingPolicy, Scope } from '../contracts/account.ts';
export type { BudgetsOptions, RateLimitsOptions, ResponseCacheOptions } from '../config/limits.ts';
export type {
  BrokenRateLimit,
  Budget,
  BudgetClaim,
  BudgetDecision,
  BudgetHold,
  BudgetKeeper,
  BudgetPeriod,
  BudgetTicket,
  FreeModelLimits,
  HeldBudget,
  LimitedTag,
  RateClaim,
  RateDecision,
  RateLimitName,
  RateLimiter,
  RateLimits,
  RateTicket,
  ShortBudget,
} from '../contracts/account-limits.ts';
export type { CacheReport, RequestedCache, ResponseCacheStore } from '../contracts/state-store.ts';

/** Public surface: streams that can be resumed. */
export type { StreamsOptions } from '../config/streams.ts';
export type { KeepOptions, ResumeOptions } from '../router/streams.ts';

/** Public surface: what is kept of requests. */
export type * from '../contracts/ledger.ts';
export type { LedgerOptions } from '../config/ledger.ts';
export type { ReadableLedger } from '../runtime/ledger/request-ledger.ts';
export type { Alias, Mirror, Mirrored, Rule, RuleCondition, Split, SplitShare } from '../options/rules.ts';
export type { AppliedConfiguration, MirrorChoice, SplitChoice } from '../contracts/request.ts';
export type { ResolvedConfig } from '../config/resolved-config.ts';
