import type { BatchStore } from '../../storage/batch-store.ts';

/** How a call fails: before anything was done, or after everything was done, so that only the answer got lost. */
export type FaultKind = 'before' | 'after';

/** A store of which one call fails. */
export interface FaultyStore {
  readonly store: BatchStore;
  /** Calls so far. */
  readonly calls: () => number;
}

/** Makes the n-th call of a store fail, counted from 1. */
export function faultyStore(inner: BatchStore, nth: number, kind: FaultKind): FaultyStore {
  let calls = 0;
  const store = new Proxy(inner, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function') return member;
      return async (...values: unknown[]): Promise<unknown> => {
        calls += 1;
        const fails = calls === nth;
        if (fails && kind === 'before') throw new Error(`call ${nth} (${String(name)}) fails before it is done`);
        const result: unknown = await Reflect.apply(member, target, values);
        if (fails) throw new Error(`call ${nth} (${String(name)}) fails after it was done`);
        return result;
      };
    },
  });
  return { store, calls: () => calls };
}
