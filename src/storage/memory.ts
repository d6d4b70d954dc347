/** The state store and the key store in memory. */
import { TimedCounters } from './timed-counters.ts';
import { callable, type OptionShape, wholeNumber } from '../options/values.ts';
import { checkShape } from '../platform/check-options.ts';
import { LRUCache } from 'lru-cache';
import { andThen, onDemand } from '../platform/wait.ts';
import type { MemoryTexts } from './memory-texts.ts';
import type { JsonValue } from '../protocol/json.ts';
import type { KeyStore, StoredKey } from '../contracts/key-store.ts';
import type { ChangedCounters, CounterChange, StateStore } from '../contracts/state-store.ts';

/** Options of {@link memoryStore}. */
export interface MemoryStoreOptions {
  /**
   * Entries kept; the least recently used go first. Counters are not among them: a counter stays until its time is over,
   * because what was spent must not be forgotten. Default 10,000.
   */
  readonly maxEntries?: number | undefined;
  /** Monotonic milliseconds. Default: the process's own clock. */
  readonly now?: (() => number) | undefined;
}

const OPTIONS: OptionShape<MemoryStoreOptions> = { maxEntries: wholeNumber(1), now: callable };

/** State in the memory of this process: fast, limited in size, gone when the process ends. */
export function memoryStore(options: MemoryStoreOptions = {}): StateStore {
  checkShape<MemoryStoreOptions>(OPTIONS, options, 'memoryStore');
  const { maxEntries = 10_000, now = () => performance.now() } = options;
  // A change looks at dozens of counters, and the clock is read for each of them unless it stands still.
  let standing: number | undefined;
  const perf = { now: () => standing ?? now() };
  const made = <Value>(): LRUCache<string, { value: Value }> =>
    new LRUCache({
      max: maxEntries,
      ttlResolution: 0,
      updateAgeOnGet: false,
      perf,
    });
  // Made when something is kept: it reserves its memory at once. Counters are kept apart, and until their time is over:
  // costs are not forgotten because there are many sessions.
  let entries: LRUCache<string, { value: JsonValue }> | undefined;
  const counters = new TimedCounters(() => perf.now());
  let texts: MemoryTexts | undefined;
  const loadTexts = onDemand(async () => {
    const Loaded = (await import('./memory-texts.ts')).MemoryTexts;
    return (texts = new Loaded(made()));
  });
  const valueOf = (key: string): JsonValue | undefined => counters.get(key) ?? entries?.get(key)?.value;
  const countOf = (key: string): number | undefined => {
    const known = valueOf(key);
    return typeof known === 'number' ? known : undefined;
  };
  function count(key: string, value: number, ttlMs: number): void {
    if (counters.replace(key, value)) return;
    const ttl = countOf(key) === undefined ? undefined : entries?.getRemainingTTL(key);
    entries?.delete(key);
    counters.add(key, value, ttl ?? Math.max(1, ttlMs));
  }
  function sumOf({ key, beside }: CounterChange): number {
    let sum = countOf(key) ?? 0;
    if (beside !== undefined) for (const one of beside) sum += countOf(one) ?? 0;
    return sum;
  }
  function change(changes: readonly CounterChange[]): ChangedCounters {
    const sums: number[] = [];
    let applied = true;
    for (const one of changes) {
      const sum = sumOf(one);
      sums.push(sum);
      if (one.max !== undefined && sum + one.by > one.max) applied = false;
    }
    if (!applied) return { applied, sums };
    for (const { key, by, ttlMs } of changes) {
      const before = countOf(key) ?? 0;
      const after = Math.max(0, before + by);
      count(key, after, ttlMs);
      for (let index = 0; index < changes.length; index += 1) {
        const other = changes[index];
        if (other?.key === key || other?.beside?.includes(key) === true) {
          sums[index] = (sums[index] ?? 0) + (after - before);
        }
      }
    }
    return { applied, sums };
  }

  return {
    get: valueOf,
    set(key, value, ttlMs) {
      counters.delete(key);
      (entries ??= made()).set(key, { value }, { ttl: Math.max(1, ttlMs) });
    },
    delete(key) {
      counters.delete(key);
      entries?.delete(key);
      texts?.delete(key);
    },
    increment(key, by, ttlMs) {
      const sum = (countOf(key) ?? 0) + by;
      count(key, sum, ttlMs);
      return sum;
    },
    append: (...text) => andThen(loadTexts(), (one) => one.append(...text)),
    slice: (...place) => texts?.slice(...place) ?? '',
    change(changes) {
      standing = now();
      try {
        return change(changes);
      } finally {
        standing = undefined;
      }
    },
  };
}

/**
 * A map that forgets what was not written for the longest time when it is full. Not an `LRUCache`: that reserves memory
 * for all of its entries when it is made, and a router has eight such maps.
 */
export function boundedMap<Value extends object>(maxEntries: number): Map<string, Value> {
  return new BoundedMap(maxEntries);
}

/** Reads as fast as any map: only what is written takes more. */
class BoundedMap<Value extends object> extends Map<string, Value> {
  readonly #maxEntries: number;
  #newest: string | undefined;

  constructor(maxEntries: number) {
    super();
    this.#maxEntries = maxEntries;
  }

  override set(key: string, value: Value): this {
    // A map is in the order in which keys came.
    if (key !== this.#newest) this.delete(key);
    super.set(key, value);
    this.#newest = key;
    const most = this.#maxEntries;
    if (this.size <= most) return this;
    // Many at once: whoever looks for the oldest passes all that were deleted since the map was last tidied up.
    for (const oldest of this.keys()) {
      this.delete(oldest);
      if (this.size <= most - (most >> 4)) break;
    }
    return this;
  }
}

/** A map that is limited by the size of its values, and forgets the least recently used ones. */
export function sizedMap<Value extends object>(
  maxSize: number,
  sizeOf: (value: Value, key: string) => number,
  now?: () => number,
): {
  get(key: string): Value | undefined;
  set(key: string, value: Value, ttlMs: number): void;
  delete(key: string): void;
} {
  const map = new LRUCache<string, Value>({
    maxSize,
    ttlResolution: 0,
    sizeCalculation: (value, key) => Math.max(1, sizeOf(value, key)),
    ...(now === undefined ? {} : { perf: { now } }),
  });
  return {
    get: (key) => map.get(key),
    set: (key, value, ttlMs) => void map.set(key, value, { ttl: Math.max(1, ttlMs) }),
    delete: (key) => void map.delete(key),
  };
}

/** API keys in the memory of this process: for tests, and for programs that fill it at start. */
export function memoryKeys(): KeyStore {
  const keys = new Map<string, StoredKey>();
  return {
    find: (hash) => keys.get(hash),
    list: (account, after = '', limit) =>
      [...keys.values()]
        .filter(({ hash, account: { id } }) => hash > after && (account === undefined || id === account))
        .toSorted((left, right) => (left.hash < right.hash ? -1 : 1))
        .slice(0, limit),
    add: (key) => void keys.set(key.hash, key),
    replace(key) {
      if (keys.get(key.hash)?.revision !== key.revision - 1) return false;
      keys.set(key.hash, key);
      return true;
    },
    remove: (hash) => keys.delete(hash),
  };
}
