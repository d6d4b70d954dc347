/** Checks for batch stores: claims, and the deletion of what expired. */
import { BATCH_STATUSES } from '../../protocol/batch.ts';
import { expectHolds, expectSame } from '../provider-checks/harness.ts';
import {
  CHECKED_ACCOUNT,
  answered,
  BATCH,
  type BatchStoreCheck,
  storeCheck,
  claim,
  draftRecord,
  expectRejected,
  indexesOf,
  makeBatch,
  LONG_LEASE_MS,
  PAST_SHORT_MS,
  SHORT_MS,
  someItems,
} from './check.ts';
import type { BatchStore } from '../../contracts/batch-store.ts';

const statusChecks = BATCH_STATUSES.map((status) =>
  storeCheck(
    `${status === 'in_progress' ? 'claims' : 'claims nothing'} while the batch is ${status}`,
    async (store) => {
      await makeBatch(store, { record: { status } });
      expectSame((await claim(store, 't')).length, status === 'in_progress' ? 3 : 0, 'how many were claimed');
    },
  ),
);

const namedStatusChecks = BATCH_STATUSES.map((status) => {
  const open = status === 'in_progress' || status === 'cancelling';
  return storeCheck(`${open ? 'claims' : 'claims nothing'} by index while the batch is ${status}`, async (store) => {
    await makeBatch(store, { record: { status } });
    expectSame((await claim(store, 't', { indexes: [1, 2] })).length, open ? 2 : 0, 'how many were claimed');
  });
});

