import type { DatabaseSync } from 'node:sqlite';
import { StorageError } from '../storage-error.ts';
import { APPLICATION_ID, MIGRATIONS } from './schema.ts';

/**
 * Brings the tables of a file to this version, in one transaction that other processes wait for.
 *
 * @throws {@link StorageError} when the file is newer than this version, or belongs to another program.
 */
export function migrate(database: DatabaseSync, file: string): void {
  database.exec('BEGIN IMMEDIATE');
  try {
    const version = versionOf(database, file);
    for (const step of MIGRATIONS.slice(version)) database.exec(step);
    if (version < MIGRATIONS.length) {
      database.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${MIGRATIONS.length}`);
    }
    database.exec('COMMIT');
  } catch (error) {
    database.exec('ROLLBACK');
    throw error;
  }
}

/** The version of the tables; 0 for an empty file. */
function versionOf(database: DatabaseSync, file: string): number {
  const version = pragma(database, 'user_version');
  const owner = pragma(database, 'application_id');
  const tables = database.prepare('SELECT count(*) AS tables FROM sqlite_schema').get()?.['tables'];
  if (owner !== APPLICATION_ID && (tables !== 0 || version !== 0 || owner !== 0)) {
    throw new StorageError(
      'not_ours',
      `The file "${file}" is the database of another program; name a file that is Signalbox's own.`,
    );
  }
  if (version > MIGRATIONS.length) {
    throw new StorageError(
      'schema_too_new',
      `The file "${file}" has tables of version ${version}, and this version of Signalbox knows ${MIGRATIONS.length}; ` +
        'install the newer version again.',
    );
  }
  return version;
}

function pragma(database: DatabaseSync, name: 'user_version' | 'application_id'): number {
  return Number(database.prepare(`PRAGMA ${name}`).get()?.[name]);
}
