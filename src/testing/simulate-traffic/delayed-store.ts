import type { StateStore } from '../../contracts/state-store.ts';
import type { VirtualClock } from './virtual-clock.ts';

/** A state store as if it were far away: everything happens after half of the time, and is known after all of it. */
export function delayedStore(store: StateStore, clock: VirtualClock, latencyMs: number): StateStore {
  const later = <Value>(work: () => Value | Promise<Value>): Promise<Value> =>
    new Promise((resolve, reject) => {
      const half = latencyMs / 2;
      clock.at(clock.elapsedMs + half, () => {
        Promise.resolve()
          .then(work)
          .then((value) => clock.at(clock.elapsedMs + half, () => resolve(value)), reject);
      });
    });
  return {
    get: (key) => later(() => store.get(key)),
    set: (key, value, ttlMs) => later(() => store.set(key, value, ttlMs)),
    delete: (key) => later(() => store.delete(key)),
    increment: (key, by, ttlMs) => later(() => store.increment(key, by, ttlMs)),
    change: (changes) => later(() => store.change(changes)),
  };
}
