export { sqliteStorage } from './sqlite-storage.ts';
export type { SqliteStorageOptions } from './sqlite-storage.ts';
