import * as z from 'zod';
import { closed, nullish } from './fields.ts';
import { optionsParser, type OptionsParser } from './options.ts';

/** Rules in one list of domains. */
const MAX_DOMAINS = 300;
/** Characters in one rule. */
const MAX_DOMAIN_LENGTH = 512;

const domains = z.array(z.string().min(1).max(MAX_DOMAIN_LENGTH)).max(MAX_DOMAINS).optional();
const place = z.string().min(1).max(256).nullable().optional();

/** Where the user is, roughly, for search engines that ask. */
const userLocation = closed({
  type: z.literal('approximate').optional(),
  city: place,
  region: place,
  country: place,
  timezone: place,
}).optional();

/** How thoroughly an engine searches, in the words of all engines together. */
const mode = z
  .enum(['instant', 'fast', 'turbo', 'auto', 'basic', 'advanced', 'deep-lite', 'deep', 'deep-reasoning'])
  .optional();

const engine = z.string().min(1).max(64).optional();
const maxResults = z.int().min(1).max(25).optional();
const maxUses = z.int().min(1).optional();
const contextSize = z.enum(['low', 'medium', 'high']).optional();

/** Options of the plugin `web` (contract: plugin objects; gaps 5.4). */
export const parseWebOptions = optionsParser(
  closed({
    engine,
    mode,
    search_prompt: z.string().min(1).max(20_000).optional(),
    max_results: maxResults,
    max_uses: maxUses,
    include_domains: domains,
    exclude_domains: domains,
    user_location: userLocation,
  }),
);

/** `parameters` of `router:web_search` (gaps 2.2). */
export const parseWebSearchOptions = optionsParser(
  closed({
    engine,
    mode,
    max_results: maxResults,
    max_uses: maxUses,
    max_total_results: z.int().min(1).max(1_000).optional(),
    search_context_size: contextSize,
    max_characters: z.int().min(1).max(100_000).optional(),
    allowed_domains: domains,
    excluded_domains: domains,
    /** As OpenAI's short forms of this tool nest it. */
    filters: closed({ allowed_domains: domains, blocked_domains: domains }).optional(),
    user_location: userLocation,
  }),
);

/** Options of the plugin `web-fetch` and `parameters` of `router:web_fetch` (gaps 2.1, 5.5). */
export const parseWebFetchOptions = optionsParser(
  closed({
    engine: z.enum(['auto', 'router', 'openrouter']).optional(),
    max_uses: maxUses,
    max_content_tokens: z.int().min(1).max(1_000_000).optional(),
    allowed_domains: domains,
    blocked_domains: domains,
  }),
);

/** Where a user is, as requests say it. */
export type UserLocation = NonNullable<z.output<typeof userLocation>>;
/** How thoroughly to search. */
export type SearchMode = NonNullable<z.output<typeof mode>>;
/** How much of the pages that were found is shown to the model. */
export type SearchContextSize = NonNullable<z.output<typeof contextSize>>;

/** How PDFs are read; `pdf-text` is a deprecated name of `cloudflare-ai` (gaps 5.6). */
export type PdfEngine = 'native' | 'cloudflare-ai' | 'mistral-ocr' | 'pdf-text';

/** Options of the plugin `file-parser`. */
export interface FileParserRequestOptions {
  readonly pdf?: { readonly engine?: PdfEngine | null | undefined } | null | undefined;
}

/** Checks the options of the plugin `file-parser`. `max_files`, which some clients send, says nothing. */
export const parseFileParserOptions: OptionsParser<FileParserRequestOptions> = optionsParser(
  closed({
    pdf: nullish(closed({ engine: nullish(z.enum(['native', 'cloudflare-ai', 'mistral-ocr', 'pdf-text'])) })),
    max_files: nullish(z.unknown()),
  }),
);

/** Options of the plugin `context-compression` (contract: plugin objects; gaps 5.8). */
export const parseCompressionOptions = optionsParser(closed({ engine: z.enum(['middle-out', 'relevant']).optional() }));
