/** Brave Search as a search engine. */
import type { JsonObject } from '../../../protocol/json.ts';
import type { DomainRule, DomainFilter, SearchEngine } from '../../../contracts/plugin-services.ts';

import { JsonService } from '../json-service.ts';
import {
  checkKeyedEngine,
  EXCERPT_GAP,
  type KeyedSearchEngineOptions,
  resultOf,
  trimmedText,
  textsOf,
} from './engine-options.ts';
import { shortQuery } from './run-search.ts';
import * as read from '../../../platform/json.ts';

const MAX_RESULTS = 20;
const MAX_QUERY_LENGTH = 400;
const MAX_QUERY_WORDS = 50;
/** Rules that go into one request's address. With more, only the results are checked. */
const MAX_RULES = 30;

/**
 * Brave Search (`GET /res/v1/web/search`). Domain filters go along as inline goggles, as far as whole hosts say them;
 * paths are checked in the results. Has no modes. Costs 0.005 USD a search.
 *
 * @throws {@link ConfigError} when the key or the address cannot be right.
 */
export function brave(options: KeyedSearchEngineOptions): SearchEngine {
  const address = `${checkKeyedEngine('brave', options, 'https://api.search.brave.com')}/res/v1/web/search`;
  const service = new JsonService({ ...options, name: 'The search engine brave' });
  return {
    id: 'brave',
    async search({ query, maxResults, domains, location, signal }) {
      const url = new URL(address);
      url.searchParams.set('q', shortQuery(query, MAX_QUERY_LENGTH, MAX_QUERY_WORDS));
      // What we take away ourselves must not be missing in the end.
      url.searchParams.set('count', String(needsChecking(domains) ? MAX_RESULTS : Math.min(maxResults, MAX_RESULTS)));
      url.searchParams.set('result_filter', 'web');
      url.searchParams.set('text_decorations', 'false');
      const { country } = location ?? {};
      if (country != null && /^[a-z]{2}$/i.test(country)) url.searchParams.set('country', country.toUpperCase());
      const goggles = gogglesOf(domains);
      if (goggles.length > 0) url.searchParams.set('goggles', goggles.join('\n'));
      const answer = await service.call({ url, headers: ['x-subscription-token', options.apiKey], signal });
      const web = read.object(answer['web']);
      const results = read
        .objects(web['results'])
        .flatMap((one) => resultOf(one['url'], one['title'], content(one), one['page_age']));
      return { results, cost: options.pricePerSearch ?? 0.005 };
    },
    close: () => service.close(),
  };
}

function content(result: JsonObject): string {
  return [trimmedText(result['description']) ?? [], ...textsOf(result['extra_snippets'])].flat().join(EXCERPT_GAP);
}

/** Hosts that are wanted, with everything else thrown away, or hosts that are not wanted. */
function gogglesOf({ allowed, blocked }: DomainFilter): readonly string[] {
  const wanted = allowed.every(hasPlainHost) ? allowed.map(siteOf) : [];
  const unwanted = blocked.filter((rule) => hasPlainHost(rule) && rule.path === undefined).map(siteOf);
  if (wanted.length + unwanted.length > MAX_RULES) return [];
  return [
    ...(wanted.length > 0 ? ['$discard', ...wanted.map((site) => `$site=${site}`)] : []),
    ...unwanted.map((site) => `$discard,site=${site}`),
  ];
}

function needsChecking({ allowed, blocked }: DomainFilter): boolean {
  return [...allowed, ...blocked].some((rule) => rule.path !== undefined || rule.text.includes('*'));
}

function hasPlainHost(rule: DomainRule): boolean {
  return !siteOf(rule).includes('*') && rule.port === undefined;
}

function siteOf({ host }: DomainRule): string {
  return host.replace(/^\*\./, '');
}
