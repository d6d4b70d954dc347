/** The options of plugins and tools for the web and for files, and their schemas. */
import { nullish, optional } from '../schema/modifiers.ts';
import type { OutputOf } from '../schema/form.ts';
import { array } from '../schema/collections.ts';
import { unknown, literal, boolean, integer, string, enumeration } from '../schema/scalars.ts';
import { closed } from './fields.ts';
import { optionsParser, type OptionsParser } from './options.ts';

/** Rules in one list of domains. */
const MAX_DOMAINS = 300;
/** Characters in one rule. */
const MAX_DOMAIN_LENGTH = 512;

const domains = optional(array(string({ least: 1, most: MAX_DOMAIN_LENGTH }), { most: MAX_DOMAINS }));
const place = nullish(string({ least: 1, most: 256 }));

const placeOfUser = { city: place, region: place, country: place, timezone: place };

/** Where the user is, roughly, for search engines that ask. */
const userLocation = optional(closed({ type: optional(literal('approximate')), ...placeOfUser }));

/** The same in the plugin, where the contract requires the type. */
const typedUserLocation = optional(closed({ type: literal('approximate'), ...placeOfUser }));

const handles = optional(array(string({ least: 1, most: 256 }), { most: 20 }));
const date = optional(string({ least: 1, most: 64 }));

/** What a search of X is limited to (gaps 2.2). Accepted, and said not to be applied where nothing searches there. */
const xSearch = nullish(
  closed({
    allowed_x_handles: handles,
    excluded_x_handles: handles,
    from_date: date,
    to_date: date,
    enable_image_understanding: optional(boolean),
    enable_video_understanding: optional(boolean),
  }),
);

/** How thoroughly an engine searches, in the words of all engines together. */
const mode = optional(
  enumeration(['instant', 'fast', 'turbo', 'auto', 'basic', 'advanced', 'deep-lite', 'deep', 'deep-reasoning']),
);

const engine = optional(string({ least: 1, most: 64 }));
const maxResults = optional(integer({ least: 1, most: 25 }));
const maxUses = optional(integer({ least: 1 }));
const contextSize = optional(enumeration(['low', 'medium', 'high']));

/** Schema of options of the plugin `web`. */
export const webSchema = closed({
  engine,
  mode,
  search_prompt: optional(string({ least: 1, most: 20_000 })),
  max_results: maxResults,
  max_uses: maxUses,
  include_domains: domains,
  exclude_domains: domains,
  user_location: typedUserLocation,
  x_search: xSearch,
});

/** Options of the plugin `web` (contract: plugin objects; gaps 5.4). */
export const parseWebOptions = optionsParser(webSchema);

/** Schema of `parameters` of `router:web_search`. */
export const webSearchSchema = closed({
  engine,
  mode,
  max_results: maxResults,
  max_uses: maxUses,
  max_total_results: optional(integer({ least: 1, most: 1_000 })),
  search_context_size: contextSize,
  max_characters: optional(integer({ least: 1, most: 100_000 })),
  allowed_domains: domains,
  excluded_domains: domains,
  /** As OpenAI's short forms of this tool nest it. */
  filters: optional(closed({ allowed_domains: domains, blocked_domains: domains })),
  user_location: userLocation,
  x_search: xSearch,
});

/** `parameters` of `router:web_search` (gaps 2.2). */
export const parseWebSearchOptions = optionsParser(webSearchSchema);

/** Schema of options of the plugin `web-fetch`. */
export const webFetchSchema = closed({
  // A provider's own fetching is used by no wire, so `native` is served by the router, as in a search (gaps 2.1).
  engine: optional(enumeration(['auto', 'native', 'router', 'openrouter'])),
  max_uses: maxUses,
  max_content_tokens: optional(integer({ least: 1, most: 1_000_000 })),
  allowed_domains: domains,
  blocked_domains: domains,
});

/** Options of the plugin `web-fetch` and `parameters` of `router:web_fetch` (gaps 2.1, 5.5). */
export const parseWebFetchOptions = optionsParser(webFetchSchema);

/** Where a user is, as requests say it. */
export type UserLocation = NonNullable<OutputOf<typeof userLocation>>;
/** How thoroughly to search. */
export type SearchMode = NonNullable<OutputOf<typeof mode>>;
/** How much of the pages that were found is shown to the model. */
export type SearchContextSize = NonNullable<OutputOf<typeof contextSize>>;

/** How PDFs are read; `pdf-text` is a deprecated name of `cloudflare-ai` (gaps 5.6). */
export type PdfEngine = 'native' | 'cloudflare-ai' | 'mistral-ocr' | 'pdf-text';

/** Options of the plugin `file-parser`. */
export interface FileParserRequestOptions {
  readonly pdf?: { readonly engine?: PdfEngine | null | undefined } | null | undefined;
}

/** Schema of options of the plugin `file-parser`. */
export const fileParserSchema = closed({
  pdf: nullish(closed({ engine: nullish(enumeration(['native', 'cloudflare-ai', 'mistral-ocr', 'pdf-text'])) })),
  max_files: nullish(unknown),
});

/** Checks the options of the plugin `file-parser`. `max_files`, which some clients send, says nothing. */
export const parseFileParserOptions: OptionsParser<FileParserRequestOptions> = optionsParser(fileParserSchema);

/** Options of the plugin `context-compression` (contract: plugin objects; gaps 5.8). */
export const parseCompressionOptions = optionsParser(
  closed({ engine: optional(enumeration(['middle-out', 'relevant'])) }),
);

/** Checks the options of response-healing. */
export const parseHealingOptions = optionsParser(closed({ ensure: optional(enumeration(['schema'])) }));
