import { PdfError, type PdfProblem, type PdfText } from '../../../contracts/pdf-reader.ts';

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

/** What a thread that reads a PDF says at its end. Errors lose their class on the way, so they travel as data. */
export type WorkerReply =
  | { readonly type: 'text'; readonly text: PdfText }
  | { readonly type: 'problem'; readonly problem: PdfProblem; readonly message: string }
  | { readonly type: 'fault'; readonly message: string };

/** Problem of a file that needs more memory than it may have. */
export function tooMuchMemory(memoryMb: number): PdfError {
  return new PdfError('too_large', `Reading the PDF takes more than ${memoryMb} MB of memory, which is not allowed`);
}

/** Problem of a file that takes too long. */
export function tooSlow(timeoutMs: number): PdfError {
  return new PdfError('timeout', `Reading the PDF takes longer than ${timeoutMs / 1_000} s, which is not allowed`);
}

/** Puts an error into words that can travel. */
export function replyOfError(error: unknown): WorkerReply {
  if (error instanceof PdfError) return { type: 'problem', problem: error.problem, message: error.message };
  return { type: 'fault', message: error instanceof Error ? error.name : 'something was thrown' };
}

/** The text of a reply. Throws what went wrong. */
export function textOfReply(reply: WorkerReply): PdfText {
  if (reply.type === 'text') return reply.text;
  if (reply.type === 'problem') throw new PdfError(reply.problem, reply.message);
  throw new Error(`The thread that reads PDFs failed: ${reply.message}`);
}
