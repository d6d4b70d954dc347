import { type BatchStore, DuplicateCustomIdError, type PublishOutcome } from '../../contracts/batch-store.ts';
import { expectHolds, expectSame } from '../provider-checks/harness.ts';
import {
  CHECKED_ACCOUNT,
  BATCH,
  type BatchStoreCheck,
  storeCheck,
  claimTask,
  draftRecord,
  expectRejected,
  expectTask,
  makeBatch,
  PAST_SHORT_MS,
  SHORT_MS,
  someItems,
} from './check.ts';

/** Checks of batches that are being made. */
export const draftChecks: readonly BatchStoreCheck[] = [
  storeCheck('can be opened again', async (store) => {
    await makeBatch(store);
    await Promise.all([store.open(), store.open()]);
    expectHolds((await store.find(CHECKED_ACCOUNT, BATCH)) !== undefined, 'the batch is still there');
  }),

  storeCheck('can be closed twice', async (store) => {
    await store.close();
    await store.close();
  }),

  storeCheck('tells a time that passes', async (store, { pass }) => {
    const before = await store.now();
    await pass(30);
    const passed = (await store.now()) - before;
    expectHolds(passed >= 29 && passed < 10_000, `about 30 ms pass, and not ${passed}`);
  }),

  storeCheck('shows nothing of a draft', async (store) => {
    await store.openDraft(CHECKED_ACCOUNT, BATCH);
    await store.addItems(CHECKED_ACCOUNT, BATCH, someItems(2));
    expectSame(await store.find(CHECKED_ACCOUNT, BATCH), undefined, 'the batch');
    expectSame((await store.list(CHECKED_ACCOUNT, { limit: 10 })).batches, [], 'the list');
    expectSame(await store.items(CHECKED_ACCOUNT, BATCH, -1, 10), [], 'its requests');
    expectSame(await store.outcomes(CHECKED_ACCOUNT, BATCH, -1, 10), [], 'its outcomes');
    expectSame(await store.recount(CHECKED_ACCOUNT, BATCH), { completed: 0, failed: 0 }, 'its counts');
    expectSame(await store.nextTaskIn(), undefined, 'the next task');
  }),

  storeCheck('neither saves, removes, claims nor fails anything of a draft', async (store) => {
    await store.openDraft(CHECKED_ACCOUNT, BATCH);
    await store.addItems(CHECKED_ACCOUNT, BATCH, someItems(2));
    expectSame(await store.save(draftRecord({ revision: 1 }), []), false, 'saving it');
    expectSame(await store.remove(CHECKED_ACCOUNT, BATCH), false, 'removing it');
    expectSame(
      await store.claimItems(CHECKED_ACCOUNT, BATCH, { limit: 9, leaseMs: 1_000, token: 't' }),
      [],
      'what is claimed',
    );
    const failed = await store.failRemaining(CHECKED_ACCOUNT, BATCH, { message: '', param: null, type: null }, String);
    expectSame(failed, 0, 'what is failed');
  }),

  storeCheck('makes a draft a batch with the times of its own clock', async (store) => {
    const before = await store.now();
    const batch = await makeBatch(store, { record: { deleteAt: 5_000, expiresAt: 700 } });
    const after = await store.now();
    expectHolds(batch.createdAt >= before && batch.createdAt <= after, 'it is created now');
    expectSame(batch.deleteAt - batch.createdAt, 5_000, 'the time until it is deleted');
    expectSame((batch.expiresAt ?? 0) - batch.createdAt, 700, 'the time until it expires');
    expectSame(await store.find(CHECKED_ACCOUNT, BATCH), batch, 'the batch that is found');
  }),

  storeCheck('counts the requests of a batch', async (store) => {
    const batch = await makeBatch(store, { items: 7, record: { counts: { total: 1, completed: 5, failed: 9 } } });
    expectSame(batch.counts, { total: 7, completed: 0, failed: 0 }, 'the counts');
  }),

  storeCheck('keeps everything that a record says', async (store) => {
    const batch = await makeBatch(store, {
      record: {
        endpoint: '/v1/embeddings',
        model: 'acme/größer 👋',
        status: 'validating',
        provider: 'Acme "Inc"',
        preferences: { only: ['acme', 'other'], allowFallbacks: false },
        rules: { policy: { ignore: ['cheap'] }, defaultModel: 'acme/two', pluginDefaults: [{ id: 'moderation' }] },
        callbackUrl: 'https://example.com/hook?a=1&b=ü',
        upstream: { id: 'up_1', nested: { list: [1, 2.5, null, true, 'a\u0000b'] } },
        revision: 41,
      },
    });
    expectSame(await store.find(CHECKED_ACCOUNT, BATCH), batch, 'the batch that is found');
    expectSame(batch.upstream, { id: 'up_1', nested: { list: [1, 2.5, null, true, 'a\u0000b'] } }, 'a member of it');
    expectSame(batch.revision, 41, 'its revision');
  }),

  storeCheck('takes requests in several calls', async (store) => {
    await store.openDraft(CHECKED_ACCOUNT, BATCH);
    for (const from of [0, 3, 6]) await store.addItems(CHECKED_ACCOUNT, BATCH, someItems(3, from));
    await store.addItems(CHECKED_ACCOUNT, BATCH, []);
    await store.publish(draftRecord(), []);
    expectSame(await store.items(CHECKED_ACCOUNT, BATCH, -1, 100), someItems(9), 'its requests');
  }),

  storeCheck('takes bodies as bytes in memory that is used again afterwards', async (store) => {
    await store.openDraft(CHECKED_ACCOUNT, BATCH);
    const texts = ['{"text":"größer 👋"}', '{}', '{"a":"\\u0000 and \\\\"}'];
    const memory = new TextEncoder().encode(texts.join(''));
    let end = 0;
    const items = texts.map((text, index) => {
      const start = end;
      end += new TextEncoder().encode(text).byteLength;
      return { index, customId: `custom-${index}`, body: index === 1 ? text : memory.subarray(start, end) };
    });
    await store.addItems(CHECKED_ACCOUNT, BATCH, items);
    memory.fill(0x20);
    await store.publish(draftRecord(), []);
    const stored = await store.items(CHECKED_ACCOUNT, BATCH, -1, 10);
    expectSame(
      stored.map(({ body }) => body),
      texts,
      'the bodies',
    );
  }),

  storeCheck('publishes a draft with no requests', async (store) => {
    await store.openDraft(CHECKED_ACCOUNT, BATCH);
    const outcome = await store.publish(draftRecord(), []);
    expectSame(outcome.type === 'published' && outcome.batch.counts.total, 0, 'the number of requests');
  }),

  storeCheck('names both requests that have the same custom id', async (store) => {
    await store.openDraft(CHECKED_ACCOUNT, BATCH);
    const [first, ...rest] = someItems(5);
    const doubled = [first, ...rest].map((item, index) => ({ index, customId: '', body: '{}', ...item }));
    const error = await expectRejected(
      store.addItems(CHECKED_ACCOUNT, BATCH, [...doubled.slice(0, 4), { index: 4, customId: 'custom-1', body: '{}' }]),
      'DuplicateCustomIdError',
      'a slice with the same name twice',
    );
    const reported = error instanceof DuplicateCustomIdError ? [error.firstIndex, error.index] : [];
    expectSame(reported, [1, 4], 'the indexes that are told');
  }),

  storeCheck('names both requests when they came in different calls', async (store) => {
    await store.openDraft(CHECKED_ACCOUNT, BATCH);
    await store.addItems(CHECKED_ACCOUNT, BATCH, someItems(10));
    const second = [{ index: 10, customId: 'custom-7', body: '{}' }];
    const error = await expectRejected(
      store.addItems(CHECKED_ACCOUNT, BATCH, second),
      'DuplicateCustomIdError',
      'the second',
    );
    const reported = error instanceof DuplicateCustomIdError ? [error.firstIndex, error.index] : [];
    expectSame(reported, [7, 10], 'the indexes that are told');
  }),

  storeCheck('discards a draft after an error, and takes its name again', async (store) => {
    await store.openDraft(CHECKED_ACCOUNT, BATCH);
    await store.addItems(CHECKED_ACCOUNT, BATCH, someItems(3));
    await expectRejected(
      store.addItems(CHECKED_ACCOUNT, BATCH, someItems(1)),
      'DuplicateCustomIdError',
      'a second time',
    );
    await store.discard(CHECKED_ACCOUNT, BATCH);
    await makeBatch(store, { items: 2 });
    expectSame((await store.items(CHECKED_ACCOUNT, BATCH, -1, 10)).length, 2, 'the number of requests');
  }),

  storeCheck('lets two batches use the same custom ids', async (store) => {
    await makeBatch(store, { id: 'batch_1' });
    await makeBatch(store, { id: 'batch_2' });
    expectSame((await store.items(CHECKED_ACCOUNT, 'batch_2', -1, 10)).length, 3, 'the number of requests');
  }),

  storeCheck('adds to no draft that is not there', async (store) => {
    await expectRejected(store.addItems(CHECKED_ACCOUNT, BATCH, someItems(1)), 'RangeError', 'adding to nothing');
    await store.openDraft(CHECKED_ACCOUNT, BATCH);
    await store.discard(CHECKED_ACCOUNT, BATCH);
    await expectRejected(
      store.addItems(CHECKED_ACCOUNT, BATCH, someItems(1)),
      'RangeError',
      'adding to what was discarded',
    );
  }),

  storeCheck('adds nothing to a batch', async (store) => {
    await makeBatch(store);
    await expectRejected(store.addItems(CHECKED_ACCOUNT, BATCH, someItems(1, 3)), 'RangeError', 'adding to a batch');
    expectSame((await store.items(CHECKED_ACCOUNT, BATCH, -1, 10)).length, 3, 'the number of requests');
  }),

  storeCheck('publishes no draft that is not there', async (store) => {
    await expectRejected(store.publish(draftRecord(), ['validate']), 'RangeError', 'publishing nothing');
    expectSame(await claimTask(store), undefined, 'a task');
  }),

  storeCheck('opens the same draft again without losing what is in it', async (store) => {
    await store.openDraft(CHECKED_ACCOUNT, BATCH);
    await store.addItems(CHECKED_ACCOUNT, BATCH, someItems(2));
    await store.openDraft(CHECKED_ACCOUNT, BATCH);
    await store.publish(draftRecord(), []);
    expectSame((await store.items(CHECKED_ACCOUNT, BATCH, -1, 10)).length, 2, 'the number of requests');
  }),

  storeCheck('opens no draft in the place of a batch', async (store) => {
    await makeBatch(store);
    await expectRejected(store.openDraft(CHECKED_ACCOUNT, BATCH), 'RangeError', 'a draft with the id of a batch');
    expectSame((await store.items(CHECKED_ACCOUNT, BATCH, -1, 10)).length, 3, 'the number of requests');
  }),

  storeCheck('discards nothing but drafts, and those more than once', async (store) => {
    await makeBatch(store);
    await store.discard(CHECKED_ACCOUNT, BATCH);
    expectHolds((await store.find(CHECKED_ACCOUNT, BATCH)) !== undefined, 'the batch is still there');
    await store.openDraft(CHECKED_ACCOUNT, 'batch_2');
    await store.discard(CHECKED_ACCOUNT, 'batch_2');
    await store.discard(CHECKED_ACCOUNT, 'batch_2');
    await store.discard(CHECKED_ACCOUNT, 'batch_3');
  }),

  storeCheck('publishes again without changing anything', async (store) => {
    await makeBatch(store, { effects: ['validate'] });
    await store.finishTask(await expectTask(store));
    const changed = await store.find(CHECKED_ACCOUNT, BATCH);
    const again = await store.publish(draftRecord({ model: 'acme/two' }), ['validate']);
    expectSame(again, { type: 'published', batch: changed }, 'the second answer');
    expectSame(await claimTask(store), undefined, 'a second task');
  }),

  storeCheck('gives a new batch its tasks, due at once', async (store) => {
    const batch = await makeBatch(store, { effects: ['validate', 'notify'] });
    const tasks = await store.claimTasks({ limit: 10, leaseMs: 1_000, token: 't' });
    expectSame(tasks.map(({ effect }) => effect).toSorted(), ['notify', 'validate'], 'the tasks');
    expectSame(new Set(tasks.map(({ runAt }) => runAt)).size, 1, 'the number of times');
    expectSame(tasks[0]?.runAt, batch.createdAt, 'the time at which they are due');
  }),
];

