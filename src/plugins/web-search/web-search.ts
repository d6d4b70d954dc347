/** The server tool `router:web_search`. */
import { searchEngines } from '../services/search/engine-options.ts';
import { checkShape } from '../../platform/check-options.ts';
import { milliseconds, type OptionShape } from '../../options/values.ts';
import type { ServerToolDefinition } from '../../contracts/server-tool.ts';
import { defineServerTool } from '../../core/pipeline/define-plugin.ts';
import type { JsonObject } from '../../protocol/json.ts';
import type { OptionsCheck } from '../../protocol/options.ts';
import {
  parseWebSearchOptions,
  type SearchContextSize,
  type SearchMode,
  type UserLocation,
} from '../../protocol/web-options.ts';
import { parseDomainFilter } from '../services/domain-filter.ts';
import type { DomainFilter, SearchEngine } from '../../contracts/plugin-services.ts';

import {
  X_SEARCH_NOTE,
  chooseSearch,
  nativeOptions,
  nobodySearches,
  problemOfEngine,
  searchEnginesFromEnvironment,
} from '../services/search/choose-search.ts';
import { citationsOf, runSearch, shownResult, UNTRUSTED_PAGES } from '../services/search/run-search.ts';

/** Options of {@link webSearchTool}. */
export interface WebSearchToolOptions {
  /**
   * Search engines, the preferred one first; when one does not answer, the next is tried. Default: those of the
   * environment, see {@link searchEnginesFromEnvironment}.
   */
  readonly engines?: readonly SearchEngine[] | undefined;
  /** Milliseconds that one search may take, all engines together. Default 60,000. */
  readonly timeoutMs?: number | undefined;
}

const OPTIONS: OptionShape<WebSearchToolOptions> = { engines: searchEngines, timeoutMs: milliseconds };

/** What a request says about `router:web_search`. */
export interface WebSearchOptions {
  /** Id of the engine. Default: a provider's own search where all endpoints have it, else the first engine there is. */
  readonly engine?: string | undefined;
  /** How thoroughly engines search that can choose. Default: as the engine does. */
  readonly mode?: SearchMode | undefined;
  /** Results of one search. Default 5. */
  readonly maxResults: number;
  /** Searches of one request. Default: no bound but that of the tool loop. */
  readonly maxUses?: number | undefined;
  /** Results of all searches of a request together. Default 50. */
  readonly maxTotalResults: number;
  /** How much the model gets to read. Default: as the engine does. */
  readonly contextSize?: SearchContextSize | undefined;
  /** Characters of one result. Default: as {@link WebSearchOptions.contextSize} says. */
  readonly maxCharacters?: number | undefined;
  /** Sites that results may be from. */
  readonly domains: DomainFilter;
  /** Where the user is. */
  readonly location?: UserLocation | undefined;
  /** Whether the search of X was to be limited, which is said not to be done. */
  readonly xSearch: boolean;
}

const DEFAULT_RESULTS = 5;
const DEFAULT_TOTAL_RESULTS = 50;
const MAX_QUERY_LENGTH = 1_000;

/** Arguments of a call, as JSON Schema. */
const PARAMETERS: JsonObject = {
  type: 'object',
  properties: { query: { type: 'string', description: 'What to search for, in the words of a search engine' } },
  required: ['query'],
  additionalProperties: false,
};

/**
 * The server tool `router:web_search` and its short forms (gaps 2.1, 2.2): the model searches when and as often as it
 * chooses. Where every endpoint of the request has a search of its own, the provider does it.
 */
