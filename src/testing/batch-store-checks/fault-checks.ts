import type { BatchStore } from '../../storage/batch-store.ts';
import { expectHolds, expectSame } from '../provider-checks/check.ts';
import { type BatchStoreCheck, type Bench, check } from './check.ts';
import { type FaultKind, faultyStore } from './faulty-store.ts';
import { indexesOf, someItems } from './material.ts';
import { SmallWorker } from './small-worker.ts';

/** Fails unless exactly one whole batch came of it. */
async function expectWhole(store: BatchStore, account: string, batchId: string): Promise<void> {
  const { batches } = await store.list(account, { limit: 10 });
  expectSame(
    batches.map(({ id, status }) => [id, status]),
    [[batchId, 'completed']],
    'the batches',
  );
  expectSame(batches[0]?.counts, { total: 20, completed: 16, failed: 4 }, 'the counts of the record');
  expectSame(await store.recount(account, batchId), { completed: 16, failed: 4 }, 'the counts that are counted anew');
  const outcomes = await store.outcomes(account, batchId, -1, 100);
  expectSame(indexesOf(outcomes), indexesOf(someItems(20)), 'the outcomes');
  for (const { index, response, error } of outcomes) {
    expectSame(response?.body, error === undefined ? { said: index } : undefined, `the answer of ${index}`);
  }
}

/** Runs a batch again and again, and lets another call fail each time, until none is left to fail. */
async function failEveryCall(store: BatchStore, { pass }: Bench, kind: FaultKind): Promise<void> {
  for (let nth = 1; ; nth += 1) {
    const account = `${kind}-${nth}`;
    const faulty = faultyStore(store, nth, kind);
    try {
      const { batchId, told } = await new SmallWorker(faulty.store, account, pass).run();
      await expectWhole(store, account, batchId);
      expectHolds(told >= 1, 'its end was told');
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
export const faultChecks: readonly BatchStoreCheck[] = [
  check('loses and doubles nothing when a call fails, whichever it is', (store, bench) =>
    failEveryCall(store, bench, 'before'),
  ),
  check('loses and doubles nothing when the answer to a call is lost, whichever it is', (store, bench) =>
    failEveryCall(store, bench, 'after'),
  ),
];
