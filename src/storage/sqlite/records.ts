import type { BatchStore } from '../batch-store.ts';
import { outcomeOf, recordOf, recordText, storable, wholeMs } from '../stored-rows.ts';
import type { SqliteConnection } from './connection.ts';
import { purge } from './purge.ts';
import { ownerOf, recordColumns, textOf } from './rows.ts';

/** Batches that are there. */
export type Records = Pick<BatchStore, 'find' | 'list' | 'items' | 'outcomes' | 'recount' | 'save' | 'remove'>;

/** Makes {@link Records} over a file. */
export function recordsOf(connection: SqliteConnection): Records {
  return {
    async find(account, batchId) {
      const row = await connection.read(() => connection.first('findBatch', ownerOf(account, batchId)));
      return row === undefined ? undefined : recordOf(recordColumns(row));
    },

    async list(account, { limit, after, statuses, createdAfter, createdBefore }) {
      const rows = await connection.read(() =>
        connection.all('listBatches', {
          account: storable(account),
          limit: limit + 1,
          after: after === undefined ? null : storable(after),
          statuses: statuses === undefined ? null : JSON.stringify(statuses),
          createdAfter: createdAfter ?? Number.MIN_SAFE_INTEGER,
          createdBefore: createdBefore ?? Number.MAX_SAFE_INTEGER,
        }),
      );
      const batches = rows.slice(0, limit).map((row) => recordOf(recordColumns(row)));
      return { batches, more: rows.length > limit };
    },

    async items(account, batchId, after, limit) {
      const values = { ...ownerOf(account, batchId), after, limit };
      const rows = await connection.read(() => connection.all('pageItems', values));
      return rows.map((row) => ({
        index: Number(row['position']),
        customId: textOf(row, 'custom_id'),
        body: String(row['body']),
      }));
    },

    async outcomes(account, batchId, after, limit) {
      const values = { ...ownerOf(account, batchId), after, limit };
      const rows = await connection.read(() => connection.all('pageOutcomes', values));
      return rows.map((row) => outcomeOf(Number(row['position']), String(row['custom_id']), String(row['outcome'])));
    },

    async recount(account, batchId) {
      const row = await connection.read(() => connection.first('recount', ownerOf(account, batchId)));
      return { completed: Number(row?.['completed'] ?? 0), failed: Number(row?.['failed'] ?? 0) };
    },

    save(next, tasks) {
      const owner = ownerOf(next.account, next.id);
      const { status, revision } = next;
      const deleteAt = wholeMs(next.deleteAt);
      return connection.write(() => {
        const saved = connection.run('saveBatch', { ...owner, status, revision, deleteAt, record: recordText(next) });
        if (saved === 0) return false;
        for (const { account, batchId, effect, runAt } of tasks) {
          connection.run('putTask', { ...ownerOf(account, batchId), effect, runAt: wholeMs(runAt) });
        }
        return true;
      });
    },

    async remove(account, batchId) {
      const owner = ownerOf(account, batchId);
      const hidden = await connection.write(() => {
        if (connection.run('hideBatch', owner) === 0) return false;
        connection.run('deleteTasks', owner);
        connection.run('deleteKeys', owner);
        return true;
      });
      if (hidden) await purge(connection, owner);
      return hidden;
    },
  };
}
