/** Reads PDFs on this machine, within limits. */
import { withFunctions, wholeNumber, callable, milliseconds, type OptionShape } from '../../../options/values.ts';
import { checkShape } from '../../../platform/check-options.ts';
import { PdfError, type PdfReader, type PdfText } from '../../../contracts/pdf-reader.ts';
import { FairTurns } from '../fair-turns.ts';
import type { PdfJob, RunPdfJob } from './pdf-job.ts';

/** Options of {@link localPdfReader}. */
export interface LocalPdfReaderOptions {
  /** Bytes of a file. Default 50,000,000. */
  readonly maxBytes?: number | undefined;
  /** Pages of a file. Default 1,000. */
  readonly maxPages?: number | undefined;
  /** Characters of text in a file. Default 4,000,000. */
  readonly maxCharacters?: number | undefined;
  /** Milliseconds for one file, not counting the wait for its turn. Default 30,000. */
  readonly timeoutMs?: number | undefined;
  /** Megabytes of heap for one file; a quarter of it for a single buffer. On Node only. Default 512. */
  readonly memoryMb?: number | undefined;
  /** Files that are read at the same time; others wait for their turn. One account has half of these places. Default 2. */
  readonly concurrency?: number | undefined;
  /** Runs the reading. Default: a thread per file on Node; elsewhere it happens in place. */
  readonly run?: RunPdfJob | undefined;
}

/** Something that reads PDFs, among options. */
export const pdfReader = withFunctions('a reader of PDFs, such as localPdfReader() makes one', 'read');

const OPTIONS: OptionShape<LocalPdfReaderOptions> = {
  maxBytes: wholeNumber(1),
  maxPages: wholeNumber(1),
  maxCharacters: wholeNumber(1),
  timeoutMs: milliseconds,
  memoryMb: wholeNumber(1),
  concurrency: wholeNumber(1),
  run: callable,
};

/**
 * Reads the text of PDFs on this machine, with the optional package unpdf. Files are expected to be traps: each is read
 * in a thread with limits on time and memory. Scanned pages have no text; that takes an OCR engine.
 */
export function localPdfReader(options: LocalPdfReaderOptions = {}): PdfReader {
  checkShape(OPTIONS, options, 'localPdfReader');
  const { maxBytes = 50_000_000, maxPages = 1_000, maxCharacters = 4_000_000 } = options;
  const { timeoutMs = 30_000, memoryMb = 512, concurrency = 2 } = options;
  const turns = new FairTurns(concurrency);
  let runner: Promise<RunPdfJob> | undefined;

  return {
    async read({ data, maxPages: wanted, account, signal }): Promise<PdfText> {
      if (data.byteLength > maxBytes) throw tooManyBytes(maxBytes);
      if (!looksLikePdf(data)) throw new PdfError('invalid', 'The file is no PDF');
      const job: PdfJob = {
        data,
        maxPages: Math.min(wanted ?? Infinity, maxPages),
        allPages: wanted === undefined,
        maxCharacters: maxCharacters,
      };
      runner ??= options.run === undefined ? loadRunner() : Promise.resolve(options.run);
      const run = await runner;
      return turns.take(account, signal, () => run(job, { timeoutMs, memoryMb }, signal));
    },
  };
}

/** The problem of a file with too many bytes. */
function tooManyBytes(maxBytes: number): PdfError {
  return new PdfError('too_large', `The PDF is larger than ${maxBytes / 1_000_000} MB`);
}

/** True for what begins like a PDF. Readers allow some junk before the mark, and so does this. */
export function looksLikePdf(data: Uint8Array): boolean {
  const start = String.fromCharCode(...data.subarray(0, HEAD));
  return start.includes('%PDF-');
}

const HEAD = 1_024;

async function loadRunner(): Promise<RunPdfJob> {
  const { createPdfRunner } = await import('#pdf-runner');
  return createPdfRunner();
}