/** Checks of who may run which request. */
export const claimingChecks: readonly BatchStoreCheck[] = [
  storeCheck('claims requests in their order', async (store) => {
    await makeBatch(store, { items: 5 });
    expectSame(indexesOf(await claim(store, 'a', { limit: 2 })), [0, 1], 'the first');
    expectSame(indexesOf(await claim(store, 'b', { limit: 2 })), [2, 3], 'the second');
    expectSame(indexesOf(await claim(store, 'c', { limit: 2 })), [4], 'the third');
    expectSame(await claim(store, 'd', { limit: 2 }), [], 'the fourth');
  }),

  storeCheck('gives what was claimed as it was added, with its first attempt', async (store) => {
    await makeBatch(store, { items: 1 });
    const expected = { index: 0, customId: 'custom-0', body: '{"say":0}', attempts: 1 };
    expectSame(await claim(store, 't'), [expected], 'what was claimed');
  }),

  ...statusChecks,
  ...namedStatusChecks,

  storeCheck('claims by index what is there, free and without an outcome', async (store) => {
    await makeBatch(store, { items: 6 });
    await claim(store, 'a', { limit: 1 });
    await claim(store, 'b', { indexes: [2] });
    await store.storeOutcomes(CHECKED_ACCOUNT, BATCH, 'b', [answered(2)]);
    expectSame(indexesOf(await claim(store, 'c', { indexes: [5, 0, 2, 3, 99, -1] })), [3, 5], 'what was claimed');
    expectSame(await claim(store, 'd', { indexes: [] }), [], 'what is claimed of nothing');
    expectSame(indexesOf(await claim(store, 'e')), [1, 4], 'what is left');
  }),

  storeCheck('claims nothing of a batch that is not there', async (store) => {
    expectSame(await claim(store, 't', { id: 'batch_0' }), [], 'what was claimed');
  }),

  storeCheck('claims nothing of another batch', async (store) => {
    await makeBatch(store, { id: 'batch_1' });
    await makeBatch(store, { id: 'batch_2' });
    await claim(store, 'a', { id: 'batch_1' });
    expectSame((await claim(store, 'b', { id: 'batch_2' })).length, 3, 'how many of the other are left');
  }),

  storeCheck('claims nothing that has an outcome', async (store) => {
    await makeBatch(store);
    await claim(store, 'a', { limit: 2 });
    await store.storeOutcomes(CHECKED_ACCOUNT, BATCH, 'a', [answered(0), answered(1)]);
    expectSame(indexesOf(await claim(store, 'b')), [2], 'what is left');
  }),

  storeCheck('claims again when a lease has ended, and counts it', async (store, { pass }) => {
    await makeBatch(store, { items: 2 });
    await claim(store, 'a', { leaseMs: SHORT_MS });
    expectSame(await claim(store, 'b'), [], 'what can be claimed meanwhile');
    await pass(PAST_SHORT_MS);
    const again = await claim(store, 'b');
    expectSame(
      again.map(({ index, attempts }) => [index, attempts]),
      [
        [0, 2],
        [1, 2],
      ],
      'indexes and attempts',
    );
  }),

  storeCheck('claims what fell back before what comes after it', async (store, { pass }) => {
    await makeBatch(store, { items: 4 });
    await claim(store, 'a', { limit: 1, leaseMs: SHORT_MS });
    await claim(store, 'b', { limit: 1 });
    await pass(PAST_SHORT_MS);
    expectSame(indexesOf(await claim(store, 'c', { limit: 2 })), [0, 2], 'what is claimed then');
  }),

  storeCheck('counts every attempt', async (store, { pass }) => {
    await makeBatch(store, { items: 1 });
    for (const attempt of [1, 2, 3]) {
      expectSame((await claim(store, `t${attempt}`, { leaseMs: SHORT_MS }))[0]?.attempts, attempt, 'the attempts');
      await pass(PAST_SHORT_MS);
    }
  }),

  storeCheck('renews leases, so that they do not end', async (store, { pass }) => {
    await makeBatch(store);
    await claim(store, 'a', { leaseMs: 200 });
    expectSame(await store.renewItems(CHECKED_ACCOUNT, BATCH, 'a', 600_000), 3, 'how many were renewed');
    await pass(220);
    expectSame(await claim(store, 'b'), [], 'what can be claimed');
    expectSame(await store.storeOutcomes(CHECKED_ACCOUNT, BATCH, 'a', [answered(0)]), [0], 'what is stored');
  }),

  storeCheck('counts a renewed lease from now', async (store, { pass }) => {
    await makeBatch(store);
    await claim(store, 'a');
    await store.renewItems(CHECKED_ACCOUNT, BATCH, 'a', SHORT_MS);
    await pass(PAST_SHORT_MS);
    expectSame((await claim(store, 'b')).length, 3, 'how many can be claimed');
  }),

  storeCheck('renews a lease that has ended, of what nobody else has claimed', async (store, { pass }) => {
    await makeBatch(store);
    await claim(store, 'a', { leaseMs: SHORT_MS });
    await pass(PAST_SHORT_MS);
    expectSame((await claim(store, 'b', { limit: 1 })).length, 1, 'how many somebody else claims');
    expectSame(await store.renewItems(CHECKED_ACCOUNT, BATCH, 'a', 600_000), 2, 'how many were renewed');
    expectSame(await claim(store, 'c'), [], 'what can be claimed');
  }),

  storeCheck('releases what nobody else has claimed after the lease has ended', async (store, { pass }) => {
    await makeBatch(store, { items: 1 });
    await claim(store, 'a', { leaseMs: SHORT_MS });
    await pass(PAST_SHORT_MS);
    await store.releaseItems(CHECKED_ACCOUNT, BATCH, 'a');
    expectSame((await claim(store, 'b'))[0]?.attempts, 1, 'the attempts');
  }),

  storeCheck('renews the leases of no other token', async (store) => {
    await makeBatch(store, { items: 4 });
    await claim(store, 'a', { limit: 3 });
    await claim(store, 'b', { limit: 1 });
    expectSame(await store.renewItems(CHECKED_ACCOUNT, BATCH, 'b', 1_000), 1, 'how many are of the second');
    expectSame(await store.renewItems(CHECKED_ACCOUNT, BATCH, 'c', 1_000), 0, 'how many are of a stranger');
  }),

  storeCheck('renews nothing that has an outcome', async (store) => {
    await makeBatch(store);
    await claim(store, 'a');
    await store.storeOutcomes(CHECKED_ACCOUNT, BATCH, 'a', [answered(1)]);
    expectSame(await store.renewItems(CHECKED_ACCOUNT, BATCH, 'a', 1_000), 2, 'how many were renewed');
  }),

  storeCheck('releases what was not run, as if it had not been claimed', async (store) => {
    await makeBatch(store);
    await claim(store, 'a');
    await store.storeOutcomes(CHECKED_ACCOUNT, BATCH, 'a', [answered(1)]);
    await store.releaseItems(CHECKED_ACCOUNT, BATCH, 'a');
    const again = await claim(store, 'b');
    expectSame(
      again.map(({ index, attempts }) => [index, attempts]),
      [
        [0, 1],
        [2, 1],
      ],
      'indexes and attempts',
    );
  }),

  storeCheck('releases twice without counting twice', async (store) => {
    await makeBatch(store, { items: 1 });
    await claim(store, 'a');
    await store.releaseItems(CHECKED_ACCOUNT, BATCH, 'a');
    await store.releaseItems(CHECKED_ACCOUNT, BATCH, 'a');
    expectSame((await claim(store, 'b'))[0]?.attempts, 1, 'the attempts');
  }),

  storeCheck('releases nothing that fell to somebody else', async (store, { pass }) => {
    await makeBatch(store, { items: 1 });
    await claim(store, 'a', { leaseMs: SHORT_MS });
    await pass(PAST_SHORT_MS);
    await claim(store, 'b');
    await store.releaseItems(CHECKED_ACCOUNT, BATCH, 'a');
    expectSame(await claim(store, 'c'), [], 'what can be claimed');
    expectSame(await store.renewItems(CHECKED_ACCOUNT, BATCH, 'b', 1_000), 1, 'what the second still holds');
  }),

  storeCheck('claims each request once, however many claim at once', async (store) => {
    await makeBatch(store, { items: 100 });
    const claimed = await Promise.all(
      Array.from({ length: 12 }, (_, index) => claim(store, `t${index}`, { limit: 10 })),
    );
    const indexes = claimed.flatMap(indexesOf);
    expectSame(new Set(indexes).size, indexes.length, 'how many different ones were claimed');
    const left = await claim(store, 'rest', { limit: 100 });
    expectSame(indexes.length + left.length, 100, 'how many there are');
  }),

  storeCheck('claims only requests that nobody has claimed, where that is wanted', async (store, { pass }) => {
    await makeBatch(store, { items: 4 });
    await store.claimItems(CHECKED_ACCOUNT, BATCH, { limit: 2, leaseMs: SHORT_MS, token: 'a' });
    await pass(PAST_SHORT_MS);
    const fresh = await store.claimItems(CHECKED_ACCOUNT, BATCH, {
      limit: 10,
      leaseMs: LONG_LEASE_MS,
      token: 'b',
      fresh: true,
    });
    expectSame(indexesOf(fresh), [2, 3], 'what was claimed as fresh');
    expectSame(indexesOf(await claim(store, 'c')), [0, 1], 'what is left for others');
  }),

  storeCheck('finds batches that are shared and have requests that nobody has claimed', async (store) => {
    await makeBatch(store, { account: 'a', items: 2, record: { shared: true } });
    await makeBatch(store, { account: 'b', items: 2 });
    await makeBatch(store, { account: 'c', items: 2, record: { shared: true, status: 'cancelling' } });
    expectSame(await store.findShared(10), [{ account: 'a', batchId: BATCH }], 'the shared batches');
    await claim(store, 't', { account: 'a', limit: 1 });
    expectSame((await store.findShared(10)).length, 1, 'how many there are while one request is left');
    await claim(store, 't', { account: 'a', limit: 1 });
    expectSame(await store.findShared(10), [], 'what is left when all were claimed');
  }),

  storeCheck('takes times with fractions', async (store) => {
    await makeBatch(store, { record: { deleteAt: 99_999.25, expiresAt: 10.5 }, effects: ['run'] });
    expectSame((await claim(store, 'a', { leaseMs: 1_000.5 })).length, 3, 'how many were claimed');
    expectSame(await store.renewItems(CHECKED_ACCOUNT, BATCH, 'a', 1_000.25), 3, 'how many were renewed');
    const [task] = await store.claimTasks({ limit: 1, leaseMs: 1_000.75, token: 'a' });
    const put = task !== undefined && (await store.rescheduleTask(task, { afterMs: 0.125 }));
    expectSame(put, true, 'whether the task was put off');
  }),
];

