export { sqliteStorage } from '../storage/sqlite/sqlite-storage.ts';
export type { SqliteStorageOptions } from '../storage/sqlite/sqlite-storage.ts';
export { sqliteLedger } from '../storage/sqlite/sqlite-ledger.ts';
export type { SqliteLedgerOptions } from '../storage/sqlite/sqlite-ledger.ts';
