/** Checks for batch stores: a call that fails does no harm. */
import type { BatchStore } from '../../contracts/batch-store.ts';
import { expectHolds } from '../provider-checks/harness.ts';
import { type BatchStoreCheck, type Bench, storeCheck } from './check.ts';
import { expectComplete, SmallWorker } from './small-worker.ts';

/** Runs a batch again and again, and lets another call fail each time, until none is left to fail. */
async function failEveryCall(store: BatchStore, { pass }: Bench, kind: FaultKind): Promise<void> {
  for (let nth = 1; ; nth += 1) {
    const account = `${kind}-${nth}`;
    const faulty = faultyStore(store, nth, kind);
    try {
      const { batchId, reported } = await new SmallWorker(faulty.store, account, pass).run();
      await expectComplete(store, account, batchId);
      expectHolds(reported >= 1, 'its end was told');
    } catch (error) {
      throw new Error(`when call ${nth} fails ${kind} it is done: ${String(error)}`, { cause: error });
    }
    if (faulty.calls() < nth) {
      expectHolds(nth > 20, `a batch takes more than ${nth} calls`);
      return;
    }
  }
}

/** Checks that a call may fail without harm, whichever it is. */
export const batchFaultChecks: readonly BatchStoreCheck[] = [
  storeCheck('loses and doubles nothing when a call fails, whichever it is', (store, bench) =>
    failEveryCall(store, bench, 'before'),
  ),
  storeCheck('loses and doubles nothing when the answer to a call is lost, whichever it is', (store, bench) =>
    failEveryCall(store, bench, 'after'),
  ),
];

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
