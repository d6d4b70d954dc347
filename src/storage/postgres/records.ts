import type { BatchStore } from '../batch-store.ts';
import { outcomeOf, recordOf, recordText, storable, wholeMs } from '../stored-rows.ts';
import type { PostgresDatabase } from './database.ts';
import { purge } from './purge.ts';
import { columnOf, numberOf, ownerOf, recordColumns, textOf } from './rows.ts';

/** Batches that are there. */
export type Records = Pick<BatchStore, 'find' | 'list' | 'items' | 'outcomes' | 'recount' | 'save' | 'remove'>;

/** Makes {@link Records} over a database. */
export function recordsOf(database: PostgresDatabase): Records {
  return {
    async find(account, batchId) {
      const row = await database.first('findBatch', ownerOf(account, batchId));
      return row === undefined ? undefined : recordOf(recordColumns(row));
    },

    async list(account, { limit, after, statuses, createdAfter, createdBefore }) {
      const rows = await database.all('listBatches', {
        account: storable(account),
        limit: limit + 1,
        after: after === undefined ? null : storable(after),
        statuses: statuses ?? null,
        createdAfter: createdAfter ?? null,
        createdBefore: createdBefore ?? null,
      });
      const batches = rows.slice(0, limit).map((row) => recordOf(recordColumns(row)));
      return { batches, more: rows.length > limit };
    },

    async items(account, batchId, after, limit) {
      const rows = await database.all('pageItems', { ...ownerOf(account, batchId), after, limit });
      return rows.map((row) => ({
        index: numberOf(row, 'position'),
        customId: textOf(row, 'custom_id'),
        body: columnOf(row, 'body'),
      }));
    },

    async outcomes(account, batchId, after, limit) {
      const rows = await database.all('pageOutcomes', { ...ownerOf(account, batchId), after, limit });
      return rows.map((row) =>
        outcomeOf(numberOf(row, 'position'), columnOf(row, 'custom_id'), columnOf(row, 'outcome')),
      );
    },

    async recount(account, batchId) {
      const row = await database.first('recount', ownerOf(account, batchId));
      return { completed: numberOf(row, 'completed'), failed: numberOf(row, 'failed') };
    },

    save(next, tasks) {
      const { status, revision } = next;
      const values = { status, revision, deleteAt: wholeMs(next.deleteAt), record: recordText(next) };
      return database.transaction(async (session) => {
        const saved = await session.run('saveBatch', { ...ownerOf(next.account, next.id), ...values });
        if (saved === 0) return false;
        for (const { account, batchId, effect, runAt } of tasks) {
          await session.run('putTask', { ...ownerOf(account, batchId), effect, runAt: wholeMs(runAt) });
        }
        return true;
      });
    },

    async remove(account, batchId) {
      const owner = ownerOf(account, batchId);
      const hidden = await database.transaction(async (session) => {
        if ((await session.run('hideBatch', owner)) === 0) return false;
        await session.run('deleteTasks', owner);
        await session.run('deleteKeys', owner);
        return true;
      });
      if (hidden) await purge(database, owner);
      return hidden;
    },
  };
}
