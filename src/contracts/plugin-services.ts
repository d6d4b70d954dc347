/** The contracts of the services that plugins are built on: pages, moderation, images, search, files. */
import type { JsonObject } from '../protocol/json.ts';
import type { SearchContextSize, SearchMode, UserLocation } from '../protocol/web-options.ts';

/** The input of a {@link PageFetcher}. */
export interface PageRequest {
  readonly url: string;
  /** Called with every address before it is called, redirects included; throws to refuse one. */
  readonly admit: (url: URL) => void;
  /** Id of the account for which it is done, so that accounts can take turns. Default: nobody in particular. */
  readonly account?: string | undefined;
  /** Aborted when nobody waits any more. */
  readonly signal: AbortSignal;
}

/** A page as a model can read it. */
export interface FetchedPage {
  /** The address that answered, after redirects. */
  readonly url: string;
  readonly title?: string | undefined;
  /** Text or Markdown. */
  readonly content: string;
  /** True when the page goes on after what was read. */
  readonly truncated: boolean;
  /** US dollars that it cost. Default: nothing. */
  readonly cost?: number | undefined;
}

/** Brings pages. The addresses come from models, and so from anybody: an implementation decides what may be called. */
export interface PageFetcher {
  /**
   * Fetches one page.
   *
   * @throws {@link PageError} when there is nothing to read.
   */
  fetch(request: PageRequest): Promise<FetchedPage>;
  /** Frees connections. May be called more than once. */
  close?(): Promise<void>;
}

/** A page that could not be read. Its text is reported to the model. */
export class PageError extends Error {
  override readonly name = 'PageError';
}

/** The input of a {@link ModerationService}. */
export interface ModerationInput {
  /** Texts of the request, in order. */
  readonly texts: readonly string[];
  /** Addresses and data URLs of its pictures, in order. */
  readonly images: readonly string[];
  /** Aborted when nobody waits any more. */
  readonly signal: AbortSignal;
}

/** What a {@link ModerationService} says. */
export type ModerationVerdict =
  | { readonly flagged: false }
  | {
      readonly flagged: true;
      /** Why: names of categories. */
      readonly reasons: readonly string[];
      /** The text that was flagged, or a part of it; absent for a picture. */
      readonly text?: string | undefined;
    };

/** Says whether a request may be answered. Implement this to bring your own. */
export interface ModerationService {
  /** Name in `router_metadata.pipeline`. */
  readonly id: string;
  /** Name for people, in `error.metadata.provider_name`. */
  readonly name: string;
  /** Decides about a request. Whatever it throws, the request is refused. */
  check(input: ModerationInput): Promise<ModerationVerdict>;
  /** Frees connections. May be called more than once. */
  close?(): Promise<void>;
}

/** The input of an {@link ImageGenerator}. */
export interface ImageRequest {
  readonly prompt: string;
  /** Model that the caller named, without a vendor in front. Default: the generator's own. */
  readonly model?: string | undefined;
  /** Size, quality and so on, in the words of OpenAI's images API; a service may refuse what it does not support. */
  readonly options: JsonObject;
  readonly signal: AbortSignal;
}

/** Images that were made. */
export interface GeneratedImages {
  /** Data URLs or http(s) URLs. */
  readonly urls: readonly string[];
  /** US dollars; undefined when unknown. */
  readonly cost?: number | undefined;
}

/** A service outside this router that makes images. */
export interface ImageGenerator {
  readonly id: string;
  /** @throws {@link RouterError} when there is no image; its text is read by the calling model. */
  generate(request: ImageRequest): Promise<GeneratedImages>;
  /** Frees what it holds. May be called more than once. */
  close?(): Promise<void>;
}

/** The input of a {@link SearchEngine}. */
export interface SearchQuery {
  readonly query: string;
  /** Results that are wanted; an engine may give fewer, and what is above is cut off. */
  readonly maxResults: number;
  /** An engine that does not support a mode takes its usual one. */
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
   * @throws {@link RouterError} when there is no answer; its message is sent to callers and to models.
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

/** An uploaded file. */
export interface StoredFile {
  readonly data: Uint8Array;
  readonly name?: string | undefined;
  /** For example `application/pdf`. Default: by how the data begins. */
  readonly mediaType?: string | undefined;
}

/** The input of a {@link FileStore}. */
export interface FileQuery {
  /** As it is in `file.file_id`. */
  readonly id: string;
  /** Id of the account. A file of another account must be answered like one that does not exist. */
  readonly account: string;
  /** Aborted when nobody waits any more. */
  readonly signal: AbortSignal;
}

/** Files that callers uploaded before, kept by the embedding program. */
export interface FileStore {
  /** The file behind an id; undefined for one that this account has not. */
  find(query: FileQuery): Promise<StoredFile | undefined>;
}

/** What is known of a file without its content. */
export interface FileCard {
  readonly id: string;
  readonly name: string;
  /** For example `text/markdown`. */
  readonly mediaType: string;
  /** Bytes. */
  readonly size: number;
  /** Unix seconds. */
  readonly created: number;
}

/** On whose behalf, and how long somebody waits. */
export interface FileCaller {
  /** Id of the account. */
  readonly account: string;
  /** Aborted when nobody waits any more. */
  readonly signal: AbortSignal;
}

/** A {@link FileStore} that can also be looked through and added to. What an id stands for never changes. */
export interface FileLibrary extends FileStore {
  /** The files of an account, the newest first. */
  list(query: FileCaller & { readonly limit: number }): Promise<readonly FileCard[]>;
  /**
   * Keeps a new file under an id of its own.
   *
   * @throws {@link FileLibraryFull} when there is no room for it.
   */
  add(query: FileCaller & { readonly file: StoredFile }): Promise<FileCard>;
  /** Frees what it holds. May be called more than once. */
  close?(): Promise<void>;
}

/** A file that a library has no room for. Its text may be shown to whoever wanted to store it. */
export class FileLibraryFull extends Error {
  override readonly name = 'FileLibraryFull';
}
