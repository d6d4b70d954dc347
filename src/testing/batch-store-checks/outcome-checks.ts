/** Checks for batch stores: outcomes, changes and deletion. */
import { BATCH_STATUSES } from '../../protocol/batch.ts';
import type { BatchStore } from '../../contracts/batch-store.ts';
import { expectHolds, expectSame } from '../provider-checks/harness.ts';
import {
  CHECKED_ACCOUNT,
  answered,
  BATCH,
  type BatchStoreCheck,
  storeCheck,
  claim,
  claimTask,
  expectRejected,
  expectTask,
  indexesOf,
  ascending,
  makeBatch,
  PAST_SHORT_MS,
  ITEM_ERROR,
  refused,
  resultIdOf,
  SHORT_MS,
  someItems,
} from './check.ts';
import { isTerminal } from '../../core/batch/machine.ts';

/** Fails unless the counts of the record and those that are counted anew are these. */
async function expectCounts(store: BatchStore, completed: number, failed: number): Promise<void> {
  const { total: _, ...counts } = (await store.find(CHECKED_ACCOUNT, BATCH))?.counts ?? { total: 0 };
  expectSame(counts, { completed, failed }, 'the counts of the record');
  expectSame(await store.recount(CHECKED_ACCOUNT, BATCH), { completed, failed }, 'the counts that are counted anew');
}

const statusChecks = BATCH_STATUSES.map((status) => {
  const stores = status === 'in_progress' || status === 'cancelling';
  return storeCheck(`${stores ? 'stores' : 'does not store'} outcomes while the batch is ${status}`, async (store) => {
    const batch = await makeBatch(store);
    await claim(store, 't');
    await store.save({ ...batch, status, revision: 2 }, []);
    expectSame(
      await store.storeOutcomes(CHECKED_ACCOUNT, BATCH, 't', [answered(1)]),
      stores ? [1] : [],
      'what was stored',
    );
    await expectCounts(store, stores ? 1 : 0, 0);
  });
});

