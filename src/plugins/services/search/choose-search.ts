/** Chooses the search engine of a request, or the provider's own search. */
import type { Endpoint } from '../../../catalog/endpoint.ts';
import type { DomainFilter, DomainRule, SearchEngine } from '../../../contracts/plugin-services.ts';
import type { ModelTarget, NormalizedRequest } from '../../../contracts/request.ts';
import { readEnvironment } from '../../../platform/environment.ts';
import { echo } from '../../../protocol/fault.ts';
import type { JsonObject } from '../../../protocol/json.ts';
import { type RouterError, errorOf } from '../../../protocol/router-error.ts';
import type { SearchContextSize, UserLocation } from '../../../protocol/web-options.ts';
import { isOpen } from '../domain-filter.ts';
import { brave } from './brave.ts';
import { exa } from './exa.ts';
import { searxng } from './searxng.ts';
import { tavily } from './tavily.ts';

/** Environment variables that configure search engines, in the order in which the engines are preferred. */
const SEARCH_VARIABLES = ['EXA_API_KEY', 'TAVILY_API_KEY', 'BRAVE_API_KEY', 'SEARXNG_URL'] as const;

/** The search engines whose keys or addresses are in the environment: Exa, Tavily, Brave, SearXNG, in this order. */
export function searchEnginesFromEnvironment(): readonly SearchEngine[] {
  const [exaKey, tavilyKey, braveKey, searxngURL] = SEARCH_VARIABLES.map(readEnvironment);
  return [
    ...(exaKey === undefined ? [] : [exa({ apiKey: exaKey })]),
    ...(tavilyKey === undefined ? [] : [tavily({ apiKey: tavilyKey })]),
    ...(braveKey === undefined ? [] : [brave({ apiKey: braveKey })]),
    ...(searxngURL === undefined ? [] : [searxng({ baseURL: searxngURL })]),
  ];
}

/** Who searches. */
type SearchChoice =
  /** The provider that answers. */
  | { readonly type: 'native' }
  /** We, with the first of these that answers. */
  | { readonly type: 'engines'; readonly engines: readonly SearchEngine[] };

/** What the choice depends on. */
interface RequestedSearch extends RequestedNativeSearch {
  /** Id of an engine, `native`, or `auto`, which is the default. */
  readonly engine?: string | undefined;
}

/**
 * Chooses who searches (gaps 2.2, 5.4). An engine that is named is used; `native` is the provider's own search; and
 * `auto` is that where all endpoints of all models have it, else the router's engines.
 *
 * @param insist - Whether `native` is meant for every endpoint, so that those without a search are left out.
 * @returns Undefined when nobody can.
 */
export function chooseSearch(
  request: Pick<NormalizedRequest, 'targets' | 'tools'>,
  requestedOptions: RequestedSearch,
  engines: readonly SearchEngine[],
  { insist }: { readonly insist: boolean },
): SearchChoice | undefined {
  const { engine = 'auto' } = requestedOptions;
  const named = engines.find(({ id }) => id === engine);
  if (named !== undefined) return { type: 'engines', engines: [named] };
  if (engine === 'native' && insist) return { type: 'native' };
  const { targets } = request;
  const endpoints = targets.flatMap((target) => target.endpoints);
  const able = endpoints.filter((endpoint) => canSearchItself(endpoint, requestedOptions, request)).length;
  // A router model has no endpoints yet; which it will get is unknown here.
  if (able > 0 && able === endpoints.length && targets.every((target) => target.endpoints.length > 0)) {
    return { type: 'native' };
  }
  if (engines.length > 0) return { type: 'engines', engines };
  return insist && (able > 0 || targets.some((target) => target.endpoints.length === 0))
    ? { type: 'native' }
    : undefined;
}

/** What is said of `x_search` (gaps 2.2, 5.4), which only means something to an engine that searches X. */
export const X_SEARCH_NOTE =
  'x_search was not applied: no search engine of this router, and no provider on its wires, searches X';

/** The endpoints that can search by themselves as a request wants it, target by target. */
export function withNativeSearch(
  request: Pick<NormalizedRequest, 'targets' | 'tools'>,
  requestedOptions: RequestedSearch,
): readonly ModelTarget[] {
  const { targets } = request;
  const able = (endpoint: ModelTarget['endpoints'][number]): boolean =>
    canSearchItself(endpoint, requestedOptions, request);
  const kept = targets
    .map((target) => ({ ...target, endpoints: target.endpoints.filter(able) }))
    .filter((target) => target.endpoints.length > 0);
  if (kept.length > 0) return kept;
  if (!targets.some((target) => target.endpoints.some(searchesItself))) throw nobodySearches(targets);
  throw errorOf(
    400,
    "The provider's own search cannot do this: it takes no such domain filters, or no functions beside it. Leave them " +
      'out, or choose another engine than native',
  );
}

/** The error of a request for a search that nobody can make. */
export function nobodySearches(targets: readonly ModelTarget[]): RouterError {
  const models = targets.map(({ model }) => model).join(', ');
  return errorOf(
    404,
    `No endpoints found that support web search for ${models}, and this router has no search engine. ${HOW_TO_CONFIGURE}`,
  );
}

const HOW_TO_CONFIGURE = `Set one of ${SEARCH_VARIABLES.join(', ')} in the environment, or pass engines to web() and webSearchTool()`;

/** What is wrong with the name of an engine; undefined when nothing is. */
export function problemOfEngine(engine: string | undefined, engines: readonly SearchEngine[]): string | undefined {
  const known = ['auto', 'native', ...engines.map(({ id }) => id)];
  if (engine === undefined || known.includes(engine)) return undefined;
  return `must be one of the engines of this router (${known.join(', ')}), not ${echo(engine)}. ${HOW_TO_CONFIGURE}`;
}

/** What a request says about a search that the provider makes itself. */
interface RequestedNativeSearch {
  readonly domains: DomainFilter;
  readonly contextSize?: SearchContextSize | undefined;
  readonly location?: UserLocation | undefined;
  /** Searches that the provider may make. */
  readonly maxUses?: number | undefined;
}

/** What else counts of a request. */
interface SearchSituation {
  /** Functions that the model gets besides. */
  readonly tools: readonly unknown[];
}

/**
 * True for an endpoint whose provider searches by itself: one that declares `web_search_options`, or that declares
 * nothing and belongs to a provider with a search for all its models.
 */
function searchesItself({ parameters, unknownParameters, nativeSearch }: Endpoint): boolean {
  const declared = parameters !== undefined && unknownParameters?.has('web_search_options') !== true;
  return declared ? parameters.has('web_search_options') : nativeSearch !== undefined;
}

/** True for an endpoint whose own search can do what a request wants. Few know domain filters, none in all forms. */
function canSearchItself(endpoint: Endpoint, { domains }: RequestedNativeSearch, { tools }: SearchSituation): boolean {
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
export function nativeOptions({ domains, contextSize, location, maxUses }: RequestedNativeSearch): JsonObject {
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
