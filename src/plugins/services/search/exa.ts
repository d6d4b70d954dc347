/** Exa as a search engine. */
import { isJsonObject, type JsonObject } from '../../../protocol/json.ts';
import type { SearchMode } from '../../../protocol/web-options.ts';
import type { SearchEngine, SearchQuery } from '../../../contracts/plugin-services.ts';
import { JsonService } from '../json-service.ts';
import {
  checkKeyedEngine,
  EXCERPT_GAP,
  type KeyedSearchEngineOptions,
  resultOf,
  trimmedText,
  textsOf,
} from './engine-options.ts';
import * as read from '../../../platform/json.ts';

/** Exa's words for the modes that it knows. */
const MODES: ReadonlySet<SearchMode> = new Set(['instant', 'fast', 'auto', 'deep-lite', 'deep', 'deep-reasoning']);
/** Modes in which Exa thinks, and takes its time. */
const DEEP: ReadonlySet<SearchMode> = new Set(['deep-lite', 'deep', 'deep-reasoning']);
const DEEP_TIMEOUT_MS = 50_000;
/** Characters of each result, by how much context is wanted (gaps 2.2). */
const CHARACTERS = { low: 5_000, medium: 15_000, high: 30_000 } as const;
/** Results that the price of a search includes; each further one costs extra. */
const INCLUDED_RESULTS = 10;
const PRICE_OF_EXTRA_RESULT = 0.001;

/**
 * Exa (`POST /search`). Applies domain filters itself, wildcards and paths included. Costs what Exa reports, or else
 * 0.007 USD a search, 0.012 in the modes `deep-lite` and `deep`, 0.015 in `deep-reasoning`, and 0.001 for each result
 * above ten.
 *
 * @throws {@link ConfigError} when the key or the address cannot be right.
 */
export function exa(options: KeyedSearchEngineOptions): SearchEngine {
  const address = new URL(`${checkKeyedEngine('exa', options, 'https://api.exa.ai')}/search`);
  const service = new JsonService({ ...options, name: 'The search engine exa' });
  return {
    id: 'exa',
    async search(query) {
      const type = query.mode !== undefined && MODES.has(query.mode) ? query.mode : 'auto';
      const answer = await service.call({
        url: address,
        headers: ['x-api-key', options.apiKey],
        body: encode(query, type),
        signal: query.signal,
        timeoutMs: options.timeoutMs ?? (DEEP.has(type) ? DEEP_TIMEOUT_MS : undefined),
      });
      const results = read
        .objects(answer['results'])
        .flatMap((one) => resultOf(one['url'], one['title'], content(one), one['publishedDate']));
      const cost = options.pricePerSearch ?? reportedCost(answer) ?? listedCost(type, results.length);
      return { results, cost };
    },
    close: () => service.close(),
  };
}

function encode(query: SearchQuery, type: SearchMode): JsonObject {
  const { maxCharacters, contextSize, domains, location } = query;
  const length = maxCharacters ?? (contextSize && CHARACTERS[contextSize]);
  return {
    query: query.query,
    type,
    numResults: query.maxResults,
    contents: { highlights: length === undefined ? true : { maxCharacters: length } },
    ...(domains.allowed.length > 0 ? { includeDomains: domains.allowed.map((rule) => rule.text) } : {}),
    ...(domains.blocked.length > 0 ? { excludeDomains: domains.blocked.map((rule) => rule.text) } : {}),
    ...(/^[a-z]{2}$/i.test(location?.country ?? '') ? { userLocation: location?.country?.toUpperCase() } : {}),
  };
}

function content(result: JsonObject): string {
  const highlights = textsOf(result['highlights']);
  return highlights.length > 0
    ? highlights.join(EXCERPT_GAP)
    : (trimmedText(result['text']) ?? trimmedText(result['summary']) ?? '');
}

function reportedCost(answer: JsonObject): number | undefined {
  return isJsonObject(answer['costDollars']) ? read.usd(answer['costDollars']['total']) : undefined;
}

function listedCost(type: SearchMode, results: number): number {
  const search = type === 'deep-reasoning' ? 0.015 : DEEP.has(type) ? 0.012 : 0.007;
  return search + Math.max(0, results - INCLUDED_RESULTS) * PRICE_OF_EXTRA_RESULT;
}
