/** The entry point `signalbox/postgres`. */

export { postgresKeys } from '../storage/postgres/postgres-keys.ts';
export type { PostgresKeysOptions } from '../storage/postgres/postgres-keys.ts';
export { postgresStorage } from '../storage/postgres/postgres-storage.ts';
export type { PostgresStorageOptions } from '../storage/postgres/schema.ts';
export type { PostgresClient, PostgresPool } from '../storage/postgres/driver.ts';
export { postgresLedger } from '../storage/postgres/postgres-ledger.ts';
export type { PostgresLedgerOptions } from '../storage/postgres/postgres-ledger.ts';
