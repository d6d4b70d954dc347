/** The contract of PDF readers and OCR engines. */

/** The input of a {@link PdfReader}. */
export interface PdfRequest {
  /** The whole file. */
  readonly data: Uint8Array;
  /** Pages that are read; the rest is left out. Default: what the reader can do. */
  readonly maxPages?: number | undefined;
  /** Id of the account for which it is done, so that accounts can take turns. Default: nobody in particular. */
  readonly account?: string | undefined;
  /** Aborted when nobody waits any more. */
  readonly signal: AbortSignal;
}

/** The text of a PDF. */
export interface PdfText {
  /** The text of each page that was read, in order; empty for a page without text, such as a scanned one. */
  readonly pages: readonly string[];
  /** Pages of the whole file. */
  readonly totalPages: number;
  /** Title that the file gives itself. */
  readonly title?: string | undefined;
}

/** Reads the text of PDFs. They come from callers and from the web, so whoever implements this expects traps. */
export interface PdfReader {
  /**
   * Reads one file.
   *
   * @throws {@link PdfError} when the file cannot be read.
   */
  read(request: PdfRequest): Promise<PdfText>;
  /** Frees what it holds. May be called more than once. */
  close?(): Promise<void>;
}

/** Why a PDF could not be read. */
export type PdfProblem =
  /** Not a PDF, or a broken one. */
  | 'invalid'
  /** It needs a password. */
  | 'encrypted'
  /** More bytes, pages or memory than is allowed. */
  | 'too_large'
  /** It took too long. */
  | 'timeout'
  /** Nothing that reads PDFs is installed or configured here. */
  | 'unavailable';

/** A PDF that could not be read. Its text may be shown to whoever sent the file or requested it. */
export class PdfError extends Error {
  override readonly name = 'PdfError';
  readonly problem: PdfProblem;

  constructor(problem: PdfProblem, message: string) {
    super(message);
    this.problem = problem;
  }
}

/** The input of an {@link OcrEngine}. */
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
   * @throws {@link RouterError} when there is no text; its message is sent to the caller.
   */
  read(request: OcrRequest): Promise<OcrText>;
  /** Frees connections. May be called more than once. */
  close?(): Promise<void>;
}
