export { sqliteStorage } from '../storage/sqlite/sqlite-storage.ts';
export type { SqliteStorageOptions } from '../storage/sqlite/sqlite-storage.ts';
