import type { BatchStore } from '../../contracts/batch-store.ts';
import { expectHolds, expectSame } from '../provider-checks/ask.ts';
import {
  ACCOUNT,
  BATCH,
  type BatchStoreCheck,
  check,
  draftRecord,
  expectRejected,
  makeBatch,
  PAST_SHORT_MS,
  SHORT_MS,
  someItems,
} from './check.ts';

const ENDED = { status: 'completed', deleteAt: SHORT_MS } as const;

function sweep(store: BatchStore, { draftMs = 600_000, limit = 100 } = {}): Promise<number> {
  return store.sweep({ draftMs, limit });
}

/** Checks of deleting what is over its time. */
export const sweepChecks: readonly BatchStoreCheck[] = [
  check('sweeps nothing where there is nothing', async (store) => {
    expectSame(await sweep(store), 0, 'how many were deleted');
  }),

  check('sweeps ended batches that are over their time', async (store, { pass }) => {
    await makeBatch(store, { record: ENDED, effects: ['notify'] });
    expectSame(await sweep(store), 0, 'how many were deleted before');
    await pass(PAST_SHORT_MS);
    expectSame(await sweep(store), 1, 'how many were deleted then');
    expectSame(await store.find(ACCOUNT, BATCH), undefined, 'the batch');
    expectSame(await store.items(ACCOUNT, BATCH, -1, 10), [], 'its requests');
    expectSame(await store.nextTaskIn(), undefined, 'its tasks');
    expectSame(await sweep(store), 0, 'how many were deleted again');
  }),

  check('sweeps no batch that has not ended', async (store, { pass }) => {
    await makeBatch(store, { record: { ...ENDED, status: 'in_progress' } });
    await pass(PAST_SHORT_MS);
    expectSame(await sweep(store), 0, 'how many were deleted');
    expectHolds((await store.find(ACCOUNT, BATCH)) !== undefined, 'the batch is still there');
  }),

  check('sweeps a batch by the time that was saved last', async (store, { pass }) => {
    const batch = await makeBatch(store, { record: ENDED });
    await store.save({ ...batch, deleteAt: batch.createdAt + 600_000, revision: 2 }, []);
    await pass(PAST_SHORT_MS);
    expectSame(await sweep(store), 0, 'how many were deleted');
  }),

  check('sweeps drafts that nobody went on with', async (store, { pass }) => {
    await store.openDraft(ACCOUNT, BATCH);
    await store.addItems(ACCOUNT, BATCH, someItems(3));
    expectSame(await sweep(store, { draftMs: 600_000 }), 0, 'how many were deleted before');
    await pass(PAST_SHORT_MS);
    expectSame(await sweep(store, { draftMs: SHORT_MS }), 1, 'how many were deleted then');
    await expectRejected(store.publish(draftRecord(), []), 'RangeError', 'publishing it');
  }),

  check('sweeps no draft that is added to', async (store, { pass }) => {
    await store.openDraft(ACCOUNT, BATCH);
    await pass(200);
    await store.addItems(ACCOUNT, BATCH, someItems(1));
    expectSame(await sweep(store, { draftMs: 180 }), 0, 'how many were deleted');
    expectSame((await store.publish(draftRecord(), [])).type, 'published', 'what publishing came to');
  }),

  check('sweeps a little at a time', async (store, { pass }) => {
    for (let index = 0; index < 5; index += 1) {
      await makeBatch(store, { id: `batch_${index}`, items: 2, record: ENDED });
    }
    await pass(PAST_SHORT_MS);
    const swept = [
      await sweep(store, { limit: 2 }),
      await sweep(store, { limit: 2 }),
      await sweep(store, { limit: 2 }),
    ];
    expectSame(swept, [2, 2, 1], 'how many were deleted each time');
  }),

  check('sweeps large batches', async (store, { pass }) => {
    await makeBatch(store, { items: 1_500, record: ENDED });
    await pass(PAST_SHORT_MS);
    expectSame(await sweep(store), 1, 'how many were deleted');
    expectSame(await store.items(ACCOUNT, BATCH, -1, 10), [], 'its requests');
  }),

  check('sweeps the batches of every account, and those alone that are over', async (store, { pass }) => {
    await makeBatch(store, { account: 'a', record: ENDED });
    await makeBatch(store, { account: 'b', record: ENDED });
    await makeBatch(store, { account: 'c', record: { ...ENDED, deleteAt: 600_000 } });
    await pass(PAST_SHORT_MS);
    expectSame(await sweep(store), 2, 'how many were deleted');
    expectHolds((await store.find('c', BATCH)) !== undefined, 'the third is still there');
  }),

  check('sweeps at several places at once without an error', async (store, { pass }) => {
    for (let index = 0; index < 6; index += 1) {
      await makeBatch(store, { id: `batch_${index}`, items: 20, record: ENDED });
    }
    await pass(PAST_SHORT_MS);
    await Promise.all([sweep(store), sweep(store), sweep(store)]);
    await sweep(store);
    expectSame((await store.list(ACCOUNT, { limit: 10 })).batches, [], 'what is left');
  }),

  check('makes way for a key with the batch that it sweeps', async (store, { pass }) => {
    const key = { key: 'key-1', fingerprint: 'same', ttlMs: 600_000 };
    for (const id of ['batch_1', 'batch_2']) {
      await store.openDraft(ACCOUNT, id);
      const outcome = await store.publish(draftRecord({ id, ...ENDED }), [], key);
      expectSame(outcome.type, 'published', `what publishing ${id} came to`);
      await pass(PAST_SHORT_MS);
      await sweep(store);
    }
  }),
];
