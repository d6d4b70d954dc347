import { checkShape, type OptionShape, withFunctions } from '../../core/options/option-kinds.ts';
import { type ServerToolDefinition, defineServerTool } from '../../core/pipeline/server-tool.ts';
import type { JsonObject } from '../../protocol/json.ts';
import { isAdmitted } from '../domains/domain-filter.ts';
import { cutToTokens } from '../pages/cut-tokens.ts';
import { GUARDED_FETCHER_OPTIONS, guardedFetcher, type GuardedFetcherOptions } from '../pages/guarded-fetcher.ts';
import { PageError, type PageFetcher } from '../ports/page-fetcher.ts';
import { UNTRUSTED_PAGES } from '../search/quote-results.ts';
import { type WebFetchOptions, parseFetchOptions } from './web-fetch-options.ts';

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
 * The server tool `router:web_fetch` (gaps 2.1, 2.2): the model reads pages, as text. Only public hosts are asked
 * unless `outbound.allowedHosts` says otherwise. What goes wrong is told to the model and is never an error of the
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
      if (typeof url !== 'string') return failed(null, 'url must be a text');
      try {
        const page = await fetcher.fetch({
          url: url.trim(),
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
