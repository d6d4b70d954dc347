/** The entry point `signalbox/pg-boss`. */

export { pgBossQueue } from '../queue/pg-boss/pg-boss-queue.ts';
export type { PgBossQueueOptions } from '../queue/pg-boss/pg-boss-queue.ts';
