import { type RecordColumns, restored, storable } from '../stored-rows.ts';
import type { Row } from './database.ts';

/** A batch of an account as values of a statement. */
export function ownerOf(account: string, batchId: string): { readonly account: string; readonly batchId: string } {
  return { account: storable(account), batchId: storable(batchId) };
}

/** A number; the driver gives large ones as text. */
export function numberOf(row: Row | undefined, column: string): number {
  return Number(row?.[column] ?? 0);
}

/** A text as it stands in the column. */
export function columnOf(row: Row, column: string): string {
  return String(row[column]);
}

/** The text of a column that was written with `storable`. */
export function textOf(row: Row, column: string): string {
  return restored(columnOf(row, column));
}

/** The columns that a record is made of. */
export function recordColumns(row: Row): RecordColumns {
  return {
    record: columnOf(row, 'record'),
    total: numberOf(row, 'total'),
    completed: numberOf(row, 'completed'),
    failed: numberOf(row, 'failed'),
  };
}
