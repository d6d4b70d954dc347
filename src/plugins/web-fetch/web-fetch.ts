/** The plugin and the server tool that fetch pages for a model. */
import type { Plugin } from '../../contracts/plugin.ts';
import { definePlugin, defineServerTool } from '../../core/pipeline/define-plugin.ts';
import type { JsonObject } from '../../protocol/json.ts';
import { checkShape } from '../../platform/check-options.ts';
import { type OptionShape, withFunctions } from '../../options/values.ts';
import type { ServerToolDefinition } from '../../contracts/server-tool.ts';

import { isAdmitted, parseDomainFilter } from '../services/domain-filter.ts';
import { type DomainFilter, PageError, type PageFetcher } from '../../contracts/plugin-services.ts';
import { cutToTokens } from '../services/pages/page-text.ts';
import {
  GUARDED_FETCHER_OPTIONS,
  guardedFetcher,
  type GuardedFetcherOptions,
} from '../services/pages/guarded-fetcher.ts';
import { UNTRUSTED_PAGES } from '../services/search/run-search.ts';
import type { OptionsCheck } from '../../protocol/options.ts';
import { parseWebFetchOptions } from '../../protocol/web-options.ts';

const TOOL = 'router:web_fetch';

/**
 * The plugin `web-fetch` (contract: plugin objects; gaps 5.5): offers the model the server tool `router:web_fetch` with
 * the options of the entry. Needs that tool among the router's server tools. A request that offers the tool itself
 * keeps its own options.
 */
export function webFetch(): Plugin<JsonObject> {
  return definePlugin<JsonObject>({
    id: 'web-fetch',
    usesServerTools: true,
    whenItThrows: 'fail',
    parseOptions(value) {
      const checked = parseFetchOptions(value);
      // The tool checks them again when it is offered, so they are handed on as they came.
      return checked.ok ? { ok: true, options: value } : checked;
    },
    onRequest({ serverTools }, parameters, context) {
      if (serverTools.some(({ type }) => type === TOOL)) return { type: 'continue' };
      context.stage({ summary: `offered ${TOOL}`, data: { tool: TOOL } });
      return { type: 'continue', change: { serverTools: [...serverTools, { type: TOOL, parameters }] } };
    },
  });
}

/** Options of {@link webFetchTool}. */
export interface WebFetchToolOptions extends GuardedFetcherOptions {
  /** Brings the pages. Default: {@link guardedFetcher} with these options. */
  readonly fetcher?: PageFetcher | undefined;
}

const OPTIONS: OptionShape<WebFetchToolOptions> = {
  ...GUARDED_FETCHER_OPTIONS,
  fetcher: withFunctions('a fetcher of pages, such as guardedFetcher() makes one', 'fetch'),
};

/**
 * The server tool `router:web_fetch` (gaps 2.1, 2.2): the model reads pages, as text. Only public hosts are called
 * unless `outbound.allowedHosts` says otherwise. What goes wrong is reported to the model and is never an error of the
 * request.
 */
export function webFetchTool(options: WebFetchToolOptions = {}): ServerToolDefinition<WebFetchOptions> {
  checkShape(OPTIONS, options, 'webFetchTool');
  const { fetcher: given, ...fetching } = options;
  const fetcher = given ?? guardedFetcher(fetching);
  return defineServerTool<WebFetchOptions>({
    type: 'router:web_fetch',
    parseOptions: parseFetchOptions,
    maxUses: ({ maxUses }) => maxUses,

    describe: () => ({
      description: `Fetches a web page, a text, JSON or a PDF by its URL and gives its text. ${UNTRUSTED_PAGES}`,
      parameters: {
        type: 'object',
        properties: { url: { type: 'string', description: 'Complete URL of the page, beginning with https://' } },
        required: ['url'],
        additionalProperties: false,
      },
    }),

    async execute({ url }, { maxContentTokens, domains }, context) {
      if (typeof url !== 'string') return failed(null, 'url must be a string');
      try {
        const page = await fetcher.fetch({
          url: url.trim(),
          account: context.account.id,
          signal: context.signal,
          admit(address) {
            if (!isAdmitted(domains, address)) throw new PageError('The domain is not allowed for this request');
          },
        });
        const { text, truncated } = cutToTokens(page.content, maxContentTokens);
        return {
          result: {
            url: page.url,
            ...(page.title === undefined ? {} : { title: page.title }),
            content: text,
            status: 'completed',
            retrieved_at: new Date(context.wallClock()).toISOString(),
            ...(truncated || page.truncated ? { truncated: true } : {}),
          },
          used: { web_fetch_requests: 1, ...(page.cost === undefined ? {} : { cost: page.cost }) },
        };
      } catch (error) {
        if (error instanceof PageError) return failed(url, error.message);
        throw error;
      }
    },

    close: () => fetcher.close?.() ?? Promise.resolve(),
  });
}

function failed(url: string | null, error: string): { readonly result: JsonObject } {
  return { result: { ...(url === null ? {} : { url: url.slice(0, 2_000) }), status: 'failed', error } };
}

/** What a request says about fetching pages. */
export interface WebFetchOptions {
  /** Pages that the model may fetch; at most 50 (gaps 2.2). */
  readonly maxUses: number;
  /** Tokens of one page that the model gets; estimated, and the rest is cut off. Default 25,000. */
  readonly maxContentTokens: number;
  readonly domains: DomainFilter;
}

const MOST_USES = 50;
const DEFAULT_CONTENT_TOKENS = 25_000;

/** Checks and completes the options of `web-fetch`, the plugin and the tool. */
function parseFetchOptions(value: JsonObject): OptionsCheck<WebFetchOptions> {
  const parsed = parseWebFetchOptions(value);
  if (!parsed.ok) return parsed;
  const {
    max_uses: uses,
    max_content_tokens: tokens,
    allowed_domains: allowed,
    blocked_domains: blocked,
  } = parsed.options;
  const checked = parseDomainFilter(
    { name: 'allowed_domains', rules: allowed },
    { name: 'blocked_domains', rules: blocked },
  );
  if (!checked.ok) return checked;
  const maxUses = Math.min(uses ?? MOST_USES, MOST_USES);
  return {
    ok: true,
    options: { maxUses, maxContentTokens: tokens ?? DEFAULT_CONTENT_TOKENS, domains: checked.filter },
  };
}