export function webSearchTool(options: WebSearchToolOptions = {}): ServerToolDefinition<WebSearchOptions> {
  checkShape(OPTIONS, options, 'webSearchTool');
  const engines = options.engines ?? searchEnginesFromEnvironment();
  const budget = new ResultBudget();
  return defineServerTool<WebSearchOptions>({
    type: 'router:web_search',
    timeoutMs: options.timeoutMs ?? 60_000,
    parseOptions: (value) => parseOptions(value, engines),
    maxUses: ({ maxUses }) => maxUses ?? Infinity,

    native(requestedOptions, request) {
      if (chooseSearch(request, requestedOptions, engines, { insist: false })?.type !== 'native') return undefined;
      const { web_search_options: own } = request.parameters;
      return { web_search_options: { ...own, ...nativeOptions(requestedOptions) } };
    },

    describe(requestedOptions, { targets }) {
      if (engines.length === 0) throw nobodySearches(targets);
      return {
        description: `Searches the web and gives the best ${requestedOptions.maxResults} pages with excerpts. ${UNTRUSTED_PAGES}`,
        parameters: PARAMETERS,
      };
    },

    async execute({ query }, requestedOptions, { request, signal }) {
      if (typeof query !== 'string' || query.trim() === '') return failed('query must be a non-empty string');
      const { maxResults, maxTotalResults } = requestedOptions;
      const granted = budget.take(request.id, maxResults, maxTotalResults);
      if (granted === 0)
        return failed(`max_total_results exceeded: there have been ${maxTotalResults} results already`);
      let used = 0;
      try {
        const requested = {
          ...requestedOptions,
          query: query.replaceAll(/\s+/g, ' ').trim().slice(0, MAX_QUERY_LENGTH),
          signal,
        };
        const found = await runSearch(enginesFor(requestedOptions, engines), { ...requested, maxResults: granted });
        used = found.results.length;
        return {
          result: {
            status: 'completed',
            query: requested.query,
            results: found.results.map(shownResult),
            ...(requestedOptions.xSearch ? { note: X_SEARCH_NOTE } : {}),
          },
          annotations: citationsOf(found.results),
          used: { cost: found.cost, web_search_requests: 1 },
        };
      } finally {
        budget.giveBack(request.id, granted - used);
      }
    },

    async close() {
      await Promise.all(engines.map((engine) => engine.close?.()));
    },
  });
}

/** Where the model calls us, the provider does not search; `native` then means whoever does (gaps 2.2). */
function enginesFor({ engine }: WebSearchOptions, engines: readonly SearchEngine[]): readonly SearchEngine[] {
  const named = engines.filter(({ id }) => id === engine);
  return named.length > 0 ? named : engines;
}

function failed(error: string): { readonly result: JsonObject } {
  return { result: { status: 'error', error } };
}

function parseOptions(value: JsonObject, engines: readonly SearchEngine[]): OptionsCheck<WebSearchOptions> {
  const parsed = parseWebSearchOptions(value);
  if (!parsed.ok) return parsed;
  const { engine, mode, filters = {} } = parsed.options;
  const problem = problemOfEngine(engine, engines);
  if (problem !== undefined) return { ok: false, path: 'engine', problem };
  const { allowed_domains: allowed, excluded_domains: excluded } = parsed.options;
  const checked = parseDomainFilter(
    allowed === undefined
      ? { name: 'filters.allowed_domains', rules: filters.allowed_domains }
      : { name: 'allowed_domains', rules: allowed },
    excluded === undefined
      ? { name: 'filters.blocked_domains', rules: filters.blocked_domains }
      : { name: 'excluded_domains', rules: excluded },
  );
  if (!checked.ok) return checked;
  return {
    ok: true,
    options: {
      engine,
      mode,
      maxResults: parsed.options.max_results ?? DEFAULT_RESULTS,
      maxUses: parsed.options.max_uses,
      maxTotalResults: parsed.options.max_total_results ?? DEFAULT_TOTAL_RESULTS,
      contextSize: parsed.options.search_context_size,
      maxCharacters: parsed.options.max_characters,
      domains: checked.filter,
      location: parsed.options.user_location,
      xSearch: parsed.options.x_search != null,
    },
  };
}

/** Requests that are remembered at a time; the oldest are forgotten first. */
const MAX_REQUESTS = 10_000;

/**
 * Counts the results that all searches of one request gave together, also when several run at the same time: a search
 * takes its share before it begins and gives back what it did not need.
 */
export class ResultBudget {
  readonly #taken = new Map<string, number>();

  /**
   * Takes up to so many results for a request.
   *
   * @returns How many it may have; 0 when nothing is left.
   */
  take(requestId: string, wanted: number, limit: number): number {
    const taken = this.#taken.get(requestId) ?? 0;
    const granted = Math.max(0, Math.min(wanted, limit - taken));
    this.#taken.delete(requestId);
    this.#taken.set(requestId, taken + granted);
    if (this.#taken.size > MAX_REQUESTS) {
      for (const oldest of this.#taken.keys()) {
        this.#taken.delete(oldest);
        break;
      }
    }
    return granted;
  }

  /** Gives back what a search did not need. */
  giveBack(requestId: string, unused: number): void {
    const taken = this.#taken.get(requestId);
    if (taken !== undefined) this.#taken.set(requestId, Math.max(0, taken - unused));
  }
}
