import { expectHolds, expectSame } from '../provider-checks/ask.ts';
import {
  ACCOUNT,
  answered,
  BATCH,
  type BatchStoreCheck,
  check,
  claim,
  draftRecord,
  expectRejected,
  expectTask,
  makeBatch,
  REFUSED,
  resultIdOf,
  someItems,
} from './check.ts';

const STRANGER = 'stranger';

/** Checks that an account sees and changes its own only: what is another's is like what is not there. */
export const tenantChecks: readonly BatchStoreCheck[] = [
  check("finds nothing of another account's", async (store) => {
    await makeBatch(store);
    await claim(store, 't');
    await store.storeOutcomes(ACCOUNT, BATCH, 't', [answered(0)]);
    expectSame(await store.find(STRANGER, BATCH), undefined, 'the batch');
    expectSame(await store.items(STRANGER, BATCH, -1, 10), [], 'its requests');
    expectSame(await store.outcomes(STRANGER, BATCH, -1, 10), [], 'its outcomes');
    expectSame(await store.recount(STRANGER, BATCH), { completed: 0, failed: 0 }, 'its counts');
    expectSame(await store.list(STRANGER, { limit: 10 }), { batches: [], more: false }, 'the list');
  }),

  check("goes on after no batch of another account's", async (store) => {
    await makeBatch(store, { id: 'batch_9' });
    await makeBatch(store, { account: STRANGER, id: 'batch_1' });
    expectSame((await store.list(STRANGER, { limit: 10, after: 'batch_9' })).batches, [], 'what comes after it');
  }),

  check("saves and removes nothing of another account's", async (store) => {
    const batch = await makeBatch(store, { record: { status: 'failed' } });
    expectSame(await store.save({ ...batch, account: STRANGER, revision: 2 }, []), false, 'whether it was saved');
    expectSame(await store.remove(STRANGER, BATCH), false, 'whether it was removed');
    expectSame(await store.find(ACCOUNT, BATCH), batch, 'the batch');
  }),

  check("claims, renews and releases nothing of another account's", async (store) => {
    await makeBatch(store);
    expectSame(await claim(store, 't', { account: STRANGER }), [], 'what was claimed');
    await claim(store, 't');
    expectSame(await store.renewItems(STRANGER, BATCH, 't', 1), 0, 'what was renewed');
    await store.releaseItems(STRANGER, BATCH, 't');
    expectSame(await store.renewItems(ACCOUNT, BATCH, 't', 60_000), 3, 'what is still held');
  }),

  check("stores and fails nothing of another account's", async (store) => {
    await makeBatch(store);
    await claim(store, 't');
    expectSame(await store.storeOutcomes(STRANGER, BATCH, 't', [answered(0)]), [], 'what was stored');
    expectSame(await store.failRemaining(STRANGER, BATCH, REFUSED, resultIdOf), 0, 'what was failed');
    expectSame(await store.recount(ACCOUNT, BATCH), { completed: 0, failed: 0 }, 'the counts');
  }),

  check("adds to, publishes and discards no draft of another account's", async (store) => {
    await store.openDraft(ACCOUNT, BATCH);
    await expectRejected(store.addItems(STRANGER, BATCH, someItems(1)), 'RangeError', 'adding');
    await expectRejected(store.publish(draftRecord({ account: STRANGER }), []), 'RangeError', 'publishing');
    await store.discard(STRANGER, BATCH);
    await store.addItems(ACCOUNT, BATCH, someItems(1));
    expectSame((await store.publish(draftRecord(), [])).type, 'published', 'what publishing came to');
  }),

  check('lets two accounts have a batch of the same id', async (store) => {
    await makeBatch(store, { items: 2, record: { status: 'failed' }, effects: ['notify'] });
    await makeBatch(store, { account: STRANGER, items: 3, record: { status: 'failed' }, effects: ['notify'] });
    expectSame((await store.items(ACCOUNT, BATCH, -1, 10)).length, 2, 'the requests of one');
    expectSame((await store.items(STRANGER, BATCH, -1, 10)).length, 3, 'the requests of the other');
    expectSame(await store.remove(ACCOUNT, BATCH), true, 'whether one was removed');
    expectHolds((await store.find(STRANGER, BATCH)) !== undefined, 'the other is still there');
    expectSame((await store.items(STRANGER, BATCH, -1, 10)).length, 3, 'the requests of the other then');
    expectSame((await expectTask(store)).account, STRANGER, 'whose task is left');
  }),

  check('never shows more than the own rows, whatever two accounts do', async (store) => {
    const accounts = ['a', 'A', 'a ', 'ä', '%', '_'];
    for (const [index, account] of accounts.entries()) {
      await makeBatch(store, { account, id: 'same', items: index + 1 });
    }
    for (const [index, account] of accounts.entries()) {
      const { batches } = await store.list(account, { limit: 10 });
      expectSame(
        batches.map((batch) => [batch.account, batch.counts.total]),
        [[account, index + 1]],
        'the list',
      );
      expectSame((await claim(store, 't', { account, id: 'same' })).length, index + 1, 'what was claimed');
    }
  }),
];
