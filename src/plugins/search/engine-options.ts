import {
  amount,
  checkShape,
  headerText,
  httpAddress,
  milliseconds,
  type OptionShape,
} from '../../core/options/option-kinds.ts';
import type { Transport } from '../../providers/transport/transport.ts';
import { transportKind } from '../option-kinds.ts';

/** What all search engines may be told. */
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

/** What all search engines may be told. */
export const SEARCH_ENGINE_OPTIONS: OptionShape<SearchEngineOptions> = {
  baseURL: httpAddress,
  pricePerSearch: amount,
  timeoutMs: milliseconds,
  transport: transportKind,
};

/** Options of an engine that wants a key. */
export interface KeyedSearchEngineOptions extends SearchEngineOptions {
  readonly apiKey: string;
}

const KEYED_OPTIONS: OptionShape<KeyedSearchEngineOptions> = {
  ...SEARCH_ENGINE_OPTIONS,
  apiKey: headerText,
};

/**
 * Checks the options of an engine that wants a key, and gives its address.
 *
 * @throws {@link ConfigError} with everything that is wrong with them.
 */
export function checkKeyedEngine(id: string, options: KeyedSearchEngineOptions, usual: string): string {
  checkShape(KEYED_OPTIONS, options, id, ['apiKey']);
  return (options.baseURL ?? usual).replace(/\/+$/, '');
}
