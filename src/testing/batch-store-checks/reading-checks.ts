/** Checks for batch stores: reading, and the separation of accounts. */
import { BATCH_STATUSES, type BatchStatus } from '../../protocol/batch.ts';
import type { BatchListQuery, BatchStore } from '../../contracts/batch-store.ts';
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
  expectTask,
  indexesOf,
  makeBatch,
  ODD_NAMES,
  ITEM_ERROR,
  refused,
  resultIdOf,
  someItems,
} from './check.ts';

async function listed(store: BatchStore, query: Partial<BatchListQuery> = {}): Promise<readonly string[]> {
  const { batches } = await store.list(CHECKED_ACCOUNT, { limit: 100, ...query });
  return batches.map(({ id }) => id);
}

/** Makes batches one after the other, each in a millisecond of its own. */
async function makeInTurn(
  store: BatchStore,
  pass: (ms: number) => Promise<void>,
  statuses: readonly BatchStatus[],
): Promise<readonly number[]> {
  const times: number[] = [];
  for (const [index, status] of statuses.entries()) {
    const { createdAt } = await makeBatch(store, { id: `batch_${index}`, items: 1, record: { status } });
    times.push(createdAt);
    await pass(3);
  }
  return times;
}

async function withName(store: BatchStore, customId: string): Promise<void> {
  await store.openDraft(CHECKED_ACCOUNT, BATCH);
  await store.addItems(CHECKED_ACCOUNT, BATCH, [
    { index: 0, customId: 'plain', body: '{}' },
    { index: 1, customId, body: '{}' },
  ]);
  await store.publish(draftRecord(), []);
  const [, stored] = await store.items(CHECKED_ACCOUNT, BATCH, -1, 10);
  expectSame(stored?.customId, customId, 'the name of the request');
  const [, claimed] = await claim(store, 't');
  expectSame(claimed?.customId, customId, 'the name of what is claimed');
  await store.storeOutcomes(CHECKED_ACCOUNT, BATCH, 't', [answered(1)]);
  const [outcome] = await store.outcomes(CHECKED_ACCOUNT, BATCH, -1, 10);
  expectSame(outcome?.customId, customId, 'the name of the outcome');
}

const nameChecks = Object.entries(ODD_NAMES).map(([what, name]) =>
  storeCheck(`keeps a custom id with ${what}`, (store) => withName(store, name)),
);

const accountChecks = Object.entries(ODD_NAMES)
  .filter(([, name]) => name.length < 100)
  .map(([what, name]) =>
    storeCheck(`keeps an account and a batch with ${what}`, async (store) => {
      await makeBatch(store, { account: name, id: name, effects: ['run'] });
      await makeBatch(store, { account: `${name}!`, id: name });
      const found = await store.find(name, name);
      expectSame([found?.account, found?.id], [name, name], 'the names in the record');
      const [task] = await store.claimTasks({ limit: 1, leaseMs: 1_000, token: name });
      expectSame([task?.account, task?.batchId, task?.token], [name, name, name], 'the names in its task');
      expectHolds(task !== undefined && (await store.finishTask(task)), 'the task can be finished');
      expectSame(
        (await store.claimItems(name, name, { limit: 9, leaseMs: 1_000, token: name })).length,
        3,
        'its items',
      );
      expectSame(await store.renewItems(name, name, name, 1_000), 3, 'the number of leases');
      expectSame((await store.list(name, { limit: 10, after: name })).batches, [], 'what comes after it');
    }),
  );

