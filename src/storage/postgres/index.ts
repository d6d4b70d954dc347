export { postgresStorage } from './postgres-storage.ts';
export type { PostgresStorageOptions } from './postgres-storage.ts';
export type { PostgresClient, PostgresPool } from './driver.ts';
