import { isTerminal } from './machine.ts';
import type { BatchRecord } from './batch-record.ts';

/** Which of the two files of a batch that has ended: what was answered, or what was not. */
export type OutputKind = 'output' | 'errors';

const PREFIX = 'batch_';
const KINDS: readonly OutputKind[] = ['output', 'errors'];

/**
 * Id of a file of a batch; undefined where nothing is in it. Such a file is not stored: it is written from the outcomes
 * of the batch whenever somebody reads it.
 */
export function outputFileId({ id, status, counts }: BatchRecord, kind: OutputKind): string | undefined {
  const lines = kind === 'output' ? counts.completed : counts.failed;
  return isTerminal(status) && lines > 0 ? `file-${kind}-${id.slice(PREFIX.length)}` : undefined;
}

/** The batch whose file this is; undefined for an id of another kind. */
export function batchOfFile(fileId: string): { readonly batchId: string; readonly kind: OutputKind } | undefined {
  for (const kind of KINDS) {
    const start = `file-${kind}-`;
    if (fileId.startsWith(start)) return { batchId: `${PREFIX}${fileId.slice(start.length)}`, kind };
  }
  return undefined;
}

/** What is wrong with a batch: a sentence, and for requests that came in a file the line. */
export interface BatchFault {
  readonly message: string;
  /** Counted from 1. */
  readonly line?: number | undefined;
  /** Where in the line. */
  readonly param?: string | undefined;
}

/** A fault of a request as one of the line that it came in; requests are lines, from the first on. */
export function faultOfLine(message: string): BatchFault {
  const found = /^requests\[(\d+)\](?:\.([^\s:]+))?/.exec(message);
  if (found === null) return { message };
  const [whole, index, param] = found;
  const line = Number(index) + 1;
  const rest = message
    .slice(whole.length)
    .replaceAll(/requests\[(\d+)\]/g, (_, other: string) => `line ${Number(other) + 1}`);
  return { message: param === undefined ? `Line ${line}${rest}` : `Line ${line}: ${param}${rest}`, line, param };
}