const ENDED = { status: 'completed', deleteAt: SHORT_MS } as const;

function sweep(store: BatchStore, { draftMs = 600_000, limit = 100 } = {}): Promise<number> {
  return store.sweep({ draftMs, limit });
}

/** Checks of deleting what is over its time. */
export const sweepChecks: readonly BatchStoreCheck[] = [
  storeCheck('sweeps nothing where there is nothing', async (store) => {
    expectSame(await sweep(store), 0, 'how many were deleted');
  }),

  storeCheck('sweeps ended batches that are over their time', async (store, { pass }) => {
    await makeBatch(store, { record: ENDED, effects: ['notify'] });
    expectSame(await sweep(store), 0, 'how many were deleted before');
    await pass(PAST_SHORT_MS);
    expectSame(await sweep(store), 1, 'how many were deleted then');
    expectSame(await store.find(CHECKED_ACCOUNT, BATCH), undefined, 'the batch');
    expectSame(await store.items(CHECKED_ACCOUNT, BATCH, -1, 10), [], 'its requests');
    expectSame(await store.nextTaskIn(), undefined, 'its tasks');
    expectSame(await sweep(store), 0, 'how many were deleted again');
  }),

  storeCheck('sweeps no batch that has not ended', async (store, { pass }) => {
    await makeBatch(store, { record: { ...ENDED, status: 'in_progress' } });
    await pass(PAST_SHORT_MS);
    expectSame(await sweep(store), 0, 'how many were deleted');
    expectHolds((await store.find(CHECKED_ACCOUNT, BATCH)) !== undefined, 'the batch is still there');
  }),

  storeCheck('sweeps a batch by the time that was saved last', async (store, { pass }) => {
    const batch = await makeBatch(store, { record: ENDED });
    await store.save({ ...batch, deleteAt: batch.createdAt + 600_000, revision: 2 }, []);
    await pass(PAST_SHORT_MS);
    expectSame(await sweep(store), 0, 'how many were deleted');
  }),

  storeCheck('sweeps drafts that nobody went on with', async (store, { pass }) => {
    await store.openDraft(CHECKED_ACCOUNT, BATCH);
    await store.addItems(CHECKED_ACCOUNT, BATCH, someItems(3));
    expectSame(await sweep(store, { draftMs: 600_000 }), 0, 'how many were deleted before');
    await pass(PAST_SHORT_MS);
    expectSame(await sweep(store, { draftMs: SHORT_MS }), 1, 'how many were deleted then');
    await expectRejected(store.publish(draftRecord(), []), 'RangeError', 'publishing it');
  }),

  storeCheck('sweeps no draft that is added to', async (store, { pass }) => {
    await store.openDraft(CHECKED_ACCOUNT, BATCH);
    await pass(200);
    await store.addItems(CHECKED_ACCOUNT, BATCH, someItems(1));
    expectSame(await sweep(store, { draftMs: 180 }), 0, 'how many were deleted');
    expectSame((await store.publish(draftRecord(), [])).type, 'published', 'what publishing came to');
  }),

  storeCheck('sweeps a little at a time', async (store, { pass }) => {
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

  storeCheck('sweeps large batches', async (store, { pass }) => {
    await makeBatch(store, { items: 1_500, record: ENDED });
    await pass(PAST_SHORT_MS);
    expectSame(await sweep(store), 1, 'how many were deleted');
    expectSame(await store.items(CHECKED_ACCOUNT, BATCH, -1, 10), [], 'its requests');
  }),

  storeCheck('sweeps the batches of every account, and those alone that are over', async (store, { pass }) => {
    await makeBatch(store, { account: 'a', record: ENDED });
    await makeBatch(store, { account: 'b', record: ENDED });
    await makeBatch(store, { account: 'c', record: { ...ENDED, deleteAt: 600_000 } });
    await pass(PAST_SHORT_MS);
    expectSame(await sweep(store), 2, 'how many were deleted');
    expectHolds((await store.find('c', BATCH)) !== undefined, 'the third is still there');
  }),

  storeCheck('sweeps at several places at once without an error', async (store, { pass }) => {
    for (let index = 0; index < 6; index += 1) {
      await makeBatch(store, { id: `batch_${index}`, items: 20, record: ENDED });
    }
    await pass(PAST_SHORT_MS);
    await Promise.all([sweep(store), sweep(store), sweep(store)]);
    await sweep(store);
    expectSame((await store.list(CHECKED_ACCOUNT, { limit: 10 })).batches, [], 'what is left');
  }),

  storeCheck('makes way for a key with the batch that it sweeps', async (store, { pass }) => {
    const key = { key: 'key-1', fingerprint: 'same', ttlMs: 600_000 };
    for (const id of ['batch_1', 'batch_2']) {
      await store.openDraft(CHECKED_ACCOUNT, id);
      const outcome = await store.publish(draftRecord({ id, ...ENDED }), [], key);
      expectSame(outcome.type, 'published', `what publishing ${id} came to`);
      await pass(PAST_SHORT_MS);
      await sweep(store);
    }
  }),
];
