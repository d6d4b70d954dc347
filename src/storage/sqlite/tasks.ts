import type { BatchEffect } from '../../core/batch/machine.ts';
import type { JsonObject } from '../../protocol/json.ts';
import type { BatchStore, ClaimedTask } from '../batch-store.ts';
import { storable, wholeMs } from '../stored-rows.ts';
import type { Row, SqliteConnection, Values } from './connection.ts';
import { purge } from './purge.ts';
import { ownerOf, textOf } from './rows.ts';

/** What is to be done, by whoever comes first. */
export type Tasks = Pick<
  BatchStore,
  'claimTasks' | 'renewTask' | 'finishTask' | 'rescheduleTask' | 'nextTaskIn' | 'sweep'
>;

/** Makes {@link Tasks} over a file. */
export function tasksOf(connection: SqliteConnection, now: () => number): Tasks {
  const held = ({ account, batchId, effect, token }: ClaimedTask): Values => ({
    ...ownerOf(account, batchId),
    effect,
    token: storable(token),
    now: now(),
  });

  return {
    async claimTasks({ limit, leaseMs, token }) {
      const rows = await connection.write(() =>
        connection.all('claimTasks', { limit, leaseMs: wholeMs(leaseMs), token: storable(token), now: now() }),
      );
      return rows.toSorted(byTime).map((row) => claimedTask(row, token));
    },

    renewTask: (task, leaseMs) =>
      connection.write(() => connection.run('renewTask', { ...held(task), leaseMs: wholeMs(leaseMs) }) > 0),

    finishTask: (task) => connection.write(() => connection.run('finishTask', held(task)) > 0),

    rescheduleTask(task, { afterMs, memo, reset = false }) {
      const next = {
        afterMs: wholeMs(afterMs),
        memo: memo === undefined ? null : JSON.stringify(memo),
        reset: reset ? 1 : 0,
      };
      return connection.write(() => connection.run('rescheduleTask', { ...held(task), ...next }) > 0);
    },

    async nextTaskIn() {
      const at = await connection.read(() => connection.first('nextTask')?.['at']);
      return typeof at === 'number' ? Math.max(0, at - now()) : undefined;
    },

    async sweep({ draftMs, limit }) {
      const found = await connection.write(() => {
        connection.run('deleteOldKeys', { now: now() });
        const over = connection.all('findOver', { now: now(), draftsBefore: now() - wholeMs(draftMs), limit });
        return over.map((row) => {
          const owner = { account: String(row['account']), batchId: String(row['id']) };
          if (row['stage'] === 'draft') connection.run('hideDraft', owner);
          if (row['stage'] === 'batch') connection.run('hideBatch', owner);
          connection.run('deleteTasks', owner);
          connection.run('deleteKeys', owner);
          return owner;
        });
      });
      let deleted = 0;
      for (const owner of found) if (await purge(connection, owner)) deleted += 1;
      return deleted;
    },
  };
}

function byTime(left: Row, right: Row): number {
  return Number(left['run_at']) - Number(right['run_at']) || Number(left['rowid']) - Number(right['rowid']);
}

function claimedTask(row: Row, token: string): ClaimedTask {
  const memo = row['memo'];
  return {
    account: textOf(row, 'account'),
    batchId: textOf(row, 'batch_id'),
    effect: String(row['effect']) as BatchEffect,
    runAt: Number(row['run_at']),
    attempts: Number(row['attempts']),
    token,
    ...(typeof memo === 'string' ? { memo: JSON.parse(memo) as JsonObject } : {}),
  };
}
