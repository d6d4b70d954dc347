import { BATCH_STATUSES } from '../../protocol/batch.ts';
import type { BatchStore } from '../../contracts/batch-store.ts';
import { expectSame } from '../provider-checks/ask.ts';
import {
  ACCOUNT,
  answered,
  BATCH,
  type BatchStoreCheck,
  check,
  claim,
  indexesOf,
  inOrder,
  makeBatch,
  PAST_SHORT_MS,
  REFUSED,
  refused,
  resultIdOf,
  SHORT_MS,
} from './check.ts';

/** Fails unless the counts of the record and those that are counted anew are these. */
async function expectCounts(store: BatchStore, completed: number, failed: number): Promise<void> {
  const { total: _, ...counts } = (await store.find(ACCOUNT, BATCH))?.counts ?? { total: 0 };
  expectSame(counts, { completed, failed }, 'the counts of the record');
  expectSame(await store.recount(ACCOUNT, BATCH), { completed, failed }, 'the counts that are counted anew');
}

const statusChecks = BATCH_STATUSES.map((status) => {
  const stores = status === 'in_progress' || status === 'cancelling';
  return check(`${stores ? 'stores' : 'does not store'} outcomes while the batch is ${status}`, async (store) => {
    const batch = await makeBatch(store);
    await claim(store, 't');
    await store.save({ ...batch, status, revision: 2 }, []);
    expectSame(await store.storeOutcomes(ACCOUNT, BATCH, 't', [answered(1)]), stores ? [1] : [], 'what was stored');
    await expectCounts(store, stores ? 1 : 0, 0);
  });
});

