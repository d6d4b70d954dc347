import { expectHolds, expectSame } from '../provider-checks/harness.ts';
import {
  CHECKED_ACCOUNT,
  answered,
  BATCH,
  type BatchStoreCheck,
  claim,
  draftRecord,
  expectRejected,
  expectTask,
  indexesOf,
  ascending,
  LONG_LEASE_MS,
  makeBatch,
  PAST_SHORT_MS,
  ITEM_ERROR,
  refused,
  resultIdOf,
  sharedCheck,
  SHORT_MS,
  someItems,
} from './check.ts';

/** Checks of data that several processes use at the same time. */
export const sharingChecks: readonly BatchStoreCheck[] = [
  sharedCheck('shows elsewhere what was published here', async ({ store, other }) => {
    const batch = await makeBatch(store);
    expectSame(await other.find(CHECKED_ACCOUNT, BATCH), batch, 'the batch');
    expectSame(await other.items(CHECKED_ACCOUNT, BATCH, -1, 10), someItems(3), 'its requests');
  }),

  sharedCheck('keeps everything when the one who wrote it is gone', async ({ store, other }) => {
    const batch = await makeBatch(store, { effects: ['run'] });
    await store.close();
    expectSame(await other.find(CHECKED_ACCOUNT, BATCH), batch, 'the batch');
    expectSame((await expectTask(other)).effect, 'run', 'its task');
  }),

  sharedCheck('tells about the same time in both places', async ({ store, other }) => {
    const [here, there] = await Promise.all([store.now(), other.now()]);
    expectHolds(Math.abs(here - there) < 5_000, 'the times are about the same');
  }),

  sharedCheck('goes on with a draft from elsewhere', async ({ store, other }) => {
    await store.openDraft(CHECKED_ACCOUNT, BATCH);
    await store.addItems(CHECKED_ACCOUNT, BATCH, someItems(2));
    await expectRejected(
      other.addItems(CHECKED_ACCOUNT, BATCH, someItems(1)),
      'DuplicateCustomIdError',
      'the same name',
    );
    await other.discard(CHECKED_ACCOUNT, BATCH);
    await expectRejected(store.addItems(CHECKED_ACCOUNT, BATCH, someItems(1, 2)), 'RangeError', 'adding after that');
  }),

  sharedCheck('fences a worker whose lease ended against the one elsewhere', async ({ store, other, pass }) => {
    await makeBatch(store);
    await claim(store, 'a', { leaseMs: SHORT_MS });
    await pass(PAST_SHORT_MS);
    expectSame((await claim(other, 'b')).length, 3, 'what the other claims');
    expectSame(await store.storeOutcomes(CHECKED_ACCOUNT, BATCH, 'a', [answered(0)]), [], 'what the first stores');
    expectSame(await other.storeOutcomes(CHECKED_ACCOUNT, BATCH, 'b', [answered(0)]), [0], 'what the other stores');
    expectSame((await store.find(CHECKED_ACCOUNT, BATCH))?.counts.completed, 1, 'the count');
  }),

  sharedCheck('lets one of two places change a batch', async ({ store, other }) => {
    const batch = await makeBatch(store);
    for (let revision = 2; revision < 12; revision += 1) {
      const saved = await Promise.all([
        store.save({ ...batch, provider: 'here', revision }, []),
        other.save({ ...batch, provider: 'there', revision }, []),
      ]);
      expectSame(saved.filter(Boolean).length, 1, `how many saved revision ${revision}`);
    }
  }),

  sharedCheck('runs every request once when two places work at the same time', async ({ store, other }) => {
    await makeBatch(store, { items: 120 });
    const seen: number[] = [];
    const work = async (place: typeof store, name: string): Promise<void> => {
      for (let turn = 0; ; turn += 1) {
        const token = `${name}-${turn}`;
        const claimed = await claim(place, token, { limit: 5 });
        if (claimed.length === 0) return;
        seen.push(...indexesOf(claimed));
        const outcomes = claimed.map(({ index }) => (index % 3 === 0 ? refused(index) : answered(index)));
        const stored = await place.storeOutcomes(CHECKED_ACCOUNT, BATCH, token, outcomes);
        expectSame(stored.length, claimed.length, 'how many were stored');
      }
    };
    await Promise.all([work(store, 'a'), work(store, 'b'), work(other, 'c'), work(other, 'd')]);
    expectSame(ascending(seen), indexesOf(someItems(120)), 'what was run');
    const counts = { completed: 80, failed: 40 };
    expectSame(await store.recount(CHECKED_ACCOUNT, BATCH), counts, 'the counts that are counted anew');
    expectSame(
      (await other.find(CHECKED_ACCOUNT, BATCH))?.counts,
      { total: 120, ...counts },
      'the counts of the record',
    );
  }),

  sharedCheck('gives tasks to one of two places', async ({ store, other }) => {
    for (let index = 0; index < 12; index += 1) {
      await makeBatch(store, { id: `batch_${index}`, items: 0, effects: ['run'] });
    }
    const claims = Array.from({ length: 12 }, (_, index) =>
      (index % 2 === 0 ? store : other).claimTasks({ limit: 3, leaseMs: LONG_LEASE_MS, token: `t${index}` }),
    );
    const claimed = (await Promise.all(claims)).flat();
    const rest = await other.claimTasks({ limit: 99, leaseMs: LONG_LEASE_MS, token: 'rest' });
    const ids = [...claimed, ...rest].map(({ batchId }) => batchId);
    expectSame([ids.length, new Set(ids).size], [12, 12], 'how many were claimed, and how many different ones');
  }),

  sharedCheck('takes a key once in two places', async ({ store, other }) => {
    const key = { key: 'key-1', fingerprint: 'same', ttlMs: 600_000 };
    const outcomes = await Promise.all(
      [store, other, store, other].map(async (place, index) => {
        await place.openDraft(CHECKED_ACCOUNT, `batch_${index}`);
        return place.publish(draftRecord({ id: `batch_${index}` }), [], key);
      }),
    );
    expectSame(outcomes.filter(({ type }) => type === 'published').length, 1, 'how many were published');
    expectSame((await store.list(CHECKED_ACCOUNT, { limit: 10 })).batches.length, 1, 'how many there are');
  }),

  sharedCheck('counts right while one place ends what the other runs', async ({ store, other }) => {
    await makeBatch(store, { items: 60 });
    const tokens = ['a', 'b', 'c', 'd', 'e', 'f'];
    for (const token of tokens) await claim(store, token, { limit: 10 });
    const all = Array.from({ length: 60 }, (_, index) => answered(index));
    const [failed, ...stored] = await Promise.all([
      other.failRemaining(CHECKED_ACCOUNT, BATCH, ITEM_ERROR, resultIdOf),
      ...tokens.map((token) => store.storeOutcomes(CHECKED_ACCOUNT, BATCH, token, all)),
    ]);
    const completed = stored.flat().length;
    expectSame(completed + failed, 60, 'how many outcomes there are');
    expectSame(await store.recount(CHECKED_ACCOUNT, BATCH), { completed, failed }, 'the counts');
  }),
];
