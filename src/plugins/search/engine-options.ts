import { ConfigError } from '../../errors.ts';
import type { Transport } from '../../providers/transport/transport.ts';

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

/** Options of an engine that wants a key. */
export interface KeyedSearchEngineOptions extends SearchEngineOptions {
  readonly apiKey: string;
}

/**
 * Checks the options of an engine and gives its address back.
 *
 * @throws {@link ConfigError} with everything that is wrong with them.
 */
export function checkEngineOptions(
  id: string,
  { baseURL, pricePerSearch, apiKey }: SearchEngineOptions & { readonly apiKey?: string | undefined },
  usual: string,
): string {
  const problems = [];
  const address = baseURL ?? usual;
  if (!URL.canParse(address) || !/^https?:$/.test(new URL(address).protocol)) {
    problems.push({ path: `${id}.baseURL`, problem: 'must be an http(s) address' });
  }
  if (apiKey !== undefined && !/^[\x21-\x7e]+$/.test(apiKey)) {
    problems.push({ path: `${id}.apiKey`, problem: 'must be one line of visible characters, without spaces' });
  }
  if (pricePerSearch !== undefined && !(pricePerSearch >= 0)) {
    problems.push({
      path: `${id}.pricePerSearch`,
      problem: `must be a number that is not negative, not ${pricePerSearch}`,
    });
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return address.replace(/\/+$/, '');
}
