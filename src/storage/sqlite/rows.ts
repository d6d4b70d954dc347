import { type RecordColumns, restored, storable } from '../stored-rows.ts';
import type { Row } from './connection.ts';

/** The two columns that every row has, as values of a statement. */
export interface Owner extends Readonly<Record<string, string>> {
  readonly account: string;
  readonly batchId: string;
}

/** A batch of an account as values of a statement. */
export function ownerOf(account: string, batchId: string): Owner {
  return { account: storable(account), batchId: storable(batchId) };
}

/** The columns that a record is made of. */
export function recordColumns(row: Row): RecordColumns {
  const { record, total, completed, failed } = row;
  return { record: String(record), total: Number(total), completed: Number(completed), failed: Number(failed) };
}

/** The text of a column that was written with `storable`. */
export function textOf(row: Row, column: string): string {
  return restored(String(row[column]));
}