interface Creation {
  readonly id: string;
  readonly account?: string;
  readonly key?: string;
  readonly fingerprint?: string;
  readonly ttlMs?: number;
}

async function create(store: BatchStore, creation: Creation): Promise<PublishOutcome> {
  const { id, account = CHECKED_ACCOUNT, key = 'key-1', fingerprint = 'same', ttlMs = 600_000 } = creation;
  await store.openDraft(account, id);
  await store.addItems(account, id, someItems(2));
  const record = draftRecord({ id, account, status: 'completed', deleteAt: 60_000 });
  return store.publish(record, ['notify'], { key, fingerprint, ttlMs });
}

/** Checks of keys under which the same batch is created again. */
export const idempotencyChecks: readonly BatchStoreCheck[] = [
  storeCheck('creates one batch under a key', async (store) => {
    expectSame((await create(store, { id: 'batch_1' })).type, 'published', 'the first');
    const second = await create(store, { id: 'batch_2' });
    expectSame(second, { type: 'repeated', batchId: 'batch_1', sameContent: true }, 'the second');
    expectSame((await store.list(CHECKED_ACCOUNT, { limit: 10 })).batches.length, 1, 'the number of batches');
  }),

  storeCheck('says when a key comes with other content', async (store) => {
    await create(store, { id: 'batch_1' });
    const second = await create(store, { id: 'batch_2', fingerprint: 'other' });
    expectSame(second, { type: 'repeated', batchId: 'batch_1', sameContent: false }, 'the second');
  }),

  storeCheck('removes the draft of a repetition, and does nothing for it', async (store) => {
    await create(store, { id: 'batch_1' });
    await store.claimTasks({ limit: 1, leaseMs: 600_000, token: 't' });
    await create(store, { id: 'batch_2' });
    await expectRejected(store.addItems(CHECKED_ACCOUNT, 'batch_2', someItems(1)), 'RangeError', 'adding to it');
    expectSame(await claimTask(store), undefined, 'a task for it');
  }),

  storeCheck('knows its own batch again when a key is published twice', async (store) => {
    await create(store, { id: 'batch_1' });
    const key = { key: 'key-1', fingerprint: 'same', ttlMs: 600_000 };
    const again = await store.publish(draftRecord({ id: 'batch_1' }), ['notify'], key);
    expectSame(again.type, 'published', 'the second answer');
    expectSame((await store.items(CHECKED_ACCOUNT, 'batch_1', -1, 10)).length, 2, 'the number of requests');
  }),

  storeCheck('keeps the keys of accounts apart', async (store) => {
    await create(store, { id: 'batch_1', account: 'acme' });
    expectSame((await create(store, { id: 'batch_2', account: 'other' })).type, 'published', 'the other account');
  }),

  storeCheck('keeps keys apart that differ in little', async (store) => {
    const keys = ['a', 'A', 'a ', ' a', 'ä', 'a\u0308', 'a\u0000', '\ud800', '\ud801', 'x'.repeat(3_000)];
    for (const [index, key] of keys.entries()) {
      expectSame((await create(store, { id: `batch_${index}`, key })).type, 'published', `a batch under key ${index}`);
    }
  }),

  storeCheck('forgets a key after its time', async (store, { pass }) => {
    await create(store, { id: 'batch_1', ttlMs: SHORT_MS });
    await pass(PAST_SHORT_MS);
    expectSame((await create(store, { id: 'batch_2', fingerprint: 'other' })).type, 'published', 'the second');
    const third = await create(store, { id: 'batch_3', fingerprint: 'other' });
    expectSame(third, { type: 'repeated', batchId: 'batch_2', sameContent: true }, 'the third');
  }),

  storeCheck('forgets a key with its batch', async (store) => {
    await create(store, { id: 'batch_1' });
    expectSame(await store.remove(CHECKED_ACCOUNT, 'batch_1'), true, 'removing the batch');
    expectSame((await create(store, { id: 'batch_2' })).type, 'published', 'the second');
  }),

  storeCheck('creates one batch when many come under one key at once', async (store) => {
    const ids = Array.from({ length: 8 }, (_, index) => `batch_${index}`);
    const outcomes = await Promise.all(ids.map((id) => create(store, { id })));
    const published = outcomes.flatMap((outcome) => (outcome.type === 'published' ? [outcome.batch.id] : []));
    const repeated = outcomes.flatMap((outcome) => (outcome.type === 'repeated' ? [outcome.batchId] : []));
    expectSame(published.length, 1, 'the number of batches');
    expectSame([...new Set(repeated)], published, 'the batch that the others are told');
  }),
];
