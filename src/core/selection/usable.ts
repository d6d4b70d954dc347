import type { Endpoint } from '../../catalog/endpoint.ts';
import type { ModelTarget, RoutedRequest } from '../normalize/normalized-request.ts';
import { firstExclusion, preferCapable } from './filters.ts';
import type { Rejection } from './route-plan.ts';
import type { SelectionPolicy } from './performance.ts';
import type { Account } from '../account.ts';

/** A model with those of its endpoints that a request may use; there is at least one. */
export interface UsableTarget {
  readonly target: ModelTarget;
  readonly endpoints: readonly Endpoint[];
}

/**
 * Leaves out every endpoint that breaks a hard filter of the request or lacks an ability that another one has
 * (gaps 3.4), notes why, and drops the models that have none left. The order stays.
 */
export function usableTargets(
  targets: readonly ModelTarget[],
  request: RoutedRequest,
  policy: SelectionPolicy,
  rejected: Rejection[],
): readonly UsableTarget[] {
  const passed = targets.map((target) =>
    accountEndpoints(target.endpoints, request.account).filter((endpoint) => {
      const exclusion = firstExclusion(endpoint, request, policy, target);
      if (exclusion !== undefined) rejected.push({ endpoint, ...exclusion });
      return exclusion === undefined;
    }),
  );
  const all = passed.flat();
  const capable = new Set(preferCapable(all, request, policy));
  for (const endpoint of all) {
    if (!capable.has(endpoint)) rejected.push({ endpoint, reason: 'response_format', detail: 'another has it' });
  }
  return targets.flatMap((target, index) => {
    const endpoints = (passed[index] ?? []).filter((endpoint) => capable.has(endpoint));
    return endpoints.length === 0 ? [] : [{ target, endpoints }];
  });
}

/**
 * Adds, for every provider that the account has its own key for, a second endpoint that uses this key. Its health
 * and cooldown are its own: what happens to one account's key says nothing about another's.
 */
function accountEndpoints(endpoints: readonly Endpoint[], account: Account): readonly Endpoint[] {
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