/** Checks of what became of requests. */
export const outcomeChecks: readonly BatchStoreCheck[] = [
  storeCheck('stores outcomes and counts them', async (store) => {
    await makeBatch(store, { items: 5 });
    await claim(store, 't');
    const stored = await store.storeOutcomes(CHECKED_ACCOUNT, BATCH, 't', [answered(0), refused(1), answered(2)]);
    expectSame(ascending(stored), [0, 1, 2], 'what was stored');
    await expectCounts(store, 2, 1);
    await store.storeOutcomes(CHECKED_ACCOUNT, BATCH, 't', [refused(4)]);
    await expectCounts(store, 2, 2);
  }),

  ...statusChecks,

  storeCheck('stores nothing when nothing is given', async (store) => {
    await makeBatch(store);
    expectSame(await store.storeOutcomes(CHECKED_ACCOUNT, BATCH, 't', []), [], 'what was stored');
    await expectCounts(store, 0, 0);
  }),

  storeCheck('stores nothing of what was not claimed', async (store) => {
    await makeBatch(store);
    await claim(store, 't', { limit: 1 });
    expectSame(
      await store.storeOutcomes(CHECKED_ACCOUNT, BATCH, 't', [answered(1), answered(99)]),
      [],
      'what was stored',
    );
    await expectCounts(store, 0, 0);
  }),

  storeCheck('stores what is its own of a mixed list', async (store) => {
    await makeBatch(store, { items: 4 });
    await claim(store, 'a', { limit: 2 });
    await claim(store, 'b', { limit: 2 });
    const all = [answered(3), answered(0), answered(2), answered(1)];
    expectSame(ascending(await store.storeOutcomes(CHECKED_ACCOUNT, BATCH, 'b', all)), [2, 3], 'what was stored');
    await expectCounts(store, 2, 0);
  }),

  storeCheck('stores the first of two outcomes of one request', async (store) => {
    await makeBatch(store);
    await claim(store, 't');
    const stored = await store.storeOutcomes(CHECKED_ACCOUNT, BATCH, 't', [answered(0), refused(0)]);
    expectSame(stored, [0], 'what was stored');
    expectSame((await store.outcomes(CHECKED_ACCOUNT, BATCH, -1, 10))[0]?.error, undefined, 'the error');
    await expectCounts(store, 1, 0);
  }),

  storeCheck('stores an outcome once', async (store) => {
    await makeBatch(store);
    await claim(store, 't');
    await store.storeOutcomes(CHECKED_ACCOUNT, BATCH, 't', [answered(0, 'first')]);
    expectSame(
      await store.storeOutcomes(CHECKED_ACCOUNT, BATCH, 't', [answered(0, 'second')]),
      [],
      'what was stored again',
    );
    expectSame((await store.outcomes(CHECKED_ACCOUNT, BATCH, -1, 10))[0]?.response?.body, 'first', 'the answer');
    await expectCounts(store, 1, 0);
  }),

  storeCheck('stores under a token whose lease has ended what nobody else has claimed', async (store, { pass }) => {
    await makeBatch(store);
    await claim(store, 'a', { leaseMs: SHORT_MS });
    await pass(PAST_SHORT_MS);
    expectSame(await store.storeOutcomes(CHECKED_ACCOUNT, BATCH, 'a', [answered(0)]), [0], 'what was stored');
    expectSame((await claim(store, 'b')).length, 2, 'how many can be claimed');
    await expectCounts(store, 1, 0);
  }),

  storeCheck('stores nothing under a token whose requests fell to somebody else', async (store, { pass }) => {
    await makeBatch(store);
    await claim(store, 'a', { leaseMs: SHORT_MS });
    await pass(PAST_SHORT_MS);
    await claim(store, 'b', { limit: 1 });
    expectSame(await store.storeOutcomes(CHECKED_ACCOUNT, BATCH, 'a', [answered(0, 'late')]), [], 'what was stored');
    expectSame(
      await store.storeOutcomes(CHECKED_ACCOUNT, BATCH, 'b', [answered(0, 'own')]),
      [0],
      'what the other stored',
    );
    expectSame(
      await store.storeOutcomes(CHECKED_ACCOUNT, BATCH, 'a', [answered(0, 'later')]),
      [],
      'what was stored after',
    );
    expectSame((await store.outcomes(CHECKED_ACCOUNT, BATCH, -1, 10))[0]?.response?.body, 'own', 'the answer');
    await expectCounts(store, 1, 0);
  }),

  storeCheck('stores nothing that was released', async (store) => {
    await makeBatch(store);
    await claim(store, 't');
    await store.releaseItems(CHECKED_ACCOUNT, BATCH, 't');
    expectSame(await store.storeOutcomes(CHECKED_ACCOUNT, BATCH, 't', [answered(0)]), [], 'what was stored');
  }),

  storeCheck('stores nothing where there is no batch', async (store) => {
    expectSame(await store.storeOutcomes(CHECKED_ACCOUNT, BATCH, 't', [answered(0)]), [], 'what was stored');
    expectSame(await store.failRemaining(CHECKED_ACCOUNT, BATCH, ITEM_ERROR, resultIdOf), 0, 'how many were failed');
  }),

  storeCheck('counts right when many store at once', async (store) => {
    await makeBatch(store, { items: 64 });
    await Promise.all(
      Array.from({ length: 16 }, async (_, worker) => {
        const claimed = await claim(store, `t${worker}`, { limit: 4 });
        const outcomes = claimed.map(({ index }) => (index % 4 === 0 ? refused(index) : answered(index)));
        await store.storeOutcomes(CHECKED_ACCOUNT, BATCH, `t${worker}`, outcomes);
      }),
    );
    const left = await claim(store, 'rest');
    const outcomes = left.map(({ index }) => (index % 4 === 0 ? refused(index) : answered(index)));
    await store.storeOutcomes(CHECKED_ACCOUNT, BATCH, 'rest', outcomes);
    await expectCounts(store, 48, 16);
  }),

  storeCheck('fails what remains, whoever holds it', async (store) => {
    await makeBatch(store, { items: 6 });
    await claim(store, 'a', { limit: 3 });
    await store.storeOutcomes(CHECKED_ACCOUNT, BATCH, 'a', [answered(0)]);
    expectSame(await store.failRemaining(CHECKED_ACCOUNT, BATCH, ITEM_ERROR, resultIdOf), 5, 'how many were failed');
    await expectCounts(store, 1, 5);
    const outcomes = await store.outcomes(CHECKED_ACCOUNT, BATCH, -1, 10);
    expectSame(indexesOf(outcomes), [0, 1, 2, 3, 4, 5], 'the outcomes');
    const last = { index: 5, customId: 'custom-5', resultId: 'batch_req_late_5', error: ITEM_ERROR };
    expectSame(outcomes[5], last, 'the last of them');
    expectSame(await store.storeOutcomes(CHECKED_ACCOUNT, BATCH, 'a', [answered(1)]), [], 'what was stored afterwards');
    await expectCounts(store, 1, 5);
  }),

  storeCheck('fails what remains once', async (store) => {
    await makeBatch(store);
    await store.failRemaining(CHECKED_ACCOUNT, BATCH, ITEM_ERROR, resultIdOf);
    expectSame(
      await store.failRemaining(CHECKED_ACCOUNT, BATCH, ITEM_ERROR, () => 'again'),
      0,
      'how many were failed again',
    );
    await expectCounts(store, 0, 3);
  }),

  storeCheck('fails what remains of an ended batch as well', async (store) => {
    await makeBatch(store, { record: { status: 'expired' } });
    expectSame(await store.failRemaining(CHECKED_ACCOUNT, BATCH, ITEM_ERROR, resultIdOf), 3, 'how many were failed');
    await expectCounts(store, 0, 3);
  }),

  storeCheck('fails many requests', async (store) => {
    await makeBatch(store, { items: 1_250 });
    await claim(store, 'a', { limit: 10 });
    expectSame(
      await store.failRemaining(CHECKED_ACCOUNT, BATCH, ITEM_ERROR, resultIdOf),
      1_250,
      'how many were failed',
    );
    await expectCounts(store, 0, 1_250);
  }),

  storeCheck('gives each request one outcome when results and the end come at once', async (store) => {
    await makeBatch(store, { items: 40 });
    const tokens = ['a', 'b', 'c', 'd'];
    for (const token of tokens) await claim(store, token, { limit: 10 });
    const all = Array.from({ length: 40 }, (_, index) => answered(index));
    const [failed, ...stored] = await Promise.all([
      store.failRemaining(CHECKED_ACCOUNT, BATCH, ITEM_ERROR, resultIdOf),
      ...tokens.map((token) => store.storeOutcomes(CHECKED_ACCOUNT, BATCH, token, all)),
    ]);
    const completed = stored.flat().length;
    expectSame(completed + failed, 40, 'how many outcomes there are');
    await expectCounts(store, completed, failed);
  }),
];

