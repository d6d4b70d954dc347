import { RouterError } from '../../errors.ts';
import { isAdmitted } from '../domains/domain-filter.ts';
import { plainText } from '../pages/plain-text.ts';
import type { SearchAnswer, SearchEngine, SearchQuery, SearchResult } from '../ports/search-engine.ts';

/** What a search came to. */
export interface FoundPages {
  /** Id of the engine that answered. */
  readonly engine: string;
  readonly results: readonly SearchResult[];
  /** US dollars. */
  readonly cost: number;
}

/** Characters of one result when a request sets no limit. */
const USUAL_CHARACTERS = 10_000;
const CHARACTERS = { low: 5_000, medium: 15_000, high: 30_000 } as const;
const TITLE_CHARACTERS = 300;
const URL_CHARACTERS = 2_000;

/**
 * Searches with the first engine that answers. What an engine gives is not taken on trust: pages that the request does
 * not want, pages twice and addresses that are none are left out, and everything has a length.
 *
 * @throws {@link RouterError} of the last engine, when none answers.
 */
export async function runSearch(engines: readonly SearchEngine[], query: SearchQuery): Promise<FoundPages> {
  let failure: unknown;
  for (const engine of engines) {
    try {
      const { results, cost } = await engine.search(query);
      return { engine: engine.id, results: cleaned(results, query), cost };
    } catch (error) {
      query.signal.throwIfAborted();
      if (!RouterError.isInstance(error)) throw error;
      failure = error;
    }
  }
  throw failure;
}

function cleaned(results: SearchAnswer['results'], query: SearchQuery): readonly SearchResult[] {
  const { maxResults, maxCharacters, contextSize, domains } = query;
  const length = maxCharacters ?? (contextSize === undefined ? USUAL_CHARACTERS : CHARACTERS[contextSize]);
  const found = new Map<string, SearchResult>();
  for (const { url: address, title, content, publishedAt } of results) {
    if (found.size === maxResults) break;
    const url = URL.canParse(address) ? new URL(address) : undefined;
    if (url === undefined || !/^https?:$/.test(url.protocol) || address.length > URL_CHARACTERS) continue;
    if (found.has(url.href) || !isAdmitted(domains, url)) continue;
    found.set(url.href, {
      url: address,
      title: title === undefined ? undefined : plainText(title, TITLE_CHARACTERS),
      content: plainText(content, length),
      publishedAt: publishedAt === undefined ? undefined : plainText(publishedAt, TITLE_CHARACTERS),
    });
  }
  return [...found.values()];
}
