import type { MaxPrice } from '../protocol/provider-preferences.ts';
import type { Budget } from './limits/budget.ts';
import type { RateLimits } from './limits/rate-limits.ts';
import type { PluginDefault } from '../contracts/plugin.ts';

/** What a key may do: call models, or read and change the account itself (contract: authentication). */
export type Scope = 'inference' | 'management';

/**
 * Routing rules of an account or of the whole router. A request can only tighten them: allow-lists intersect,
 * ignore-lists add up, and a data policy that is set here stays set.
 */
export interface RoutingPolicy {
  /** Providers that may be used at all. */
  readonly only?: readonly string[] | undefined;
  /** Providers that are never used. */
  readonly ignore?: readonly string[] | undefined;
  /** `deny`: no provider that stores prompts or trains on them. */
  readonly dataCollection?: 'allow' | 'deny' | undefined;
  /** True: only endpoints with zero data retention. */
  readonly zeroDataRetention?: boolean | undefined;
  /** True: only models whose author permits distillation. */
  readonly enforceDistillableText?: boolean | undefined;
  /** Highest prices; a request's own limit applies where it is lower. */
  readonly maxPrice?: MaxPrice | undefined;
}

/** A provider key that belongs to the account ("bring your own key"). */
export interface AccountProviderKey {
  readonly apiKey: string;
  /** True: use it only after the shared capacity failed. Default false: use it before everything else. */
  readonly fallback?: boolean | undefined;
}

/** Who is calling. Comes from `authenticate`, or is {@link ANONYMOUS} where no authentication is set up. */
export interface Account {
  /** Key of everything that is stored for this account. Never sent to a provider. */
  readonly id: string;
  /** Default: inference only. */
  readonly scopes?: readonly Scope[] | undefined;
  readonly policy?: RoutingPolicy | undefined;
  /** Model for requests that name none. */
  readonly defaultModel?: string | undefined;
  /** The account's own provider keys, by provider slug. */
  readonly providerKeys?: Readonly<Record<string, AccountProviderKey>> | undefined;
  /** Plugins that run for this account although its requests do not name them (gaps 5). */
  readonly pluginDefaults?: readonly PluginDefault[] | undefined;
  /** What the account may use in a minute, field by field before the limits for everybody. */
  readonly rateLimits?: RateLimits | undefined;
  /** What the account may spend, with all its keys. Default: the budget for everybody, if there is one. */
  readonly budget?: Budget | undefined;
  /** Which of the account's keys this is. Never the key itself. */
  readonly keyId?: string | undefined;
  /** What may be spent with this key, beside the budget of the account. Needs {@link Account.keyId}. */
  readonly keyBudget?: Budget | undefined;
}

/** The caller where no authentication is configured. */
export const ANONYMOUS: Account = { id: 'anonymous', scopes: ['inference', 'management'] };

/** True when the account's key may do this. */
export function hasScope(account: Account, scope: Scope): boolean {
  return (account.scopes ?? ['inference']).includes(scope);
}
