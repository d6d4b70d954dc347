import type { Endpoint } from '../../catalog/endpoint.ts';
import type { ModelTarget, RoutedRequest } from '../normalize/normalized-request.ts';
import { accountEndpoints } from './account-endpoints.ts';
import { firstExclusion } from './filters.ts';
import type { Rejection } from './route-plan.ts';
import { preferCapable } from './soft-filters.ts';
import type { SelectionPolicy } from './world.ts';

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
