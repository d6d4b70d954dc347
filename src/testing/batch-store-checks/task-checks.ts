import { expectHolds, expectSame } from '../provider-checks/harness.ts';
import {
  CHECKED_ACCOUNT,
  BATCH,
  type BatchStoreCheck,
  storeCheck,
  claimTask,
  expectTask,
  LONG_LEASE_MS,
  makeBatch,
  PAST_SHORT_MS,
  SHORT_MS,
} from './check.ts';

/** Checks of what is to be done. */
export const taskChecks: readonly BatchStoreCheck[] = [
  storeCheck('has no tasks at first', async (store) => {
    expectSame(await claimTask(store), undefined, 'a task');
    expectSame(await store.nextTaskIn(), undefined, 'the time until the next');
  }),

  storeCheck('claims a task once', async (store) => {
    await makeBatch(store, { effects: ['run'] });
    const task = await expectTask(store, 'a');
    expectSame([task.effect, task.batchId, task.attempts, task.token], ['run', BATCH, 1, 'a'], 'the task');
    expectSame(await claimTask(store, 'b'), undefined, 'another task');
  }),

  storeCheck('claims as many tasks as are wanted', async (store) => {
    for (const id of ['batch_1', 'batch_2', 'batch_3']) await makeBatch(store, { id, items: 1, effects: ['run'] });
    const first = await store.claimTasks({ limit: 2, leaseMs: LONG_LEASE_MS, token: 'a' });
    const second = await store.claimTasks({ limit: 2, leaseMs: LONG_LEASE_MS, token: 'a' });
    expectSame([first.length, second.length], [2, 1], 'how many were claimed');
    const ids = [...first, ...second].map(({ batchId }) => batchId).toSorted();
    expectSame(ids, ['batch_1', 'batch_2', 'batch_3'], 'whose they are');
  }),

  storeCheck('claims the tasks of all accounts', async (store) => {
    await makeBatch(store, { account: 'acme', effects: ['run'] });
    await makeBatch(store, { account: 'other', effects: ['run'] });
    const tasks = await store.claimTasks({ limit: 9, leaseMs: LONG_LEASE_MS, token: 'a' });
    expectSame(tasks.map(({ account }) => account).toSorted(), ['acme', 'other'], 'whose they are');
  }),

  storeCheck('claims first what is due longest', async (store) => {
    const now = await store.now();
    for (const [index, age] of [10, 30, 20].entries()) {
      const batch = await makeBatch(store, { id: `batch_${index}`, items: 1 });
      const task = { account: CHECKED_ACCOUNT, batchId: batch.id, effect: 'run' as const, runAt: now - age };
      await store.save({ ...batch, revision: 2 }, [task]);
    }
    const tasks = await store.claimTasks({ limit: 2, leaseMs: LONG_LEASE_MS, token: 'a' });
    expectSame(
      tasks.map(({ batchId }) => batchId),
      ['batch_1', 'batch_2'],
      'whose they are',
    );
  }),

  storeCheck('claims nothing before it is due', async (store, { pass }) => {
    const batch = await makeBatch(store);
    const runAt = (await store.now()) + 120;
    await store.save({ ...batch, revision: 2 }, [{ account: CHECKED_ACCOUNT, batchId: BATCH, effect: 'run', runAt }]);
    expectSame(await claimTask(store), undefined, 'a task at first');
    const left = (await store.nextTaskIn()) ?? 0;
    expectHolds(left > 0 && left <= 120, `it is due in at most 120 ms, and not in ${left}`);
    await pass(130);
    expectSame(await store.nextTaskIn(), 0, 'the time until it is due');
    expectSame((await claimTask(store))?.effect, 'run', 'the task then');
  }),

  storeCheck('tells the time of the next task among many', async (store) => {
    const batch = await makeBatch(store);
    const now = await store.now();
    await store.save({ ...batch, revision: 2 }, [
      { account: CHECKED_ACCOUNT, batchId: BATCH, effect: 'run', runAt: now + 90_000 },
      { account: CHECKED_ACCOUNT, batchId: BATCH, effect: 'stop', runAt: now + 50_000 },
      { account: CHECKED_ACCOUNT, batchId: BATCH, effect: 'notify', runAt: now + 70_000 },
    ]);
    const left = (await store.nextTaskIn()) ?? 0;
    expectHolds(left > 30_000 && left <= 50_000, `the next is due in 50 s, and not in ${left} ms`);
  }),

  storeCheck('counts a held task as due when its lease ends', async (store) => {
    await makeBatch(store, { effects: ['run'] });
    await claimTask(store, 'a', 60_000);
    const left = (await store.nextTaskIn()) ?? 0;
    expectHolds(left > 30_000 && left <= 60_000, `it is due in 60 s, and not in ${left} ms`);
  }),

  storeCheck('claims a task again when its lease has ended', async (store, { pass }) => {
    await makeBatch(store, { effects: ['run'] });
    await claimTask(store, 'a', SHORT_MS);
    await pass(PAST_SHORT_MS);
    const again = await expectTask(store, 'b');
    expectSame([again.attempts, again.token], [2, 'b'], 'attempts and token');
  }),

  storeCheck('renews a lease', async (store, { pass }) => {
    await makeBatch(store, { effects: ['run'] });
    const task = await expectTask(store, 'a', 200);
    expectSame(await store.renewTask(task, LONG_LEASE_MS), true, 'whether it was renewed');
    await pass(220);
    expectSame(await claimTask(store, 'b'), undefined, 'a task for somebody else');
    expectSame(await store.finishTask(task), true, 'whether it was still held');
  }),

  storeCheck('neither renews, finishes nor puts off what it no longer holds', async (store, { pass }) => {
    await makeBatch(store, { effects: ['run'] });
    const task = await expectTask(store, 'a', SHORT_MS);
    await pass(PAST_SHORT_MS);
    const other = await expectTask(store, 'b');
    for (const when of ['when somebody else holds it', 'when it is gone']) {
      expectSame(await store.renewTask(task, LONG_LEASE_MS), false, `whether it was renewed ${when}`);
      expectSame(await store.rescheduleTask(task, { afterMs: 0 }), false, `whether it was put off ${when}`);
      expectSame(await store.finishTask(task), false, `whether it was finished ${when}`);
      await store.finishTask(other);
    }
  }),

  storeCheck(
    'renews, puts off and finishes after the lease has ended what nobody else has claimed',
    async (store, { pass }) => {
      await makeBatch(store, { effects: ['run'] });
      const first = await expectTask(store, 'a', SHORT_MS);
      await pass(PAST_SHORT_MS);
      expectSame(await store.renewTask(first, SHORT_MS), true, 'whether it was renewed');
      await pass(PAST_SHORT_MS);
      expectSame(await store.rescheduleTask(first, { afterMs: 0 }), true, 'whether it was put off');
      const second = await expectTask(store, 'b', SHORT_MS);
      await pass(PAST_SHORT_MS);
      expectSame(await store.finishTask(second), true, 'whether it was finished');
    },
  ),

  storeCheck('knows tasks by token, not by who asks', async (store) => {
    await makeBatch(store, { effects: ['run'] });
    const task = await expectTask(store, 'a');
    expectSame(await store.finishTask({ ...task, token: 'b' }), false, 'whether another token finishes it');
    expectSame(await store.finishTask({ ...task, effect: 'stop' }), false, 'whether another kind is finished');
    expectSame(await store.finishTask({ ...task, account: 'other' }), false, 'whether another account finishes it');
    expectSame(await store.finishTask(task), true, 'whether its own token finishes it');
  }),

  storeCheck('finishes a task for good, and once', async (store) => {
    await makeBatch(store, { effects: ['run'] });
    const task = await expectTask(store);
    expectSame(await store.finishTask(task), true, 'whether it was finished');
    expectSame(await store.finishTask(task), false, 'whether it was finished again');
    expectSame(await store.nextTaskIn(), undefined, 'the time until the next');
  }),

  storeCheck('puts a task off', async (store, { pass }) => {
    await makeBatch(store, { effects: ['run'] });
    const task = await expectTask(store);
    expectSame(await store.rescheduleTask(task, { afterMs: 120 }), true, 'whether it was put off');
    expectSame(await claimTask(store), undefined, 'a task at first');
    expectSame(await store.finishTask(task), false, 'whether it is still held');
    await pass(130);
    expectSame((await claimTask(store))?.attempts, 2, 'its attempts then');
  }),

  storeCheck('puts a task off from now, not from when it was due', async (store, { pass }) => {
    await makeBatch(store, { effects: ['run'] });
    const task = await expectTask(store);
    await pass(30);
    const before = await store.now();
    await store.rescheduleTask(task, { afterMs: 0 });
    const { runAt } = await expectTask(store, 'b');
    expectHolds(runAt >= before, 'it is due after it was put off');
  }),

  storeCheck('counts attempts anew after progress', async (store) => {
    await makeBatch(store, { effects: ['run'] });
    await store.rescheduleTask(await expectTask(store, 'a'), { afterMs: 0 });
    const second = await expectTask(store, 'b');
    expectSame(second.attempts, 2, 'the attempts without progress');
    await store.rescheduleTask(second, { afterMs: 0, reset: true });
    expectSame((await claimTask(store, 'c'))?.attempts, 1, 'the attempts after progress');
  }),

  storeCheck('keeps a memo for the next run', async (store) => {
    await makeBatch(store, { effects: ['notify'] });
    const first = await expectTask(store, 'a');
    expectSame(first.memo, undefined, 'the memo at first');
    const memo = { tries: 2, last: { status: 503, text: 'ä\u0000 👋' }, list: [1, null] };
    await store.rescheduleTask(first, { afterMs: 0, memo });
    const second = await expectTask(store, 'b');
    expectSame(second.memo, memo, 'the memo');
    await store.rescheduleTask(second, { afterMs: 0 });
    const third = await expectTask(store, 'c');
    expectSame(third.memo, memo, 'the memo when nothing new is said');
    await store.rescheduleTask(third, { afterMs: 0, memo: {} });
    expectSame((await claimTask(store))?.memo, {}, 'the memo when it was emptied');
  }),

  storeCheck('keeps the memo when a worker dies', async (store, { pass }) => {
    await makeBatch(store, { effects: ['notify'] });
    await store.rescheduleTask(await expectTask(store, 'a'), { afterMs: 0, memo: { tries: 1 } });
    await claimTask(store, 'b', SHORT_MS);
    await pass(PAST_SHORT_MS);
    expectSame((await claimTask(store, 'c'))?.memo, { tries: 1 }, 'the memo');
  }),

  storeCheck('claims each task once, however many claim at once', async (store) => {
    for (let index = 0; index < 20; index += 1) {
      await makeBatch(store, { id: `batch_${index}`, items: 0, effects: ['run'] });
    }
    const claimed = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        store.claimTasks({ limit: 2, leaseMs: LONG_LEASE_MS, token: `t${index}` }),
      ),
    );
    const rest = await store.claimTasks({ limit: 100, leaseMs: LONG_LEASE_MS, token: 'rest' });
    const ids = [...claimed.flat(), ...rest].map(({ batchId }) => batchId);
    expectSame([new Set(ids).size, ids.length], [20, 20], 'how many different ones, and how many');
  }),
];
