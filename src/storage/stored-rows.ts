/** Turns values into columns and back, for every database. */
import type { JsonObject } from '../protocol/json.ts';
import type { ClaimedItem, ClaimedTask, ItemOutcome, StoredItem, StoredOutcome } from '../contracts/batch-store.ts';
import type { BatchFileRecord } from '../contracts/batch-file-store.ts';
import type { StoredKey } from '../contracts/key-store.ts';
import type { BatchRecord, BatchEffect } from '../contracts/batch-record.ts';

/**
 * Text as a column of every database can keep it: some refuse NUL, others replace halves of surrogate pairs. What needs
 * it is written as JSON would write it between quotation marks, so different texts stay different.
 */
export function storable(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/** The text that {@link storable} was given. */
export function restored(column: string): string {
  return column.includes('\\') ? (JSON.parse(`"${column}"`) as string) : column;
}

/** A time or a length of time as columns keep it: whole milliseconds, never shorter than was requested. */
export function wholeMs(ms: number): number {
  return Math.ceil(ms);
}

/** A row as drivers give it. */
type Row = Readonly<Record<string, unknown>>;

/** A number of a row; drivers may give large ones as text. */
export function storedNumber(row: Row | undefined, column: string): number {
  return Number(row?.[column] ?? 0);
}

/** A text as it is in the column. */
export function columnOf(row: Row, column: string): string {
  return String(row[column]);
}

/** The text of a column that was written with {@link storable}. */
export function storedText(row: Row, column: string): string {
  return restored(columnOf(row, column));
}

/** A batch of an account as values of a statement. */
export interface BatchOwner extends Readonly<Record<string, string>> {
  readonly account: string;
  readonly batchId: string;
}

/** Makes {@link BatchOwner}. */
export function ownerOf(account: string, batchId: string): BatchOwner {
  return { account: storable(account), batchId: storable(batchId) };
}

/** A record as text. The counts have columns of their own, because outcomes change them without reading the rest. */
export function recordText({ counts: _, ...record }: BatchRecord): string {
  return JSON.stringify(record);
}

/** The record of a row. */
export function storedBatch(row: Row): BatchRecord {
  const record = JSON.parse(columnOf(row, 'record')) as Omit<BatchRecord, 'counts'>;
  const [total, completed, failed] = [
    storedNumber(row, 'total'),
    storedNumber(row, 'completed'),
    storedNumber(row, 'failed'),
  ];
  return { ...record, counts: { total, completed, failed } };
}

/** The request of a row. */
export function itemOf(row: Row): StoredItem {
  return { index: storedNumber(row, 'position'), customId: storedText(row, 'custom_id'), body: columnOf(row, 'body') };
}

/** The requests of rows that were claimed, in their order. */
export function claimedItems(rows: readonly Row[]): readonly ClaimedItem[] {
  const items = rows.map((row) => ({ ...itemOf(row), attempts: storedNumber(row, 'attempts') }));
  return items.sort((left, right) => left.index - right.index);
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
export function storedOutcome(row: Row): StoredOutcome {
  const outcome = JSON.parse(columnOf(row, 'outcome')) as Omit<ItemOutcome, 'index'>;
  return { ...outcome, index: storedNumber(row, 'position'), customId: storedText(row, 'custom_id') };
}

/** A task that was claimed, as values of a statement. */
export function heldTask({ account, batchId, effect, token }: ClaimedTask): BatchOwner {
  return { ...ownerOf(account, batchId), effect, token: storable(token) };
}

/** The task of a row that was claimed. */
export function claimedTask(row: Row, token: string): ClaimedTask {
  const memo = row['memo'];
  return {
    account: storedText(row, 'account'),
    batchId: storedText(row, 'batch_id'),
    effect: columnOf(row, 'effect') as BatchEffect,
    runAt: storedNumber(row, 'run_at'),
    attempts: storedNumber(row, 'attempts'),
    token,
    ...(typeof memo === 'string' ? { memo: JSON.parse(memo) as JsonObject } : {}),
  };
}

/** The first of the outcomes of each request: a request has one. */
export function firstOutcomes(outcomes: readonly ItemOutcome[]): readonly ItemOutcome[] {
  return [...new Map(outcomes.toReversed().map((outcome) => [outcome.index, outcome])).values()].toReversed();
}

/** A file of an account as values of a statement. */
export interface FileOwner extends Readonly<Record<string, string>> {
  readonly account: string;
  readonly fileId: string;
}

/** Makes {@link FileOwner}. */
export function fileOwnerOf(account: string, fileId: string): FileOwner {
  return { account: storable(account), fileId: storable(fileId) };
}

/** What is thrown where a draft of a file is not there. */
export function noFile(fileId: string): RangeError {
  return new RangeError(`there is no file "${fileId}"`);
}

/** A file as text. */
export function fileText(record: BatchFileRecord): string {
  return JSON.stringify(record);
}

/** The file of a row. */
export function fileOf(row: Row): BatchFileRecord {
  return JSON.parse(columnOf(row, 'record')) as BatchFileRecord;
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
