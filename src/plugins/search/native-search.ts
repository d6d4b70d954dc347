import type { Endpoint } from '../../catalog/endpoint.ts';
import type { JsonObject } from '../../protocol/json.ts';
import type { SearchContextSize, UserLocation } from '../../protocol/web-options.ts';
import { isOpen } from '../domains/domain-filter.ts';
import type { DomainRule, DomainFilter } from '../../contracts/search-engine.ts';

/** What a request says about a search that the provider makes itself. */
export interface NativeSearchWish {
  readonly domains: DomainFilter;
  readonly contextSize?: SearchContextSize | undefined;
  readonly location?: UserLocation | undefined;
  /** Searches that the provider may make. */
  readonly maxUses?: number | undefined;
}

/** What else counts of a request. */
export interface SearchSituation {
  /** Functions that the model gets besides. */
  readonly tools: readonly unknown[];
}

/**
 * True for an endpoint whose provider searches by itself: one that declares `web_search_options`, or that declares
 * nothing and belongs to a provider with a search for all its models.
 */
export function searchesItself({ parameters, unknownParameters, nativeSearch }: Endpoint): boolean {
  const declared = parameters !== undefined && unknownParameters?.has('web_search_options') !== true;
  return declared ? parameters.has('web_search_options') : nativeSearch !== undefined;
}

/** True for an endpoint whose own search can do what a request wants. Few know domain filters, none in all forms. */
export function canSearchItself(
  endpoint: Endpoint,
  { domains }: NativeSearchWish,
  { tools }: SearchSituation,
): boolean {
  if (!searchesItself(endpoint) || (endpoint.nativeSearch === 'alone' && tools.length > 0)) return false;
  if (isOpen(domains)) return true;
  const { allowed, blocked } = domains;
  return (
    endpoint.nativeSearch === 'filtered' &&
    (allowed.length === 0 || blocked.length === 0) &&
    [...allowed, ...blocked].every(isPlain)
  );
}

/** The `web_search_options` that say what a request wants, in the words that codecs know. */
export function nativeOptions({ domains, contextSize, location, maxUses }: NativeSearchWish): JsonObject {
  const place = Object.entries(location ?? {}).filter(([name, value]) => name !== 'type' && value != null);
  return {
    ...(contextSize === undefined ? {} : { search_context_size: contextSize }),
    ...(place.length === 0
      ? {}
      : { user_location: { type: 'approximate', approximate: Object.fromEntries(place) as JsonObject } }),
    ...(domains.allowed.length === 0 ? {} : { allowed_domains: domains.allowed.map((rule) => rule.text) }),
    ...(domains.blocked.length === 0 ? {} : { blocked_domains: domains.blocked.map((rule) => rule.text) }),
    ...(maxUses === undefined ? {} : { max_uses: maxUses }),
  };
}

function isPlain({ text, port }: DomainRule): boolean {
  return !text.includes('*') && port === undefined;
}
