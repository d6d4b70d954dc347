import type { BatchEffect } from '../../core/batch/machine.ts';
import type { JsonObject } from '../../protocol/json.ts';
import type { BatchStore, ClaimedTask } from '../batch-store.ts';
import { storable, wholeMs } from '../stored-rows.ts';
import type { PostgresDatabase, Row, Values } from './database.ts';
import { purge } from './purge.ts';
import { columnOf, numberOf, ownerOf, textOf } from './rows.ts';

/** What is to be done, by whoever comes first. */
export type Tasks = Pick<
  BatchStore,
  'claimTasks' | 'renewTask' | 'finishTask' | 'rescheduleTask' | 'nextTaskIn' | 'sweep'
>;

/** Makes {@link Tasks} over a database. */
export function tasksOf(database: PostgresDatabase): Tasks {
  return {
    async claimTasks({ limit, leaseMs, token }) {
      const values = { limit, leaseMs: wholeMs(leaseMs), token: storable(token) };
      const rows = await database.all('claimTasks', values);
      return rows.map((row) => claimedTask(row, token)).sort((left, right) => left.runAt - right.runAt);
    },

    async renewTask(task, leaseMs) {
      return (await database.run('renewTask', { ...held(task), leaseMs: wholeMs(leaseMs) })) > 0;
    },

    async finishTask(task) {
      return (await database.run('finishTask', held(task))) > 0;
    },

    async rescheduleTask(task, { afterMs, memo, reset = false }) {
      const next = { afterMs: wholeMs(afterMs), memo: memo === undefined ? null : JSON.stringify(memo), reset };
      return (await database.run('rescheduleTask', { ...held(task), ...next })) > 0;
    },

    async nextTaskIn() {
      const row = await database.first('nextTask');
      return row?.['left'] === null ? undefined : Math.max(0, numberOf(row, 'left'));
    },

    async sweep({ draftMs, limit }) {
      await database.run('deleteOldKeys');
      const over = await database.transaction(async (session) => {
        const rows = await session.all('hideOver', { draftMs: wholeMs(draftMs), limit });
        const owners = rows.map((row) => ({ account: columnOf(row, 'account'), batchId: columnOf(row, 'id') }));
        for (const owner of owners) {
          await session.run('deleteTasks', owner);
          await session.run('deleteKeys', owner);
        }
        return owners;
      });
      let deleted = 0;
      for (const owner of over) if (await purge(database, owner)) deleted += 1;
      return deleted;
    },
  };
}

function held({ account, batchId, effect, token }: ClaimedTask): Values {
  return { ...ownerOf(account, batchId), effect, token: storable(token) };
}

function claimedTask(row: Row, token: string): ClaimedTask {
  const memo = row['memo'];
  return {
    account: textOf(row, 'account'),
    batchId: textOf(row, 'batch_id'),
    effect: columnOf(row, 'effect') as BatchEffect,
    runAt: numberOf(row, 'run_at'),
    attempts: numberOf(row, 'attempts'),
    token,
    ...(typeof memo === 'string' ? { memo: JSON.parse(memo) as JsonObject } : {}),
  };
}
