import type { Endpoint } from './endpoint.ts';
import type { BilledTier, Price } from './price.ts';

/**
 * Tells the endpoints of a model what their provider's other tiers cost, where those are endpoints too: a provider may
 * serve a request in another tier than it was asked for, and bills that one (gaps 2.7).
 */
export function linkTierPrices(endpoints: readonly Endpoint[]): readonly Endpoint[] {
  if (endpoints.every(({ tier }) => tier === 'default')) return endpoints;
  return endpoints.map((endpoint) => {
    const { price } = endpoint;
    const others = price === undefined ? [] : endpoints.filter((other) => isOtherTier(endpoint, other));
    if (price === undefined || others.length === 0) return endpoint;
    const serviceTiers: Partial<Record<BilledTier, number | Price>> = { ...price.serviceTiers };
    for (const { tier, price: own } of others) if (own !== undefined) serviceTiers[tier] ??= own;
    return { ...endpoint, price: { ...price, serviceTiers } };
  });
}

function isOtherTier(endpoint: Endpoint, other: Endpoint): boolean {
  const { provider, region, tier } = other;
  return provider === endpoint.provider && region === endpoint.region && tier !== endpoint.tier;
}
