import type { SqliteConnection } from './connection.ts';
import type { Owner } from './records.ts';

/**
 * Deletes everything of a batch that was hidden before, a slice at a time. When it is interrupted, `sweep` goes on.
 *
 * @returns True when it was this call that deleted the last of it.
 */
export async function purge(connection: SqliteConnection, owner: Owner): Promise<boolean> {
  let deleted = false;
  await connection.writeInSlices((hasTime) => {
    do {
      const position = connection.first('firstItem', owner)?.['position'];
      if (position === undefined) {
        connection.run('deleteTasks', owner);
        connection.run('deleteKeys', owner);
        deleted = connection.run('deleteRow', owner) > 0;
        return false;
      }
      const item = { ...owner, position };
      connection.run('deleteOutcome', item);
      connection.run('deleteBody', item);
      connection.run('deleteItem', item);
    } while (hasTime());
    return true;
  });
  return deleted;
}