/** Checks of reading. */
export const readingChecks: readonly BatchStoreCheck[] = [
  storeCheck('finds no batch that is not there', async (store) => {
    expectSame(await store.find(CHECKED_ACCOUNT, 'batch_0'), undefined, 'the batch');
    expectSame(await store.items(CHECKED_ACCOUNT, 'batch_0', -1, 10), [], 'its requests');
    expectSame(await store.outcomes(CHECKED_ACCOUNT, 'batch_0', -1, 10), [], 'its outcomes');
    expectSame(await store.recount(CHECKED_ACCOUNT, 'batch_0'), { completed: 0, failed: 0 }, 'its counts');
  }),

  storeCheck('lists the newest batch first', async (store, { pass }) => {
    await makeInTurn(store, pass, ['completed', 'completed', 'completed']);
    expectSame(await listed(store), ['batch_2', 'batch_1', 'batch_0'], 'the list');
  }),

  storeCheck('lists nothing of nobody', async (store) => {
    expectSame(await store.list(CHECKED_ACCOUNT, { limit: 10 }), { batches: [], more: false }, 'the list');
  }),

  storeCheck('lists records like those that are found', async (store) => {
    await makeBatch(store, { items: 4 });
    await claim(store, 't', { limit: 2 });
    await store.storeOutcomes(CHECKED_ACCOUNT, BATCH, 't', [answered(0), refused(1)]);
    const { batches } = await store.list(CHECKED_ACCOUNT, { limit: 10 });
    expectSame(batches, [await store.find(CHECKED_ACCOUNT, BATCH)], 'the list');
  }),

  storeCheck('says whether there are more', async (store) => {
    for (const id of ['batch_1', 'batch_2', 'batch_3']) await makeBatch(store, { id, items: 1 });
    expectSame((await store.list(CHECKED_ACCOUNT, { limit: 2 })).more, true, 'whether there is more than two');
    expectSame((await store.list(CHECKED_ACCOUNT, { limit: 3 })).more, false, 'whether there is more than three');
  }),

  storeCheck('goes through a list page by page, whatever the times are', async (store) => {
    const ids = Array.from({ length: 7 }, (_, index) => `batch_${index}`);
    for (const id of ids) await makeBatch(store, { id, items: 1 });
    const seen: string[] = [];
    for (let page = 0, more = true; more && page < 10; page += 1) {
      const found = await store.list(CHECKED_ACCOUNT, { limit: 3, after: seen.at(-1) });
      seen.push(...found.batches.map(({ id }) => id));
      more = found.more;
    }
    expectSame(seen.toSorted(), ids, 'what the pages show');
    expectSame(seen, await listed(store), 'their order');
  }),

  storeCheck('has nothing after a batch that is not there', async (store) => {
    await makeBatch(store);
    const page = await store.list(CHECKED_ACCOUNT, { limit: 10, after: 'batch_0' });
    expectSame(page, { batches: [], more: false, isUnknown: true }, 'the page');
  }),

  storeCheck('goes on behind a batch that was deleted', async (store, { pass }) => {
    const names = Array.from({ length: 7 }, (_, index) => `batch_${index}`);
    for (const id of names) {
      const made = await makeBatch(store, { id, items: 1 });
      await store.save({ ...made, status: 'failed', revision: made.revision + 1 }, []);
      await pass(5);
    }
    const seen: string[] = [];
    for (let more = true; more;) {
      const page = await store.list(CHECKED_ACCOUNT, { limit: 3, after: seen.at(-1) });
      for (const { id } of page.batches)
        expectSame(await store.remove(CHECKED_ACCOUNT, id), true, 'whether it was deleted');
      seen.push(...page.batches.map(({ id }) => id));
      ({ more } = page);
    }
    expectSame(seen, names.toReversed(), 'what the pages show');
    const end = await store.list(CHECKED_ACCOUNT, { limit: 3, after: seen.at(-1) });
    expectSame([end.batches, end.isUnknown === true], [[], false], 'what is behind the last one');
  }),

  storeCheck('lists batches of some states', async (store, { pass }) => {
    await makeInTurn(store, pass, BATCH_STATUSES);
    for (const [index, status] of BATCH_STATUSES.entries()) {
      expectSame(await listed(store, { statuses: [status] }), [`batch_${index}`], `those that are ${status}`);
    }
    const two = await listed(store, { statuses: ['failed', 'validating'] });
    const made = ['failed', 'validating'].map((status) => `batch_${BATCH_STATUSES.indexOf(status as BatchStatus)}`);
    expectSame(two, made, 'those of two states');
    expectSame(await listed(store, { statuses: [] }), [], 'those of no state');
  }),

  storeCheck('lists batches of some time, its ends excluded', async (store, { pass }) => {
    const [first = 0, second = 0, third = 0] = await makeInTurn(store, pass, ['failed', 'failed', 'failed']);
    expectSame(await listed(store, { createdAfter: first }), ['batch_2', 'batch_1'], 'those after the first');
    expectSame(await listed(store, { createdBefore: third }), ['batch_1', 'batch_0'], 'those before the last');
    expectSame(await listed(store, { createdAfter: first, createdBefore: third }), ['batch_1'], 'those between');
    expectSame(await listed(store, { createdAfter: second - 0.5, createdBefore: second + 0.5 }), ['batch_1'], 'one');
  }),

  storeCheck('goes on after a batch that a filter leaves out', async (store, { pass }) => {
    await makeInTurn(store, pass, ['failed', 'completed', 'failed']);
    const rest = await listed(store, { after: 'batch_1', statuses: ['failed'] });
    expectSame(rest, ['batch_0'], 'what comes after it');
  }),

  storeCheck('shows the state as it was saved last in a list', async (store) => {
    const batch = await makeBatch(store);
    await store.save({ ...batch, status: 'completed', revision: 2 }, []);
    expectSame(await listed(store, { statuses: ['completed'] }), [BATCH], 'those that are completed');
    expectSame(await listed(store, { statuses: ['in_progress'] }), [], 'those that are in progress');
  }),

  storeCheck('pages through requests', async (store) => {
    await makeBatch(store, { items: 10 });
    expectSame(await store.items(CHECKED_ACCOUNT, BATCH, -1, 4), someItems(4), 'the first page');
    expectSame(await store.items(CHECKED_ACCOUNT, BATCH, 3, 4), someItems(4, 4), 'the second');
    expectSame(await store.items(CHECKED_ACCOUNT, BATCH, 7, 4), someItems(2, 8), 'the third');
    expectSame(await store.items(CHECKED_ACCOUNT, BATCH, 9, 4), [], 'the fourth');
  }),

  storeCheck('pages through outcomes and passes over requests that have none', async (store) => {
    await makeBatch(store, { items: 6 });
    await claim(store, 't');
    await store.storeOutcomes(CHECKED_ACCOUNT, BATCH, 't', [answered(5), answered(1), answered(3)]);
    expectSame(indexesOf(await store.outcomes(CHECKED_ACCOUNT, BATCH, -1, 2)), [1, 3], 'the first page');
    expectSame(indexesOf(await store.outcomes(CHECKED_ACCOUNT, BATCH, 3, 2)), [5], 'the second');
  }),

  storeCheck('keeps everything that an outcome says', async (store) => {
    await makeBatch(store, { items: 2 });
    await claim(store, 't');
    const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3, cost: 0.000_000_1 };
    const good = { ...answered(0, { text: 'Grüße\u0000 👋 \ud83d', list: [null, 1e-9, -0.5] }), usage };
    const bad = { ...refused(1), usage };
    await store.storeOutcomes(CHECKED_ACCOUNT, BATCH, 't', [good, bad]);
    const named = [good, bad].map((outcome, index) => ({ ...outcome, customId: `custom-${index}` }));
    expectSame(await store.outcomes(CHECKED_ACCOUNT, BATCH, -1, 10), named, 'the outcomes');
    expectSame(named[1]?.error, ITEM_ERROR, 'the error');
  }),

  storeCheck('keeps a body byte for byte', async (store) => {
    const body = `{ "b" :1,"a": "\\u0000 \\ud83d 👋 ' \\\\ %s ${'é'.repeat(500)}",\n"b":2 }`;
    await store.openDraft(CHECKED_ACCOUNT, BATCH);
    await store.addItems(CHECKED_ACCOUNT, BATCH, [{ index: 0, customId: 'one', body }]);
    await store.publish(draftRecord(), []);
    expectSame((await store.items(CHECKED_ACCOUNT, BATCH, -1, 1))[0]?.body, body, 'the body');
    expectSame((await claim(store, 't'))[0]?.body, body, 'the body that is claimed');
  }),

  storeCheck('keeps bodies and answers of a megabyte', async (store) => {
    const body = JSON.stringify({ text: '👋 large '.repeat(100_000) });
    await store.openDraft(CHECKED_ACCOUNT, BATCH);
    for (const index of [0, 1]) {
      await store.addItems(CHECKED_ACCOUNT, BATCH, [
        { index, customId: `${index}`, body: `${body}${' '.repeat(index)}` },
      ]);
    }
    await store.publish(draftRecord(), []);
    const [, second] = await claim(store, 't');
    expectHolds(second?.body === `${body} `, 'the body is the same');
    await store.storeOutcomes(CHECKED_ACCOUNT, BATCH, 't', [answered(0, body)]);
    const [outcome] = await store.outcomes(CHECKED_ACCOUNT, BATCH, -1, 10);
    expectHolds(outcome?.response?.body === body, 'the answer is the same');
  }),

  storeCheck('keeps 5,000 requests', async (store) => {
    await store.openDraft(CHECKED_ACCOUNT, BATCH);
    for (let from = 0; from < 5_000; from += 1_000)
      await store.addItems(CHECKED_ACCOUNT, BATCH, someItems(1_000, from));
    await store.publish(draftRecord(), []);
    expectSame((await store.find(CHECKED_ACCOUNT, BATCH))?.counts.total, 5_000, 'the number of requests');
    expectSame(indexesOf(await store.items(CHECKED_ACCOUNT, BATCH, 4_997, 10)), [4_998, 4_999], 'the last ones');
    expectSame(indexesOf(await claim(store, 't', { limit: 3 })), [0, 1, 2], 'the first that are claimed');
    expectSame(await store.failRemaining(CHECKED_ACCOUNT, BATCH, ITEM_ERROR, String), 5_000, 'how many are failed');
    expectSame(await store.recount(CHECKED_ACCOUNT, BATCH), { completed: 0, failed: 5_000 }, 'the counts');
  }),

  ...nameChecks,
  ...accountChecks,
];

