import { DatabaseSync } from 'node:sqlite';
import type { BatchStore } from 'signalbox';

/**
 * The same file without fencing: whoever comes with an outcome writes it and counts it, whatever became of the lease. It
 * is here to show that the checks of the crash test find what they look for.
 */
export function unfenced(store: BatchStore, file: string): BatchStore {
  let database: DatabaseSync | undefined;
  return {
    ...store,
    // Who comes too late is not told so here either, or it would hold back by itself.
    renewItems: async (...claim) => Math.max(1, await store.renewItems(...claim)),
    async renewTask(...claim) {
      await store.renewTask(...claim);
      return true;
    },
    async storeOutcomes(account, batchId, token, outcomes) {
      const stored = await store.storeOutcomes(account, batchId, token, outcomes);
      database ??= new DatabaseSync(file, { timeout: 5_000 });
      for (const { index, resultId } of outcomes) {
        if (stored.includes(index)) continue;
        database
          .prepare(
            `UPDATE outcomes SET outcome = json_set(outcome, '$.resultId', ?)
              WHERE account = ? AND batch_id = ? AND position = ?`,
          )
          .run(resultId, account, batchId, index);
        database
          .prepare('UPDATE batches SET completed = completed + 1 WHERE account = ? AND id = ?')
          .run(account, batchId);
      }
      return outcomes.map(({ index }) => index);
    },
  };
}
