/** The plugin `web`: adds search results to a prompt. */
import { searchEngines } from '../services/search/engine-options.ts';
import { enumeration } from '../../schema/scalars.ts';
import type { ChunkTransform, Plugin, Verdict } from '../../contracts/plugin.ts';
import type { PluginContext } from '../../contracts/plugin-context.ts';
import type { NormalizedRequest } from '../../contracts/request.ts';
import { definePlugin } from '../../core/pipeline/define-plugin.ts';
import { checkShape } from '../../platform/check-options.ts';
import { milliseconds, type OptionShape } from '../../options/values.ts';
import type { JsonObject } from '../../protocol/json.ts';
import type { OptionsCheck } from '../../protocol/options.ts';
import { parseWebOptions, type SearchMode, type UserLocation } from '../../protocol/web-options.ts';
import { parseDomainFilter } from '../services/domain-filter.ts';
import type { DomainFilter, SearchEngine, SearchResult } from '../../contracts/plugin-services.ts';

import {
  X_SEARCH_NOTE,
  chooseSearch,
  nativeOptions,
  nobodySearches,
  problemOfEngine,
  searchEnginesFromEnvironment,
  withNativeSearch,
} from '../services/search/choose-search.ts';
import { citationsOf, quoteResults, runSearch, UNTRUSTED_PAGES } from '../services/search/run-search.ts';
import type { Message, UserMessage } from '../../protocol/message.ts';
import { plainText } from '../services/pages/page-text.ts';

/** Options of {@link web}. */
export interface WebPluginOptions {
  /**
   * Search engines, the preferred one first; when one does not answer, the next is tried. Default: those of the
   * environment, see {@link searchEnginesFromEnvironment}.
   */
  readonly engines?: readonly SearchEngine[] | undefined;
  /** What becomes of a request whose search failed: `fail` answers 502, `skip` goes on without. Default `fail`. */
  readonly whenItThrows?: 'fail' | 'skip' | undefined;
  /** Milliseconds that a search may take, all engines together. Default 60,000. */
  readonly timeoutMs?: number | undefined;
}

const OPTIONS: OptionShape<WebPluginOptions> = {
  engines: searchEngines,
  whenItThrows: enumeration(['fail', 'skip']),
  timeoutMs: milliseconds,
};

/** What a request says about its search. */
export interface WebRequestOptions {
  /** Id of the engine. Default: a provider's own search where all endpoints have it, else the first engine there is. */
  readonly engine?: string | undefined;
  /** How thoroughly engines search that can choose. Default: as the engine does. */
  readonly mode?: SearchMode | undefined;
  /** What comes before the results in the prompt. Default: a text with the date that requires citations. */
  readonly searchPrompt?: string | undefined;
  /** Results. Default 5. */
  readonly maxResults: number;
  /** Searches, for providers that search as often as they choose. Default: as the provider does. */
  readonly maxUses?: number | undefined;
  /** Sites that results may be from. */
  readonly domains: DomainFilter;
  /** Where the user is. */
  readonly location?: UserLocation | undefined;
  /** Whether the search of X was to be limited, which is said not to be done. */
  readonly xSearch: boolean;
}

/** What the search leaves for later hooks. */
interface WebState {
  readonly native: boolean;
  readonly results: readonly SearchResult[];
}

const DEFAULT_RESULTS = 5;

/**
 * The plugin `web` (contract: plugin objects; gaps 5.4), also behind the model ending `:online`: one search for the
 * newest user message, its results behind that message, and citations in the answer. Where the provider searches by
 * itself it is left to do so.
 */
export function web(options: WebPluginOptions = {}): Plugin<WebRequestOptions, WebState> {
  checkShape(OPTIONS, options, 'web');
  const engines = options.engines ?? searchEnginesFromEnvironment();
  return definePlugin<WebRequestOptions, WebState>({
    id: 'web',
    usesServerTools: true,
    whenItThrows: options.whenItThrows ?? 'fail',
    timeoutMs: options.timeoutMs ?? 60_000,
    parseOptions: (value) => parseOptions(value, engines),

    async onRequest(request, requestedOptions, context) {
      const choice = chooseSearch(request, requestedOptions, engines, { insist: true });
      if (choice === undefined) return { type: 'block', error: nobodySearches(request.targets) };
      if (choice.type === 'native') {
        context.stage({
          name: 'web-search',
          summary: 'left to the provider',
          data: { engine: 'native', ...noteOf(requestedOptions) },
        });
        const change = { parameters: withNativeOptions(request, requestedOptions) };
        return { type: 'continue', change, state: { native: true, results: [] } };
      }
      return searched(request, requestedOptions, choice.engines, context);
    },

    onCandidates(targets, { tools }, requestedOptions, { state }) {
      const requested = { targets, tools };
      const native =
        state === undefined
          ? chooseSearch(requested, requestedOptions, engines, { insist: true })?.type === 'native'
          : state.native;
      return native ? withNativeSearch(requested, requestedOptions) : targets;
    },

    onChunks: (_request, _options, { state }) => (state?.results.length ? citing(state.results) : undefined),

    async close() {
      await Promise.all(engines.map((engine) => engine.close?.()));
    },
  });
}

