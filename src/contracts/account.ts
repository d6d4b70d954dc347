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

/** The caller where no authentication is configured. */
export const ANONYMOUS: Account = { id: 'anonymous', scopes: ['inference', 'management'] };

/** True when the account's key may do this. */
export function hasScope(account: Account, scope: Scope): boolean {
  return (account.scopes ?? ['inference']).includes(scope);
}
