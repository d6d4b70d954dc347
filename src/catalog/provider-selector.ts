import type { Endpoint } from './endpoint.ts';

/**
 * Tells whether a name from `order`, `only` or `ignore` means an endpoint (gaps 3.1).
 * A provider's slug or display name means all its endpoints except those of a service tier; `provider/ending` means
 * exactly the endpoint with that tag. Case does not matter.
 */
export function selectsEndpoint(selector: string, endpoint: Endpoint): boolean {
  const wanted = selector.toLowerCase();
  if (wanted === endpoint.tag) return true;
  if (endpoint.tier !== 'default') return false;
  return wanted === endpoint.provider || wanted === endpoint.providerName.toLowerCase();
}

/** Position of the first selector that means the endpoint, or -1. */
export function selectorIndex(selectors: readonly string[], endpoint: Endpoint): number {
  for (let index = 0; index < selectors.length; index += 1) {
    const selector = selectors[index];
    if (selector !== undefined && selectsEndpoint(selector, endpoint)) return index;
  }
  return -1;
}
