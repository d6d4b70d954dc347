/** The options that all search engines share, and how they read results. */
import { array } from '../../../schema/collections.ts';
import {
  sender,
  withFunctions,
  amount,
  headerText,
  httpAddress,
  milliseconds,
  type OptionShape,
} from '../../../options/values.ts';
import { checkShape } from '../../../platform/check-options.ts';
import type { Transport } from '../../../net/transport.ts';
import type { JsonValue } from '../../../protocol/json.ts';
import type { SearchResult } from '../../../contracts/plugin-services.ts';
import * as read from '../../../platform/json.ts';

/** Options of all search engines. */
export interface SearchEngineOptions {
  /** Address of the service, without a path. Default: the vendor's own. */
  readonly baseURL?: string | undefined;
  /** US dollars that one search costs you. Default: what the vendor reports or lists. */
  readonly pricePerSearch?: number | undefined;
  /** Milliseconds that one search may take. Default 10,000. */
  readonly timeoutMs?: number | undefined;
  /** How requests are sent. Default: undici on Node, `fetch` elsewhere. */
  readonly transport?: Transport | undefined;
}

/** A list of search engines. */
export const searchEngines = array(withFunctions('a search engine, such as exa() makes one', 'search'));

/** Options of all search engines. */
export const SEARCH_ENGINE_OPTIONS: OptionShape<SearchEngineOptions> = {
  baseURL: httpAddress,
  pricePerSearch: amount,
  timeoutMs: milliseconds,
  transport: sender,
};

/** Options of an engine that requires a key. */
export interface KeyedSearchEngineOptions extends SearchEngineOptions {
  readonly apiKey: string;
}

const KEYED_OPTIONS: OptionShape<KeyedSearchEngineOptions> = {
  ...SEARCH_ENGINE_OPTIONS,
  apiKey: headerText,
};

/**
 * Checks the options of an engine that requires a key, and gives its address.
 *
 * @throws {@link ConfigError} with everything that is wrong with them.
 */
export function checkKeyedEngine(id: string, options: KeyedSearchEngineOptions, usual: string): string {
  checkShape(KEYED_OPTIONS, options, id, ['apiKey']);
  return (options.baseURL ?? usual).replace(/\/+$/, '');
}

/** What is between two excerpts of one page. */
export const EXCERPT_GAP = '\n[...]\n';

/** A text that a service sent, if it is one and says something. */
export function trimmedText(value: unknown): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined;
}

/** The texts of a list. */
export function textsOf(value: JsonValue | undefined): readonly string[] {
  return read.list(value).flatMap((one) => trimmedText(one) ?? []);
}

/** A result, or nothing when it has no address. */
export function resultOf(
  url: JsonValue | undefined,
  title: JsonValue | undefined,
  content: string,
  publishedAt?: JsonValue,
): readonly SearchResult[] {
  const address = trimmedText(url);
  if (address === undefined) return [];
  return [{ url: address, title: trimmedText(title), content, publishedAt: trimmedText(publishedAt) }];
}
