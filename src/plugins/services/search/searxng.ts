/** SearXNG as a search engine. */
import { checkShape } from '../../../platform/check-options.ts';
import type { DomainFilter, SearchEngine } from '../../../contracts/plugin-services.ts';

import { JsonService } from '../json-service.ts';
import { resultOf, SEARCH_ENGINE_OPTIONS, type SearchEngineOptions, trimmedText } from './engine-options.ts';
import * as read from '../../../platform/json.ts';

/** Options of {@link searxng}. */
export interface SearxngOptions extends SearchEngineOptions {
  /** Address of your instance, with the path that it is mounted under, if any. */
  readonly baseURL: string;
}

/** Rules that fit into a query; with more, only the results are checked. */
const MAX_RULES = 8;

/**
 * SearXNG, which you run yourself: no key, no price (`GET /search?format=json`). Its settings must allow the format
 * `json`, or it answers 403. Domain filters go along as `site:` words, which not all engines behind it understand, so
 * results are checked again in any case. Has no modes.
 *
 * @throws {@link ConfigError} when the address cannot be right.
 */
export function searxng(options: SearxngOptions): SearchEngine {
  checkShape(SEARCH_ENGINE_OPTIONS, options, 'searxng', ['baseURL']);
  const address = `${options.baseURL.replace(/\/+$/, '')}/search`;
  const service = new JsonService({ ...options, name: 'The search engine searxng' });
  return {
    id: 'searxng',
    async search({ query, domains, signal }) {
      const url = new URL(address);
      url.searchParams.set('q', [query, ...siteWords(domains)].join(' '));
      url.searchParams.set('format', 'json');
      const answer = await service.call({ url, headers: [], signal });
      const results = read
        .objects(answer['results'])
        .flatMap((one) => resultOf(one['url'], one['title'], trimmedText(one['content']) ?? '', one['publishedDate']));
      return { results, cost: options.pricePerSearch ?? 0 };
    },
    close: () => service.close(),
  };
}

function siteWords({ allowed, blocked }: DomainFilter): readonly string[] {
  const wanted = allowed.map(({ text }) => text.replace(/^\*\./, ''));
  const unwanted = blocked.map(({ text }) => text).filter((text) => !text.includes('*'));
  if (wanted.length + unwanted.length > MAX_RULES || wanted.some((text) => text.includes('*'))) return [];
  const sites = wanted.map((text) => `site:${text}`);
  return [...(sites.length > 1 ? [`(${sites.join(' OR ')})`] : sites), ...unwanted.map((text) => `-site:${text}`)];
}
