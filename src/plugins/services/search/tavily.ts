/** Tavily as a search engine. */
import type { SearchMode } from '../../../protocol/web-options.ts';
import type { SearchEngine } from '../../../contracts/plugin-services.ts';
import { JsonService } from '../json-service.ts';
import { checkKeyedEngine, type KeyedSearchEngineOptions, resultOf, trimmedText } from './engine-options.ts';
import { shortQuery } from './run-search.ts';
import * as read from '../../../platform/json.ts';

const MAX_RESULTS = 20;
const MAX_QUERY_LENGTH = 400;
/** Excerpts of one page that Tavily joins, by how much context is wanted. It gives several only in `advanced` depth. */
const CHUNKS = { low: 1, medium: 2, high: 3 } as const;
/** Tavily's depths by the mode that requires them. */
const DEPTHS: Readonly<Partial<Record<SearchMode, string>>> = {
  instant: 'ultra-fast',
  turbo: 'ultra-fast',
  fast: 'fast',
  basic: 'basic',
  advanced: 'advanced',
  'deep-lite': 'advanced',
  deep: 'advanced',
  'deep-reasoning': 'advanced',
};

/**
 * Tavily (`POST /search`). Applies domain filters itself. Costs 0.008 USD a search, twice that in the modes that mean
 * its `advanced` depth.
 *
 * @throws {@link ConfigError} when the key or the address cannot be right.
 */
export function tavily(options: KeyedSearchEngineOptions): SearchEngine {
  const address = new URL(`${checkKeyedEngine('tavily', options, 'https://api.tavily.com')}/search`);
  const service = new JsonService({ ...options, name: 'The search engine tavily' });
  return {
    id: 'tavily',
    async search({ query, maxResults, mode, contextSize, domains, signal }) {
      const depth = (mode && DEPTHS[mode]) ?? 'basic';
      const answer = await service.call({
        url: address,
        headers: ['authorization', `Bearer ${options.apiKey}`],
        body: {
          query: shortQuery(query, MAX_QUERY_LENGTH),
          search_depth: depth,
          max_results: Math.min(maxResults, MAX_RESULTS),
          ...(contextSize !== undefined && depth === 'advanced' ? { chunks_per_source: CHUNKS[contextSize] } : {}),
          ...(domains.allowed.length > 0 ? { include_domains: domains.allowed.map((rule) => rule.text) } : {}),
          ...(domains.blocked.length > 0 ? { exclude_domains: domains.blocked.map((rule) => rule.text) } : {}),
        },
        signal,
      });
      const results = read
        .objects(answer['results'])
        .flatMap((one) => resultOf(one['url'], one['title'], trimmedText(one['content']) ?? '', one['published_date']));
      return { results, cost: options.pricePerSearch ?? (depth === 'advanced' ? 0.016 : 0.008) };
    },
    close: () => service.close(),
  };
}
