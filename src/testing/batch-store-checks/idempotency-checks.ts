import type { BatchStore, PublishOutcome } from '../../contracts/batch-store.ts';
import { expectSame } from '../provider-checks/ask.ts';
import {
  ACCOUNT,
  type BatchStoreCheck,
  check,
  claimTask,
  draftRecord,
  expectRejected,
  PAST_SHORT_MS,
  SHORT_MS,
  someItems,
} from './check.ts';

interface Creation {
  readonly id: string;
  readonly account?: string;
  readonly key?: string;
  readonly fingerprint?: string;
  readonly ttlMs?: number;
}

async function create(store: BatchStore, creation: Creation): Promise<PublishOutcome> {
  const { id, account = ACCOUNT, key = 'key-1', fingerprint = 'same', ttlMs = 600_000 } = creation;
  await store.openDraft(account, id);
  await store.addItems(account, id, someItems(2));
  const record = draftRecord({ id, account, status: 'completed', deleteAt: 60_000 });
  return store.publish(record, ['notify'], { key, fingerprint, ttlMs });
}

/** Checks of keys under which the same batch is created again. */
export const idempotencyChecks: readonly BatchStoreCheck[] = [
  check('creates one batch under a key', async (store) => {
    expectSame((await create(store, { id: 'batch_1' })).type, 'published', 'the first');
    const second = await create(store, { id: 'batch_2' });
    expectSame(second, { type: 'repeated', batchId: 'batch_1', sameContent: true }, 'the second');
    expectSame((await store.list(ACCOUNT, { limit: 10 })).batches.length, 1, 'the number of batches');
  }),

  check('says when a key comes with other content', async (store) => {
    await create(store, { id: 'batch_1' });
    const second = await create(store, { id: 'batch_2', fingerprint: 'other' });
    expectSame(second, { type: 'repeated', batchId: 'batch_1', sameContent: false }, 'the second');
  }),

  check('removes the draft of a repetition, and does nothing for it', async (store) => {
    await create(store, { id: 'batch_1' });
    await store.claimTasks({ limit: 1, leaseMs: 600_000, token: 't' });
    await create(store, { id: 'batch_2' });
    await expectRejected(store.addItems(ACCOUNT, 'batch_2', someItems(1)), 'RangeError', 'adding to it');
    expectSame(await claimTask(store), undefined, 'a task for it');
  }),

  check('knows its own batch again when a key is published twice', async (store) => {
    await create(store, { id: 'batch_1' });
    const key = { key: 'key-1', fingerprint: 'same', ttlMs: 600_000 };
    const again = await store.publish(draftRecord({ id: 'batch_1' }), ['notify'], key);
    expectSame(again.type, 'published', 'the second answer');
    expectSame((await store.items(ACCOUNT, 'batch_1', -1, 10)).length, 2, 'the number of requests');
  }),

  check('keeps the keys of accounts apart', async (store) => {
    await create(store, { id: 'batch_1', account: 'acme' });
    expectSame((await create(store, { id: 'batch_2', account: 'other' })).type, 'published', 'the other account');
  }),

  check('keeps keys apart that differ in little', async (store) => {
    const keys = ['a', 'A', 'a ', ' a', 'ä', 'a\u0308', 'a\u0000', '\ud800', '\ud801', 'x'.repeat(3_000)];
    for (const [index, key] of keys.entries()) {
      expectSame((await create(store, { id: `batch_${index}`, key })).type, 'published', `a batch under key ${index}`);
    }
  }),

  check('forgets a key after its time', async (store, { pass }) => {
    await create(store, { id: 'batch_1', ttlMs: SHORT_MS });
    await pass(PAST_SHORT_MS);
    expectSame((await create(store, { id: 'batch_2', fingerprint: 'other' })).type, 'published', 'the second');
    const third = await create(store, { id: 'batch_3', fingerprint: 'other' });
    expectSame(third, { type: 'repeated', batchId: 'batch_2', sameContent: true }, 'the third');
  }),

  check('forgets a key with its batch', async (store) => {
    await create(store, { id: 'batch_1' });
    expectSame(await store.remove(ACCOUNT, 'batch_1'), true, 'removing the batch');
    expectSame((await create(store, { id: 'batch_2' })).type, 'published', 'the second');
  }),

  check('creates one batch when many come under one key at once', async (store) => {
    const ids = Array.from({ length: 8 }, (_, index) => `batch_${index}`);
    const outcomes = await Promise.all(ids.map((id) => create(store, { id })));
    const published = outcomes.flatMap((outcome) => (outcome.type === 'published' ? [outcome.batch.id] : []));
    const repeated = outcomes.flatMap((outcome) => (outcome.type === 'repeated' ? [outcome.batchId] : []));
    expectSame(published.length, 1, 'the number of batches');
    expectSame([...new Set(repeated)], published, 'the batch that the others are told');
  }),
];
