/** The contract of stores for small shared state: counters, sessions, the response cache. */
import type { MaybePromise } from '../platform/wait.ts';
import type { JsonValue } from '../protocol/json.ts';

/** What is to happen to one counter; see {@link StateStore.change}. */
export interface CounterChange {
  readonly key: string;
  /** Whole number that is added. A counter never falls below 0. */
  readonly by: number;
  /** Milliseconds after which a counter that is made by this is gone; one that is there keeps its time. */
  readonly ttlMs: number;
  /** The change is refused when the counter, with `by` and all counters `beside` it, would come above this. */
  readonly max?: number | undefined;
  /** Keys of counters that are held under `max` together with this one. */
  readonly beside?: readonly string[] | undefined;
}

/** How {@link StateStore.change} came out. */
export interface ChangedCounters {
  /** False: one change would have broken its maximum, and nothing was changed. */
  readonly applied: boolean;
  /** For each change the counter and all those beside it: after the change, or as they are when it was refused. */
  readonly sums: readonly number[];
}

/** Names a change, so that it is made once however often it is sent; see {@link StateStore.change}. */
export interface ChangeName {
  /** Random letters and digits of whoever sends the change. */
  readonly writer: string;
  /** Different for each of the writer's changes. */
  readonly number: number;
  /** True: it was sent before, and whether it was made is unknown. */
  readonly isRepeated?: boolean | undefined;
  /** True: the changes take back what was made under this name, if it was made, and keep it from being made later. */
  readonly isRevoked?: boolean | undefined;
}

/**
 * Small values with a time to live: sticky sessions, cooldowns, counters. Losing them costs a little cost or speed,
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
  /**
   * Changes several counters at once, or none of them. Atomic; the keys of one call belong to one account.
   *
   * @param name - For stores behind a network, where a result may be lost: what was made under this name within the last
   * day is not made again, and nothing is made that was revoked. Stores in the process may leave it out.
   */
  change(changes: readonly CounterChange[], name?: ChangeName): MaybePromise<ChangedCounters>;
  /**
   * Adds to the end of a text that has so many bytes of UTF-8, or makes it where that is 0. Atomic: of several writers
   * who add at the same place one does, and the same text added there once more by a writer who missed the answer counts
   * as added. Only what the option `streams` keeps is written so; a store without it keeps no streams.
   *
   * @param ttlMs - Milliseconds after which all of the text is gone.
   * @returns False where the text has another length: nothing was changed.
   */
  append?(key: string, text: string, at: number, ttlMs: number): MaybePromise<boolean>;
  /**
   * Bytes of a text that was made by {@link StateStore.append}, as a text: empty where there are none. A character of
   * which the first byte is missing is U+FFFD for each of its bytes.
   *
   * @param from - The first byte, from 0.
   * @param to - The byte before which it ends. Default: all that there is.
   */
  slice?(key: string, from: number, to?: number): MaybePromise<string>;
  /**
   * Finds out at the start of a program whether the store is there. `router.batches.start()` calls it.
   *
   * @throws {@link StorageError} that says what to look at, where going on without the store makes no sense.
   */
  open?(): Promise<void>;
  close?(): Promise<void>;
}

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

/** What a caller says about the response cache (gaps 9.3). */
export interface RequestedCache {
  /** Whether the answer may come from the cache, and be kept there. Default: as the router is configured. */
  readonly enabled?: boolean | undefined;
  /** Seconds that an answer is kept, from 1 to 86,400; what lies outside is moved to the nearest. */
  readonly ttlSeconds?: number | undefined;
  /** True: what is kept for this request is thrown away first. */
  readonly clear?: boolean | undefined;
}

/** What the response says about the cache (gaps 9.4). */
export type CacheReport =
  | { readonly status: 'MISS'; readonly ttlSeconds: number }
  | {
      readonly status: 'HIT';
      /** What is left. */
      readonly ttlSeconds: number;
      readonly ageSeconds: number;
      /** Generation id of the request that was answered. */
      readonly sourceId: string;
    };
