import type { PdfText } from '../ports/pdf-reader.ts';

/** One file that a runner reads. Plain data, because it may travel to another thread. */
export interface PdfJob {
  readonly data: Uint8Array;
  /** Pages that are read; of a file with more, the rest is left out or the file refused. */
  readonly maxPages: number;
  /** True: a file with more pages is refused. */
  readonly allPages: boolean;
  /** Characters of text, of all pages together. */
  readonly maxCharacters: number;
}

/** What a runner may use for one file. */
export interface PdfResources {
  /** Milliseconds. */
  readonly timeoutMs: number;
  /** Megabytes of memory. Only a runner with threads can hold a file to it. */
  readonly memoryMb: number;
}

/** Reads a file within limits. Rejects with a `PdfError` for what is the file's fault. */
export type RunPdfJob = (job: PdfJob, resources: PdfResources, signal: AbortSignal) => Promise<PdfText>;
