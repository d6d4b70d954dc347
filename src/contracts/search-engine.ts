import type { SearchContextSize, SearchMode, UserLocation } from '../protocol/web-options.ts';

/** What a {@link SearchEngine} is asked. */
export interface SearchQuery {
  readonly query: string;
  /** Results that are wanted; an engine may give fewer, and what is above is cut off. */
  readonly maxResults: number;
  /** An engine that does not know a mode takes its usual one. */
  readonly mode?: SearchMode | undefined;
  readonly contextSize?: SearchContextSize | undefined;
  /** Characters of each result; wins over `contextSize`. */
  readonly maxCharacters?: number | undefined;
  /** An engine applies what it can; results are checked against it again. */
  readonly domains: DomainFilter;
  readonly location?: UserLocation | undefined;
  /** Aborted when nobody waits any more. */
  readonly signal: AbortSignal;
}

/** One page that was found. */
export interface SearchResult {
  readonly url: string;
  readonly title?: string | undefined;
  /** What is shown to the model: excerpts with `[...]` between them. */
  readonly content: string;
  /** As the engine writes it. */
  readonly publishedAt?: string | undefined;
}

/** What an engine found. */
export interface SearchAnswer {
  /** The best first. */
  readonly results: readonly SearchResult[];
  /** US dollars that the search cost. */
  readonly cost: number;
}

/** A search engine. Implement this to bring your own. */
export interface SearchEngine {
  /** Name by which requests choose it: lower-case letters, digits and `-`. */
  readonly id: string;
  /**
   * Searches once.
   *
   * @throws {@link RouterError} when there is no answer; its message is told to callers and to models.
   */
  search(query: SearchQuery): Promise<SearchAnswer>;
  /** Frees connections. May be called more than once. */
  close?(): Promise<void>;
}

/** Which sites a request wants, and which it does not want. The latter win. */
export interface DomainFilter {
  /** Empty: all sites. */
  readonly allowed: readonly DomainRule[];
  readonly blocked: readonly DomainRule[];
}

/**
 * A rule about sites, as requests write them: `example.com` (with its subdomains), `*.example.com` (its subdomains
 * only), `example.com/blog` (what lies below a path), `example.com:8443`.
 */
export interface DomainRule {
  /** As it was written, without a scheme. */
  readonly text: string;
  /** Lower-case host, in which `*` stands for any characters. */
  readonly host: string;
  readonly port?: string | undefined;
  /** Path below which a page must lie, without a slash at its end; undefined for whole sites. */
  readonly path?: string | undefined;
}
