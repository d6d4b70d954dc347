import type { StoredKey } from '../contracts/key-store.ts';
import { storable } from './stored-rows.ts';

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
