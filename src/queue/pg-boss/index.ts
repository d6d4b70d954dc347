export { pgBossQueue } from './pg-boss-queue.ts';
export type { PgBossQueueOptions } from './pg-boss-queue.ts';
