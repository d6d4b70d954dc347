import { LRUCache } from 'lru-cache';
import type { JsonValue } from '../protocol/json.ts';
import type { StateStore } from './state-store.ts';

/** Options of {@link memoryStore}. */
export interface MemoryStoreOptions {
  /** Entries kept; the least recently used go first. Default 10,000. */
  readonly maxEntries?: number | undefined;
  /** Monotonic milliseconds. Default: the process's own clock. */
  readonly now?: (() => number) | undefined;
}

/** State in the memory of this process: fast, bounded, gone when the process ends. */
export function memoryStore({ maxEntries = 10_000, now }: MemoryStoreOptions = {}): StateStore {
  const entries = new LRUCache<string, { value: JsonValue }>({
    max: maxEntries,
    ttlResolution: 0,
    updateAgeOnGet: false,
    ...(now === undefined ? {} : { perf: { now } }),
  });
  return {
    get: (key) => entries.get(key)?.value,
    set(key, value, ttlMs) {
      entries.set(key, { value }, { ttl: Math.max(1, ttlMs) });
    },
    delete(key) {
      entries.delete(key);
    },
    increment(key, by, ttlMs) {
      const known = entries.get(key)?.value;
      const sum = (typeof known === 'number' ? known : 0) + by;
      const ttl = typeof known === 'number' ? entries.getRemainingTTL(key) : Math.max(1, ttlMs);
      entries.set(key, { value: sum }, { ttl });
      return sum;
    },
  };
}

/** A map that forgets the least recently used entry when it is full. */
export function boundedMap<Value extends object>(
  maxEntries: number,
): {
  get(key: string): Value | undefined;
  set(key: string, value: Value): unknown;
} {
  return new LRUCache<string, Value>({ max: maxEntries });
}
