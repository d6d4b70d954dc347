import { DatabaseSync } from 'node:sqlite';
import type { BatchStore } from 'signalbox';

/**
 * The same file without fencing: whoever comes with an outcome writes it, whatever became of the lease. It is here to
 * show that the checks of the crash test find what they look for.
 */
export function unfenced(store: BatchStore, file: string): BatchStore {
  let database: DatabaseSync | undefined;
  return {
    ...store,
    storeOutcomes(account, batchId, token, outcomes) {
      database ??= new DatabaseSync(file, { timeout: 5_000 });
      database.exec('BEGIN IMMEDIATE');
      for (const { index } of outcomes) {
        database
          .prepare('DELETE FROM outcomes WHERE account = ? AND batch_id = ? AND position = ?')
          .run(account, batchId, index);
        database
          .prepare(
            'UPDATE items SET failed = NULL, token = ?, lease_until = ? WHERE account = ? AND batch_id = ? AND position = ?',
          )
          .run(token, Number.MAX_SAFE_INTEGER, account, batchId, index);
      }
      database.exec('COMMIT');
      return store.storeOutcomes(account, batchId, token, outcomes);
    },
  };
}