const removalChecks = BATCH_STATUSES.map((status) =>
  storeCheck(`${isTerminal(status) ? 'removes' : 'does not remove'} a batch that is ${status}`, async (store) => {
    await makeBatch(store, { record: { status } });
    expectSame(await store.remove(CHECKED_ACCOUNT, BATCH), isTerminal(status), 'whether it was removed');
    expectSame((await store.find(CHECKED_ACCOUNT, BATCH)) === undefined, isTerminal(status), 'whether it is gone');
  }),
);

/** Checks of changing and removing batches. */
export const savingChecks: readonly BatchStoreCheck[] = [
  storeCheck('saves a changed batch', async (store) => {
    const batch = await makeBatch(store);
    const next = { ...batch, status: 'finalizing' as const, provider: 'Acme', upstream: { id: 'up' }, revision: 2 };
    expectSame(await store.save(next, []), true, 'whether it was saved');
    expectSame(await store.find(CHECKED_ACCOUNT, BATCH), next, 'the batch');
  }),

  storeCheck('forgets members that a changed batch no longer has', async (store) => {
    const { provider: _, ...batch } = await makeBatch(store, { record: { provider: 'Acme' } });
    await store.save({ ...batch, revision: 2 }, []);
    expectSame((await store.find(CHECKED_ACCOUNT, BATCH))?.provider, undefined, 'the provider');
  }),

  storeCheck('saves nothing over the change of somebody else', async (store) => {
    const batch = await makeBatch(store);
    await store.save({ ...batch, provider: 'First', revision: 2 }, []);
    const late = await store.save({ ...batch, provider: 'Second', revision: 2 }, [
      { account: CHECKED_ACCOUNT, batchId: BATCH, effect: 'stop', runAt: 0 },
    ]);
    expectSame(late, false, 'whether the second was saved');
    expectSame((await store.find(CHECKED_ACCOUNT, BATCH))?.provider, 'First', 'the provider');
    expectSame(await claimTask(store), undefined, 'a task of the second');
  }),

  storeCheck('saves neither an older nor a much newer revision', async (store) => {
    const batch = await makeBatch(store, { record: { revision: 5 } });
    for (const revision of [4, 5, 7]) {
      expectSame(await store.save({ ...batch, revision }, []), false, `whether revision ${revision} was saved`);
    }
  }),

  storeCheck('saves nothing where there is no batch', async (store) => {
    const batch = await makeBatch(store, { record: { status: 'completed' } });
    await store.remove(CHECKED_ACCOUNT, BATCH);
    expectSame(await store.save({ ...batch, revision: 2 }, []), false, 'whether it was saved');
    expectSame(await store.find(CHECKED_ACCOUNT, BATCH), undefined, 'the batch');
  }),

  storeCheck('lets exactly one of many changes win', async (store) => {
    const batch = await makeBatch(store);
    const saved = await Promise.all(
      Array.from({ length: 10 }, (_, index) => store.save({ ...batch, provider: `${index}`, revision: 2 }, [])),
    );
    expectSame(saved.filter(Boolean).length, 1, 'how many were saved');
    expectSame((await store.find(CHECKED_ACCOUNT, BATCH))?.provider, `${saved.indexOf(true)}`, 'the one that is there');
  }),

  storeCheck('never writes the counts of a record', async (store) => {
    const batch = await makeBatch(store);
    await claim(store, 't', { limit: 1 });
    await store.storeOutcomes(CHECKED_ACCOUNT, BATCH, 't', [answered(0)]);
    await store.save({ ...batch, counts: { total: 99, completed: 0, failed: 50 }, revision: 2 }, []);
    expectSame((await store.find(CHECKED_ACCOUNT, BATCH))?.counts, { total: 3, completed: 1, failed: 0 }, 'the counts');
  }),

  storeCheck('saves tasks with the change that they follow from', async (store) => {
    const batch = await makeBatch(store);
    const runAt = (await store.now()) - 5;
    await store.save({ ...batch, revision: 2 }, [{ account: CHECKED_ACCOUNT, batchId: BATCH, effect: 'stop', runAt }]);
    const { token: _, ...task } = await expectTask(store);
    expectSame(task, { account: CHECKED_ACCOUNT, batchId: BATCH, effect: 'stop', runAt, attempts: 1 }, 'the task');
  }),

  storeCheck('replaces a task of the same kind, and who held it has lost it', async (store) => {
    const batch = await makeBatch(store, { effects: ['run'] });
    const first = await expectTask(store, 'first');
    await store.rescheduleTask(first, { afterMs: 0, memo: { seen: 1 } });
    const held = await expectTask(store, 'second');
    const runAt = await store.now();
    await store.save({ ...batch, revision: 2 }, [{ account: CHECKED_ACCOUNT, batchId: BATCH, effect: 'run', runAt }]);
    expectSame(await store.finishTask(held), false, 'whether the old one is still held');
    const next = await expectTask(store, 'third');
    expectSame([next.attempts, next.memo], [1, undefined], 'the attempts and the memo of the new one');
    expectSame(await claimTask(store), undefined, 'another task');
  }),

  storeCheck('keeps the tasks of other kinds', async (store) => {
    const batch = await makeBatch(store, { effects: ['run'] });
    const held = await expectTask(store);
    const runAt = await store.now();
    await store.save({ ...batch, revision: 2 }, [{ account: CHECKED_ACCOUNT, batchId: BATCH, effect: 'stop', runAt }]);
    expectSame(await store.finishTask(held), true, 'whether the other one is still held');
  }),

  ...removalChecks,

  storeCheck('removes everything of a batch', async (store) => {
    await makeBatch(store, { items: 300, effects: ['notify'] });
    await claim(store, 't', { limit: 5 });
    await store.storeOutcomes(CHECKED_ACCOUNT, BATCH, 't', [answered(0), answered(1)]);
    const batch = await store.find(CHECKED_ACCOUNT, BATCH);
    expectHolds(batch !== undefined, 'the batch is there');
    await store.save({ ...batch, status: 'cancelled', revision: 2 }, []);
    expectSame(await store.remove(CHECKED_ACCOUNT, BATCH), true, 'whether it was removed');
    expectSame(await store.items(CHECKED_ACCOUNT, BATCH, -1, 10), [], 'its requests');
    expectSame(await store.outcomes(CHECKED_ACCOUNT, BATCH, -1, 10), [], 'its outcomes');
    expectSame(await store.recount(CHECKED_ACCOUNT, BATCH), { completed: 0, failed: 0 }, 'its counts');
    expectSame(await store.nextTaskIn(), undefined, 'its tasks');
    expectSame(await store.remove(CHECKED_ACCOUNT, BATCH), false, 'whether it was removed again');
  }),

  storeCheck('takes the id of a removed batch again', async (store) => {
    await makeBatch(store, { items: 5, record: { status: 'failed' } });
    await store.remove(CHECKED_ACCOUNT, BATCH);
    await makeBatch(store, { items: 2 });
    expectSame(await store.items(CHECKED_ACCOUNT, BATCH, -1, 10), someItems(2), 'its requests');
  }),

  storeCheck('takes the task of a removed batch from its worker', async (store) => {
    await makeBatch(store, { record: { status: 'failed' }, effects: ['notify'] });
    const task = await expectTask(store);
    await store.remove(CHECKED_ACCOUNT, BATCH);
    expectSame(await store.renewTask(task, 1_000), false, 'whether it is still held');
    expectSame(await store.rescheduleTask(task, { afterMs: 0 }), false, 'whether it can be put off');
    await expectRejected(store.addItems(CHECKED_ACCOUNT, BATCH, someItems(1)), 'RangeError', 'adding to it');
  }),

  storeCheck('removes one batch and leaves the others', async (store) => {
    await makeBatch(store, { id: 'batch_1', record: { status: 'failed' } });
    await makeBatch(store, { id: 'batch_10', record: { status: 'failed' }, effects: ['notify'] });
    await store.remove(CHECKED_ACCOUNT, 'batch_1');
    expectSame((await store.items(CHECKED_ACCOUNT, 'batch_10', -1, 10)).length, 3, 'the requests of the other');
    expectSame((await expectTask(store)).batchId, 'batch_10', 'the task of the other');
  }),
];
