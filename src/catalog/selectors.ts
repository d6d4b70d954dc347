/** Selectors: how preferences name endpoints and providers. */
import type { Endpoint } from './endpoint.ts';

/**
 * Tells whether a name from `order`, `only` or `ignore` means an endpoint (gaps 3.1).
 * A provider's slug or display name means all its endpoints except those of a service tier; `provider/ending` means
 * exactly the endpoint with that tag. Case does not matter.
 */
function selectsEndpoint(selector: string, endpoint: Endpoint): boolean {
  if (namesEndpoint(selector, endpoint)) return true;
  return endpoint.tier === 'default' && namesProvider(selector, endpoint);
}

/** True when a selector is the slug of exactly this endpoint, as in `openai/priority`, with or without its key. */
export function namesEndpoint(selector: string, { tag, key }: Endpoint): boolean {
  const wanted = selector.toLowerCase();
  return wanted === tag.toLowerCase() || (key !== undefined && `${wanted}/${key}` === tag.toLowerCase());
}

/** True when a selector means the endpoint's provider as a whole, by slug or by display name. */
export function namesProvider(selector: string, { provider, providerName }: Endpoint): boolean {
  const wanted = selector.toLowerCase();
  return wanted === provider.toLowerCase() || wanted === providerName.toLowerCase();
}

/** Position of the first selector that means the endpoint, or -1. */
export function selectorIndex(selectors: readonly string[], endpoint: Endpoint): number {
  for (let index = 0; index < selectors.length; index += 1) {
    const selector = selectors[index];
    if (selector !== undefined && selectsEndpoint(selector, endpoint)) return index;
  }
  return -1;
}
