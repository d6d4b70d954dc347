/** The entry point `signalbox/sqlite`. */

export { sqliteKeys } from '../storage/sqlite/sqlite-keys.ts';
export type { SqliteKeysOptions } from '../storage/sqlite/sqlite-keys.ts';
export { sqliteStorage } from '../storage/sqlite/sqlite-storage.ts';
export type { SqliteStorageOptions } from '../storage/sqlite/sqlite-storage.ts';
export { sqliteLedger } from '../storage/sqlite/sqlite-ledger.ts';
export type { SqliteLedgerOptions } from '../storage/sqlite/sqlite-ledger.ts';
