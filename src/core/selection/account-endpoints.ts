import type { Endpoint } from '../../catalog/endpoint.ts';
import type { Account } from '../account.ts';

/**
 * Adds, for every provider that the account has its own key for, a second endpoint that uses this key. Its health
 * and cooldown are its own: what happens to one account's key says nothing about another's.
 */
export function accountEndpoints(endpoints: readonly Endpoint[], account: Account): readonly Endpoint[] {
  const keys = account.providerKeys;
  if (keys === undefined) return endpoints;
  return endpoints.flatMap((endpoint) => {
    const key = Object.hasOwn(keys, endpoint.provider) ? keys[endpoint.provider] : undefined;
    if (key === undefined) return [endpoint];
    const own: Endpoint = {
      ...endpoint,
      id: `${endpoint.id}@${account.id}`,
      byok: { account: account.id, fallback: key.fallback ?? false },
    };
    return [own, endpoint];
  });
}
