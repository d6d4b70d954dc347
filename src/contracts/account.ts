/** The account of a request: what its key may do. */
import type { Account, Scope } from '../options/accounts.ts';

export type {
  Account,
  AccountProviderKey,
  ProviderKey,
  ProviderKeyFunction,
  ProviderToken,
  RoutingPolicy,
  Scope,
} from '../options/accounts.ts';

/** The caller where no authentication is configured: a program that calls in-process, or a client on this machine. */
export const ANONYMOUS: Account = { id: 'anonymous', scopes: ['inference', 'management', 'operator'] };

/** A client without credentials that may be anywhere: the same account, without its view of the router. */
export const ANONYMOUS_ANYWHERE: Account = { id: ANONYMOUS.id, scopes: ['inference', 'management'] };

/** True for a caller without credentials. */
export function isAnonymous(account: Account): boolean {
  return account === ANONYMOUS || account === ANONYMOUS_ANYWHERE;
}

/** True when the account's key may do this. */
export function hasScope(account: Account, scope: Scope): boolean {
  return (account.scopes ?? ['inference']).includes(scope);
}
