/** The response cache in memory and in a state store. */
import { sizedMap } from './memory.ts';
import type { ResponseCacheStore, StateStore } from '../contracts/state-store.ts';
import * as read from '../platform/json.ts';

/**
 * Answers in the memory of this process.
 *
 * @param maxBytes - Bytes of all answers together, about; the least recently used go first.
 * @param now - Monotonic milliseconds.
 */
export function memoryResponseCache(maxBytes: number, now: () => number): ResponseCacheStore {
  // Texts are two bytes a character at most.
  const texts = sizedMap<{ readonly text: string }>(
    Math.floor(maxBytes),
    ({ text }, key) => 2 * (text.length + key.length),
    now,
  );
  return {
    get: (key) => texts.get(key)?.text,
    set: (key, text, ttlMs) => texts.set(key, { text }, ttlMs),
    delete: (key) => texts.delete(key),
  };
}

/** Answers in a state store that instances share. It limits itself: Redis by `maxmemory`. */
export function stateResponseCache(state: StateStore): ResponseCacheStore {
  return {
    get(key) {
      const found = state.get(key);
      return found instanceof Promise ? found.then(read.string) : read.string(found);
    },
    set: (key, text, ttlMs) => state.set(key, text, ttlMs),
    delete: (key) => state.delete(key),
  };
}
