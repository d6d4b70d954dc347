import type { BatchRecord } from '../core/batch/batch-record.ts';
import type { ItemOutcome, NewItem, StoredOutcome } from '../contracts/batch-store.ts';
import type { BatchFileRecord } from '../contracts/batch-file-store.ts';
import type { StoredKey } from '../contracts/key-store.ts';

/**
 * Text as a column of every database can keep it: some refuse NUL, others replace halves of surrogate pairs. What needs
 * it is written as JSON would write it between quotation marks, so different texts stay different.
 */
export function storable(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/** A body of a new request as text. */
export function bodyText(body: NewItem['body']): string {
  return typeof body === 'string' ? body : DECODER.decode(body);
}

const DECODER = new TextDecoder();

/** The text that {@link storable} was given. */
export function restored(column: string): string {
  return column.includes('\\') ? (JSON.parse(`"${column}"`) as string) : column;
}

/** A time or a length of time as columns keep it: whole milliseconds, never shorter than was asked. */
export function wholeMs(ms: number): number {
  return Math.ceil(ms);
}

/** The columns of a batch that its record is made of. */
export interface RecordColumns {
  readonly record: string;
  readonly total: number;
  readonly completed: number;
  readonly failed: number;
}

/** A record as text. The counts have columns of their own, because outcomes change them without reading the rest. */
export function recordText({ counts: _, ...record }: BatchRecord): string {
  return JSON.stringify(record);
}

/** The record of a row. */
export function recordOf({ record, total, completed, failed }: RecordColumns): BatchRecord {
  const known = JSON.parse(record) as Omit<BatchRecord, 'counts'>;
  return { ...known, counts: { total, completed, failed } };
}

/** A record with the times that publishing gives it. */
export function publishedRecord(batch: BatchRecord, now: number, total: number): BatchRecord {
  return {
    ...batch,
    createdAt: now,
    deleteAt: now + wholeMs(batch.deleteAt),
    expiresAt: batch.expiresAt === undefined ? undefined : now + wholeMs(batch.expiresAt),
    counts: { total, completed: 0, failed: 0 },
  };
}

/** An outcome as text; its index and its name have columns of their own. */
export function outcomeText({ resultId, response, error, usage }: ItemOutcome): string {
  return JSON.stringify({ resultId, response, error, usage });
}

/** The outcome of a row. */
export function outcomeOf(index: number, customId: string, outcome: string): StoredOutcome {
  return { ...(JSON.parse(outcome) as Omit<ItemOutcome, 'index'>), index, customId: restored(customId) };
}

/** The first of the outcomes of each request: a request has one. */
export function firstOutcomes(outcomes: readonly ItemOutcome[]): readonly ItemOutcome[] {
  return [...new Map(outcomes.toReversed().map((outcome) => [outcome.index, outcome])).values()].toReversed();
}

/** A file as text. */
export function fileText(record: BatchFileRecord): string {
  return JSON.stringify(record);
}

/** The file of a row. */
export function fileOf(record: string): BatchFileRecord {
  return JSON.parse(record) as BatchFileRecord;
}

/** A file with the times that publishing gives it. */
export function publishedFile(file: BatchFileRecord, now: number): BatchFileRecord {
  return { ...file, createdAt: now, deleteAt: now + wholeMs(file.deleteAt) };
}

/** A key as columns. What is looked up has one of its own; the rest is a text. */
export function keyColumns(key: StoredKey): {
  readonly hash: string;
  readonly account: string;
  readonly revision: number;
  readonly record: string;
} {
  const { hash, account, revision } = key;
  return { hash, account: storable(account.id), revision, record: JSON.stringify(key, writeEndless) };
}

/** The key of a row. */
export function keyOfRow(row: Readonly<Record<string, unknown>>): StoredKey {
  return JSON.parse(String(row['record']), readEndless) as StoredKey;
}

const ENDLESS = '$endless';

/** A limit may be `Infinity`, which takes the place of the limit for everybody, and JSON has no word for it. */
function writeEndless(_name: string, value: unknown): unknown {
  return value === Infinity ? { [ENDLESS]: true } : value;
}

function readEndless(_name: string, value: unknown): unknown {
  return typeof value === 'object' && value !== null && ENDLESS in value ? Infinity : value;
}
