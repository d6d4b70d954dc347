import type { JsonValue } from '../protocol/json.ts';

/** A value now or later: in-memory stores answer at once, and nothing waits for a promise that is not there. */
export type MaybePromise<Value> = Value | Promise<Value>;

/**
 * Small values with a time to live: sticky sessions, cooldowns, counters. Losing them costs a little money or speed,
 * never correctness; what must not be lost is in a batch store.
 * Every key begins with what it is for and, where it belongs to an account, the account.
 */
export interface StateStore {
  get(key: string): MaybePromise<JsonValue | undefined>;
  /** @param ttlMs - Milliseconds after which the value is gone. */
  set(key: string, value: JsonValue, ttlMs: number): MaybePromise<void>;
  delete(key: string): MaybePromise<void>;
  /** Adds to a counter and gives its new value. Atomic: two callers never get the same value. */
  increment(key: string, by: number, ttlMs: number): MaybePromise<number>;
  close?(): Promise<void>;
}
