import type { Endpoint, EndpointTier } from '../catalog/endpoint.ts';
import type { RequestedTier } from '../core/normalize/normalized-request.ts';

/**
 * The service tier to ask a provider for (gaps 2.7). A tier endpoint asks for its own tier. A default endpoint asks for
 * the wanted one only where nobody declared tiers, so that the provider decides: where the tier has endpoints of its
 * own, the default ones are what a request falls back to, at their own price.
 *
 * @param undeclared - Whether the provider may know tiers that nobody declared.
 */
export function tierToAsk(
  { tier, declaredTiers }: Endpoint,
  wanted: RequestedTier | undefined,
  undeclared: boolean,
): RequestedTier | EndpointTier | undefined {
  if (tier !== 'default') return tier;
  const isElsewhere = wanted !== undefined && wanted !== 'scale' && declaredTiers?.has(wanted) === true;
  return undeclared && !(isElsewhere && wanted !== 'default') ? wanted : undefined;
}
