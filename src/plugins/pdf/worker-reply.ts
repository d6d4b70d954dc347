import { PdfError, type PdfProblem, type PdfText } from '../ports/pdf-reader.ts';

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
