import type { MaybePromise } from '../platform/wait.ts';

export type { CacheReport, CacheWish } from '../core/limits/cache-rule.ts';

/**
 * Where non-streaming responses are kept for a while, as texts that only the router reads. Keys hold hashes of requests, never
 * their words; the texts hold answers. Losing them has a cost, never correctness.
 */
export interface ResponseCacheStore {
  get(key: string): MaybePromise<string | undefined>;
  /** @param ttlMs - Milliseconds after which the answer is gone. */
  set(key: string, text: string, ttlMs: number): MaybePromise<void>;
  delete(key: string): MaybePromise<void>;
}
