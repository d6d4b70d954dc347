import type { RoutingPolicy } from '../../contracts/account.ts';
import type { Preferences } from '../../contracts/request.ts';

/**
 * The rules of a request that hold for calls that its plugins and tools make: who may see its content, what may be paid
 * for it, and whether a refusal may be routed around. Wishes about order and speed are for the request itself.
 */
export function inheritedPolicies(preferences: Preferences): readonly RoutingPolicy[] {
  const { only, ignore, denyDataCollection, zeroDataRetention, distillableOnly, maxPrice, returnRefusals } =
    preferences;
  const { regions = [] } = preferences;
  const rules: RoutingPolicy = {
    ignore,
    dataCollection: denyDataCollection ? 'deny' : 'allow',
    zeroDataRetention,
    enforceDistillableText: distillableOnly,
    maxPrice,
    refusals: returnRefusals ? 'return' : 'fallback',
  };
  return [rules, ...only.map((list) => ({ only: list })), ...regions.map((list) => ({ regions: list }))];
}
