/** What a {@link PageFetcher} is asked. */
export interface PageRequest {
  readonly url: string;
  /** Asked about every address before it is called, redirects included; throws to refuse one. */
  readonly admit: (url: URL) => void;
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

/** Brings pages. The addresses come from models, and so from anybody: an implementation decides what may be asked. */
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

/** A page that could not be read. Its text is told to the model. */
export class PageError extends Error {
  override readonly name = 'PageError';
}
