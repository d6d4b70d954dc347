import { isTerminal } from '../../core/batch/machine.ts';
import { BATCH_STATUSES } from '../../protocol/batch.ts';
import { expectHolds, expectSame } from '../provider-checks/ask.ts';
import {
  ACCOUNT,
  answered,
  BATCH,
  type BatchStoreCheck,
  check,
  claim,
  claimTask,
  expectRejected,
  expectTask,
  makeBatch,
  someItems,
} from './check.ts';

const removalChecks = BATCH_STATUSES.map((status) =>
  check(`${isTerminal(status) ? 'removes' : 'does not remove'} a batch that is ${status}`, async (store) => {
    await makeBatch(store, { record: { status } });
    expectSame(await store.remove(ACCOUNT, BATCH), isTerminal(status), 'whether it was removed');
    expectSame((await store.find(ACCOUNT, BATCH)) === undefined, isTerminal(status), 'whether it is gone');
  }),
);

/** Checks of changing and removing batches. */
export const savingChecks: readonly BatchStoreCheck[] = [
  check('saves a changed batch', async (store) => {
    const batch = await makeBatch(store);
    const next = { ...batch, status: 'finalizing' as const, provider: 'Acme', upstream: { id: 'up' }, revision: 2 };
    expectSame(await store.save(next, []), true, 'whether it was saved');
    expectSame(await store.find(ACCOUNT, BATCH), next, 'the batch');
  }),

  check('forgets members that a changed batch no longer has', async (store) => {
    const { provider: _, ...batch } = await makeBatch(store, { record: { provider: 'Acme' } });
    await store.save({ ...batch, revision: 2 }, []);
    expectSame((await store.find(ACCOUNT, BATCH))?.provider, undefined, 'the provider');
  }),

  check('saves nothing over the change of somebody else', async (store) => {
    const batch = await makeBatch(store);
    await store.save({ ...batch, provider: 'First', revision: 2 }, []);
    const late = await store.save({ ...batch, provider: 'Second', revision: 2 }, [
      { account: ACCOUNT, batchId: BATCH, effect: 'stop', runAt: 0 },
    ]);
    expectSame(late, false, 'whether the second was saved');
    expectSame((await store.find(ACCOUNT, BATCH))?.provider, 'First', 'the provider');
    expectSame(await claimTask(store), undefined, 'a task of the second');
  }),

  check('saves neither an older nor a much newer revision', async (store) => {
    const batch = await makeBatch(store, { record: { revision: 5 } });
    for (const revision of [4, 5, 7]) {
      expectSame(await store.save({ ...batch, revision }, []), false, `whether revision ${revision} was saved`);
    }
  }),

  check('saves nothing where there is no batch', async (store) => {
    const batch = await makeBatch(store, { record: { status: 'completed' } });
    await store.remove(ACCOUNT, BATCH);
    expectSame(await store.save({ ...batch, revision: 2 }, []), false, 'whether it was saved');
    expectSame(await store.find(ACCOUNT, BATCH), undefined, 'the batch');
  }),

  check('lets exactly one of many changes win', async (store) => {
    const batch = await makeBatch(store);
    const saved = await Promise.all(
      Array.from({ length: 10 }, (_, index) => store.save({ ...batch, provider: `${index}`, revision: 2 }, [])),
    );
    expectSame(saved.filter(Boolean).length, 1, 'how many were saved');
    expectSame((await store.find(ACCOUNT, BATCH))?.provider, `${saved.indexOf(true)}`, 'the one that is there');
  }),

  check('never writes the counts of a record', async (store) => {
    const batch = await makeBatch(store);
    await claim(store, 't', { limit: 1 });
    await store.storeOutcomes(ACCOUNT, BATCH, 't', [answered(0)]);
    await store.save({ ...batch, counts: { total: 99, completed: 0, failed: 50 }, revision: 2 }, []);
    expectSame((await store.find(ACCOUNT, BATCH))?.counts, { total: 3, completed: 1, failed: 0 }, 'the counts');
  }),

  check('saves tasks with the change that they follow from', async (store) => {
    const batch = await makeBatch(store);
    const runAt = (await store.now()) - 5;
    await store.save({ ...batch, revision: 2 }, [{ account: ACCOUNT, batchId: BATCH, effect: 'stop', runAt }]);
    const { token: _, ...task } = await expectTask(store);
    expectSame(task, { account: ACCOUNT, batchId: BATCH, effect: 'stop', runAt, attempts: 1 }, 'the task');
  }),

  check('replaces a task of the same kind, and who held it has lost it', async (store) => {
    const batch = await makeBatch(store, { effects: ['run'] });
    const first = await expectTask(store, 'first');
    await store.rescheduleTask(first, { afterMs: 0, memo: { seen: 1 } });
    const held = await expectTask(store, 'second');
    const runAt = await store.now();
    await store.save({ ...batch, revision: 2 }, [{ account: ACCOUNT, batchId: BATCH, effect: 'run', runAt }]);
    expectSame(await store.finishTask(held), false, 'whether the old one is still held');
    const next = await expectTask(store, 'third');
    expectSame([next.attempts, next.memo], [1, undefined], 'the attempts and the memo of the new one');
    expectSame(await claimTask(store), undefined, 'another task');
  }),

  check('keeps the tasks of other kinds', async (store) => {
    const batch = await makeBatch(store, { effects: ['run'] });
    const held = await expectTask(store);
    const runAt = await store.now();
    await store.save({ ...batch, revision: 2 }, [{ account: ACCOUNT, batchId: BATCH, effect: 'stop', runAt }]);
    expectSame(await store.finishTask(held), true, 'whether the other one is still held');
  }),

  ...removalChecks,

  check('removes everything of a batch', async (store) => {
    await makeBatch(store, { items: 300, effects: ['notify'] });
    await claim(store, 't', { limit: 5 });
    await store.storeOutcomes(ACCOUNT, BATCH, 't', [answered(0), answered(1)]);
    const batch = await store.find(ACCOUNT, BATCH);
    expectHolds(batch !== undefined, 'the batch is there');
    if (batch !== undefined) await store.save({ ...batch, status: 'cancelled', revision: 2 }, []);
    expectSame(await store.remove(ACCOUNT, BATCH), true, 'whether it was removed');
    expectSame(await store.items(ACCOUNT, BATCH, -1, 10), [], 'its requests');
    expectSame(await store.outcomes(ACCOUNT, BATCH, -1, 10), [], 'its outcomes');
    expectSame(await store.recount(ACCOUNT, BATCH), { completed: 0, failed: 0 }, 'its counts');
    expectSame(await store.nextTaskIn(), undefined, 'its tasks');
    expectSame(await store.remove(ACCOUNT, BATCH), false, 'whether it was removed again');
  }),

  check('takes the id of a removed batch again', async (store) => {
    await makeBatch(store, { items: 5, record: { status: 'failed' } });
    await store.remove(ACCOUNT, BATCH);
    await makeBatch(store, { items: 2 });
    expectSame(await store.items(ACCOUNT, BATCH, -1, 10), someItems(2), 'its requests');
  }),

  check('takes the task of a removed batch from its worker', async (store) => {
    await makeBatch(store, { record: { status: 'failed' }, effects: ['notify'] });
    const task = await expectTask(store);
    await store.remove(ACCOUNT, BATCH);
    expectSame(await store.renewTask(task, 1_000), false, 'whether it is still held');
    expectSame(await store.rescheduleTask(task, { afterMs: 0 }), false, 'whether it can be put off');
    await expectRejected(store.addItems(ACCOUNT, BATCH, someItems(1)), 'RangeError', 'adding to it');
  }),

  check('removes one batch and leaves the others', async (store) => {
    await makeBatch(store, { id: 'batch_1', record: { status: 'failed' } });
    await makeBatch(store, { id: 'batch_10', record: { status: 'failed' }, effects: ['notify'] });
    await store.remove(ACCOUNT, 'batch_1');
    expectSame((await store.items(ACCOUNT, 'batch_10', -1, 10)).length, 3, 'the requests of the other');
    expectSame((await expectTask(store)).batchId, 'batch_10', 'the task of the other');
  }),
];