/** Checks of what became of requests. */
export const outcomeChecks: readonly BatchStoreCheck[] = [
  check('stores outcomes and counts them', async (store) => {
    await makeBatch(store, { items: 5 });
    await claim(store, 't');
    const stored = await store.storeOutcomes(ACCOUNT, BATCH, 't', [answered(0), refused(1), answered(2)]);
    expectSame(inOrder(stored), [0, 1, 2], 'what was stored');
    await expectCounts(store, 2, 1);
    await store.storeOutcomes(ACCOUNT, BATCH, 't', [refused(4)]);
    await expectCounts(store, 2, 2);
  }),

  ...statusChecks,

  check('stores nothing when nothing is given', async (store) => {
    await makeBatch(store);
    expectSame(await store.storeOutcomes(ACCOUNT, BATCH, 't', []), [], 'what was stored');
    await expectCounts(store, 0, 0);
  }),

  check('stores nothing of what was not claimed', async (store) => {
    await makeBatch(store);
    await claim(store, 't', { limit: 1 });
    expectSame(await store.storeOutcomes(ACCOUNT, BATCH, 't', [answered(1), answered(99)]), [], 'what was stored');
    await expectCounts(store, 0, 0);
  }),

  check('stores what is its own of a mixed list', async (store) => {
    await makeBatch(store, { items: 4 });
    await claim(store, 'a', { limit: 2 });
    await claim(store, 'b', { limit: 2 });
    const all = [answered(3), answered(0), answered(2), answered(1)];
    expectSame(inOrder(await store.storeOutcomes(ACCOUNT, BATCH, 'b', all)), [2, 3], 'what was stored');
    await expectCounts(store, 2, 0);
  }),

  check('stores the first of two outcomes of one request', async (store) => {
    await makeBatch(store);
    await claim(store, 't');
    const stored = await store.storeOutcomes(ACCOUNT, BATCH, 't', [answered(0), refused(0)]);
    expectSame(stored, [0], 'what was stored');
    expectSame((await store.outcomes(ACCOUNT, BATCH, -1, 10))[0]?.error, undefined, 'the error');
    await expectCounts(store, 1, 0);
  }),

  check('stores an outcome once', async (store) => {
    await makeBatch(store);
    await claim(store, 't');
    await store.storeOutcomes(ACCOUNT, BATCH, 't', [answered(0, 'first')]);
    expectSame(await store.storeOutcomes(ACCOUNT, BATCH, 't', [answered(0, 'second')]), [], 'what was stored again');
    expectSame((await store.outcomes(ACCOUNT, BATCH, -1, 10))[0]?.response?.body, 'first', 'the answer');
    await expectCounts(store, 1, 0);
  }),

  check('stores nothing under a token whose lease has ended', async (store, { pass }) => {
    await makeBatch(store);
    await claim(store, 'a', { leaseMs: SHORT_MS });
    await pass(PAST_SHORT_MS);
    expectSame(await store.storeOutcomes(ACCOUNT, BATCH, 'a', [answered(0)]), [], 'what was stored');
  }),

  check('stores nothing under a token whose requests fell to somebody else', async (store, { pass }) => {
    await makeBatch(store);
    await claim(store, 'a', { leaseMs: SHORT_MS });
    await pass(PAST_SHORT_MS);
    await claim(store, 'b', { limit: 1 });
    expectSame(await store.storeOutcomes(ACCOUNT, BATCH, 'a', [answered(0, 'late')]), [], 'what was stored');
    expectSame(await store.storeOutcomes(ACCOUNT, BATCH, 'b', [answered(0, 'own')]), [0], 'what the other stored');
    expectSame(await store.storeOutcomes(ACCOUNT, BATCH, 'a', [answered(0, 'later')]), [], 'what was stored after');
    expectSame((await store.outcomes(ACCOUNT, BATCH, -1, 10))[0]?.response?.body, 'own', 'the answer');
    await expectCounts(store, 1, 0);
  }),

  check('stores nothing that was released', async (store) => {
    await makeBatch(store);
    await claim(store, 't');
    await store.releaseItems(ACCOUNT, BATCH, 't');
    expectSame(await store.storeOutcomes(ACCOUNT, BATCH, 't', [answered(0)]), [], 'what was stored');
  }),

  check('stores nothing where there is no batch', async (store) => {
    expectSame(await store.storeOutcomes(ACCOUNT, BATCH, 't', [answered(0)]), [], 'what was stored');
    expectSame(await store.failRemaining(ACCOUNT, BATCH, REFUSED, resultIdOf), 0, 'how many were failed');
  }),

  check('counts right when many store at once', async (store) => {
    await makeBatch(store, { items: 64 });
    await Promise.all(
      Array.from({ length: 16 }, async (_, worker) => {
        const claimed = await claim(store, `t${worker}`, { limit: 4 });
        const outcomes = claimed.map(({ index }) => (index % 4 === 0 ? refused(index) : answered(index)));
        await store.storeOutcomes(ACCOUNT, BATCH, `t${worker}`, outcomes);
      }),
    );
    const left = await claim(store, 'rest');
    const outcomes = left.map(({ index }) => (index % 4 === 0 ? refused(index) : answered(index)));
    await store.storeOutcomes(ACCOUNT, BATCH, 'rest', outcomes);
    await expectCounts(store, 48, 16);
  }),

  check('fails what remains, whoever holds it', async (store) => {
    await makeBatch(store, { items: 6 });
    await claim(store, 'a', { limit: 3 });
    await store.storeOutcomes(ACCOUNT, BATCH, 'a', [answered(0)]);
    expectSame(await store.failRemaining(ACCOUNT, BATCH, REFUSED, resultIdOf), 5, 'how many were failed');
    await expectCounts(store, 1, 5);
    const outcomes = await store.outcomes(ACCOUNT, BATCH, -1, 10);
    expectSame(indexesOf(outcomes), [0, 1, 2, 3, 4, 5], 'the outcomes');
    const last = { index: 5, customId: 'custom-5', resultId: 'batch_req_late_5', error: REFUSED };
    expectSame(outcomes[5], last, 'the last of them');
    expectSame(await store.storeOutcomes(ACCOUNT, BATCH, 'a', [answered(1)]), [], 'what was stored afterwards');
    await expectCounts(store, 1, 5);
  }),

  check('fails what remains once', async (store) => {
    await makeBatch(store);
    await store.failRemaining(ACCOUNT, BATCH, REFUSED, resultIdOf);
    expectSame(await store.failRemaining(ACCOUNT, BATCH, REFUSED, () => 'again'), 0, 'how many were failed again');
    await expectCounts(store, 0, 3);
  }),

  check('fails what remains of an ended batch as well', async (store) => {
    await makeBatch(store, { record: { status: 'expired' } });
    expectSame(await store.failRemaining(ACCOUNT, BATCH, REFUSED, resultIdOf), 3, 'how many were failed');
    await expectCounts(store, 0, 3);
  }),

  check('fails many requests', async (store) => {
    await makeBatch(store, { items: 1_250 });
    await claim(store, 'a', { limit: 10 });
    expectSame(await store.failRemaining(ACCOUNT, BATCH, REFUSED, resultIdOf), 1_250, 'how many were failed');
    await expectCounts(store, 0, 1_250);
  }),

  check('gives each request one outcome when results and the end come at once', async (store) => {
    await makeBatch(store, { items: 40 });
    const tokens = ['a', 'b', 'c', 'd'];
    for (const token of tokens) await claim(store, token, { limit: 10 });
    const all = Array.from({ length: 40 }, (_, index) => answered(index));
    const [failed, ...stored] = await Promise.all([
      store.failRemaining(ACCOUNT, BATCH, REFUSED, resultIdOf),
      ...tokens.map((token) => store.storeOutcomes(ACCOUNT, BATCH, token, all)),
    ]);
    const completed = stored.flat().length;
    expectSame(completed + failed, 40, 'how many outcomes there are');
    await expectCounts(store, completed, failed);
  }),
];
