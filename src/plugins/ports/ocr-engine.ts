/** What an {@link OcrEngine} is asked. */
export interface OcrRequest {
  /** The whole PDF. */
  readonly data: Uint8Array;
  readonly name?: string | undefined;
  /** Pictures that are wanted at most; an engine may give fewer, and what is above is dropped. */
  readonly maxImages: number;
  /** Aborted when nobody waits any more. */
  readonly signal: AbortSignal;
}

/** A PDF as an {@link OcrEngine} read it. */
export interface OcrText {
  /** Markdown of each page, in order. */
  readonly pages: readonly string[];
  /** Pictures in the document as data URLs, in order. */
  readonly images: readonly string[];
  /** Pages that are paid for. */
  readonly pagesProcessed: number;
  /** US dollars that it cost. */
  readonly cost: number;
}

/** Reads PDFs whose pages are pictures. Implement this to bring your own. */
export interface OcrEngine {
  /** Name in `router_metadata.pipeline`. */
  readonly id: string;
  /**
   * Reads one file.
   *
   * @throws {@link RouterError} when there is no text; its message is told to the caller.
   */
  read(request: OcrRequest): Promise<OcrText>;
  /** Frees connections. May be called more than once. */
  close?(): Promise<void>;
}
