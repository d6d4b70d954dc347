/** The entry point `signalbox/redis`. */

export { redisStore } from '../storage/redis/redis-store.ts';
export type { RedisClient, RedisStoreOptions } from '../storage/redis/redis-store.ts';
