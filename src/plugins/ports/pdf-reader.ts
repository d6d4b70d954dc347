/** What a {@link PdfReader} is asked. */
export interface PdfRequest {
  /** The whole file. */
  readonly data: Uint8Array;
  /** Pages that are read; the rest is left out. Default: what the reader can do. */
  readonly maxPages?: number | undefined;
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

/** A PDF that could not be read. Its text may be shown to whoever sent the file or asked for it. */
export class PdfError extends Error {
  override readonly name = 'PdfError';
  readonly problem: PdfProblem;

  constructor(problem: PdfProblem, message: string) {
    super(message);
    this.problem = problem;
  }
}
