import type { PostgresDatabase } from './database.ts';

/** Requests that are deleted in one transaction. */
const PAGE = 1_000;

/**
 * Deletes everything of a batch that was hidden before, a page at a time. When it is interrupted, `sweep` goes on.
 *
 * @returns True when it was this call that deleted the last of it.
 */
export async function purge(
  database: PostgresDatabase,
  owner: { readonly account: string; readonly batchId: string },
): Promise<boolean> {
  await database.run('deleteTasks', owner);
  await database.run('deleteKeys', owner);
  for (;;) {
    const deleted = await database.run('deleteItems', { ...owner, limit: PAGE });
    if (deleted === PAGE) continue;
    if ((await database.run('deleteRow', owner)) > 0) return true;
    // Somebody else may be at it as well, and have some pages left.
    if ((await database.first('findDeleted', owner)) === undefined) return false;
  }
}