const STRANGER = 'stranger';

/** Checks that an account sees and changes its own only: what is another's is like what is not there. */
export const tenantChecks: readonly BatchStoreCheck[] = [
  storeCheck("finds nothing of another account's", async (store) => {
    await makeBatch(store);
    await claim(store, 't');
    await store.storeOutcomes(CHECKED_ACCOUNT, BATCH, 't', [answered(0)]);
    expectSame(await store.find(STRANGER, BATCH), undefined, 'the batch');
    expectSame(await store.items(STRANGER, BATCH, -1, 10), [], 'its requests');
    expectSame(await store.outcomes(STRANGER, BATCH, -1, 10), [], 'its outcomes');
    expectSame(await store.recount(STRANGER, BATCH), { completed: 0, failed: 0 }, 'its counts');
    expectSame(await store.list(STRANGER, { limit: 10 }), { batches: [], more: false }, 'the list');
  }),

  storeCheck("goes on after no batch of another account's", async (store) => {
    await makeBatch(store, { id: 'batch_9' });
    await makeBatch(store, { account: STRANGER, id: 'batch_1' });
    expectSame((await store.list(STRANGER, { limit: 10, after: 'batch_9' })).batches, [], 'what comes after it');
  }),

  storeCheck("saves and removes nothing of another account's", async (store) => {
    const batch = await makeBatch(store, { record: { status: 'failed' } });
    expectSame(await store.save({ ...batch, account: STRANGER, revision: 2 }, []), false, 'whether it was saved');
    expectSame(await store.remove(STRANGER, BATCH), false, 'whether it was removed');
    expectSame(await store.find(CHECKED_ACCOUNT, BATCH), batch, 'the batch');
  }),

  storeCheck("claims, renews and releases nothing of another account's", async (store) => {
    await makeBatch(store);
    expectSame(await claim(store, 't', { account: STRANGER }), [], 'what was claimed');
    await claim(store, 't');
    expectSame(await store.renewItems(STRANGER, BATCH, 't', 1), 0, 'what was renewed');
    await store.releaseItems(STRANGER, BATCH, 't');
    expectSame(await store.renewItems(CHECKED_ACCOUNT, BATCH, 't', 60_000), 3, 'what is still held');
  }),

  storeCheck("stores and fails nothing of another account's", async (store) => {
    await makeBatch(store);
    await claim(store, 't');
    expectSame(await store.storeOutcomes(STRANGER, BATCH, 't', [answered(0)]), [], 'what was stored');
    expectSame(await store.failRemaining(STRANGER, BATCH, ITEM_ERROR, resultIdOf), 0, 'what was failed');
    expectSame(await store.recount(CHECKED_ACCOUNT, BATCH), { completed: 0, failed: 0 }, 'the counts');
  }),

  storeCheck("adds to, publishes and discards no draft of another account's", async (store) => {
    await store.openDraft(CHECKED_ACCOUNT, BATCH);
    await expectRejected(store.addItems(STRANGER, BATCH, someItems(1)), 'RangeError', 'adding');
    await expectRejected(store.publish(draftRecord({ account: STRANGER }), []), 'RangeError', 'publishing');
    await store.discard(STRANGER, BATCH);
    await store.addItems(CHECKED_ACCOUNT, BATCH, someItems(1));
    expectSame((await store.publish(draftRecord(), [])).type, 'published', 'what publishing came to');
  }),

  storeCheck('lets two accounts have a batch of the same id', async (store) => {
    await makeBatch(store, { items: 2, record: { status: 'failed' }, effects: ['notify'] });
    await makeBatch(store, { account: STRANGER, items: 3, record: { status: 'failed' }, effects: ['notify'] });
    expectSame((await store.items(CHECKED_ACCOUNT, BATCH, -1, 10)).length, 2, 'the requests of one');
    expectSame((await store.items(STRANGER, BATCH, -1, 10)).length, 3, 'the requests of the other');
    expectSame(await store.remove(CHECKED_ACCOUNT, BATCH), true, 'whether one was removed');
    expectHolds((await store.find(STRANGER, BATCH)) !== undefined, 'the other is still there');
    expectSame((await store.items(STRANGER, BATCH, -1, 10)).length, 3, 'the requests of the other then');
    expectSame((await expectTask(store)).account, STRANGER, 'whose task is left');
  }),

  storeCheck('never shows more than the own rows, whatever two accounts do', async (store) => {
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