/** Searches, and puts what was found behind the newest user message. */
async function searched(
  request: NormalizedRequest,
  requestedOptions: WebRequestOptions,
  engines: readonly SearchEngine[],
  context: PluginContext<WebState>,
): Promise<Verdict<WebState>> {
  const { signal } = context;
  const query = searchText(request.messages);
  if (query === undefined) {
    context.stage({
      name: 'web-search',
      summary: 'no text to search for',
      data: { results: 0, ...noteOf(requestedOptions) },
    });
    return { type: 'continue', state: { native: false, results: [] } };
  }
  const { engine, results, cost } = await runSearch(engines, { ...requestedOptions, query, signal });
  context.used({ cost, web_search_requests: 1 });
  context.stage({
    name: 'web-search',
    summary: `${results.length} ${results.length === 1 ? 'result' : 'results'} from ${engine}`,
    cost_usd: cost,
    data: { engine, results: results.length, ...noteOf(requestedOptions) },
  });
  const prompt = requestedOptions.searchPrompt ?? usualSearchPrompt(context.wallClock());
  const messages = addResults(request.messages, results, prompt);
  return { type: 'continue', change: { messages }, state: { native: false, results } };
}

/** The parameters of a request whose provider searches. */
function withNativeOptions(
  { parameters }: NormalizedRequest,
  requestedOptions: WebRequestOptions,
): NormalizedRequest['parameters'] {
  const { web_search_options: own } = parameters;
  return { ...parameters, web_search_options: { ...own, ...nativeOptions(requestedOptions) } };
}

/** Lets an answer pass and adds the citations behind it, when all its links are known. */
function citing(results: readonly SearchResult[]): ChunkTransform {
  return {
    start: '',
    step: (text, chunk) => [chunk.index === 0 ? `${String(text)}${chunk.delta.content ?? ''}` : text, [chunk]],
    end: (text) => [{ type: 'delta', index: 0, delta: { annotations: citationsOf(results, String(text)) } }],
  };
}

function parseOptions(value: JsonObject, engines: readonly SearchEngine[]): OptionsCheck<WebRequestOptions> {
  const parsed = parseWebOptions(value);
  if (!parsed.ok) return parsed;
  const { engine, mode, search_prompt: searchPrompt, max_results: maxResults, max_uses: maxUses } = parsed.options;
  const problem = problemOfEngine(engine, engines);
  if (problem !== undefined) return { ok: false, path: 'engine', problem };
  const checked = parseDomainFilter(
    { name: 'include_domains', rules: parsed.options.include_domains },
    { name: 'exclude_domains', rules: parsed.options.exclude_domains },
  );
  if (!checked.ok) return checked;
  const { user_location: location } = parsed.options;
  const own = { engine, mode, searchPrompt, maxUses, location, maxResults: maxResults ?? DEFAULT_RESULTS };
  const xSearch = parsed.options.x_search != null;
  return { ok: true, options: { ...own, xSearch, domains: checked.filter } };
}

/** What was not done although the request says it. */
function noteOf({ xSearch }: WebRequestOptions): { readonly note?: string } {
  return xSearch ? { note: X_SEARCH_NOTE } : {};
}

/** Characters of a query. Engines shorten it further as they need. */
const MAX_LENGTH = 1_000;

/** What to search for: the text of the newest user message, on one line; undefined when it has none. */
function searchText(messages: readonly Message[]): string | undefined {
  const newest = messages.findLast((message) => message.role === 'user');
  const { content } = newest ?? {};
  const text =
    typeof content === 'string'
      ? content
      : (content ?? []).flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
  const short = text.trim().length <= MAX_LENGTH ? text : mainParagraph(text);
  return plainText(short.replaceAll(/\s+/g, ' '), MAX_LENGTH) || undefined;
}

/** In a long message, usually a document with a question before or behind it, the question is what counts. */
function mainParagraph(text: string): string {
  const paragraphs = text.split('\n').filter((one) => one.trim() !== '');
  const [first = '', last = ''] = [paragraphs[0], paragraphs.at(-1)];
  const asks = (one: string): boolean => one.trim().endsWith('?') && one.length <= MAX_LENGTH;
  return asks(last) ? last : first;
}

/** What introduces the results when a request has no `search_prompt` of its own. */
function usualSearchPrompt(epochMs: number): string {
  const today = new Date(epochMs).toISOString().slice(0, 10);
  return (
    `A web search for this message was made today, ${today}; what it found follows. Use it where it helps to answer, ` +
    'and cite every page that you use as a Markdown link named by its domain, for example ' +
    '[example.org](https://example.org/an/article).'
  );
}

/**
 * Puts results behind the newest user message. They are in a user's turn and not in a system message, because pages
 * must not speak with the authority of the program.
 */
function addResults(
  messages: readonly Message[],
  results: readonly SearchResult[],
  searchPrompt: string,
): readonly Message[] {
  const found = results.length === 0 ? 'The search found nothing.' : `${UNTRUSTED_PAGES}\n\n${quoteResults(results)}`;
  const addition = `${searchPrompt}\n\n${found}`;
  const index = messages.findLastIndex((message) => message.role === 'user');
  return messages.map((message, at) => (at === index ? extended(message as UserMessage, addition) : message));
}

function extended(message: UserMessage, addition: string): UserMessage {
  const { content } = message;
  return typeof content === 'string'
    ? { ...message, content: `${content}\n\n${addition}` }
    : { ...message, content: [...content, { type: 'text', text: addition }] };
}
