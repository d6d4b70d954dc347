import { StorageError, type StorageErrorReason } from '../storage-error.ts';

/** What SQLite's result codes mean for somebody who has to do something about it. */
const MEANINGS: Readonly<Record<number, readonly [name: string, reason: StorageErrorReason, advice: string]>> = {
  3: ['SQLITE_PERM', 'read_only', 'may not be used by this user; give it permission to read and write'],
  5: ['SQLITE_BUSY', 'busy', 'was held by another process for too long; look for one that hangs'],
  6: ['SQLITE_LOCKED', 'busy', 'was held by another process for too long; look for one that hangs'],
  8: ['SQLITE_READONLY', 'read_only', 'cannot be written; give this user permission to write to it and its folder'],
  10: ['SQLITE_IOERR', 'unavailable', 'could not be read or written; look at the disk'],
  11: ['SQLITE_CORRUPT', 'corrupt', 'is damaged; move it away and restore a copy of it'],
  13: ['SQLITE_FULL', 'full', 'has no room to grow; make room on its disk'],
  14: ['SQLITE_CANTOPEN', 'unavailable', 'cannot be opened; see whether its folder is there and may be written'],
  26: ['SQLITE_NOTADB', 'corrupt', 'is not a SQLite database; move it away or name another file'],
};

/** The primary result code of an error of `node:sqlite`; undefined for any other error. */
export function resultCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number') return undefined;
  return error.errcode % 256;
}

/** True when somebody else holds the file just now. */
export function isBusy(error: unknown): boolean {
  const code = resultCode(error);
  return code === 5 || code === 6;
}

/** What SQLite says in our own words. Errors that are not SQLite's stay as they are. */
export function sqliteFailure(error: unknown, file: string): unknown {
  const code = resultCode(error);
  if (code === undefined) return error;
  const [name, reason, advice] = MEANINGS[code] ?? [`SQLite error ${code}`, 'failed', 'could not be used'];
  return new StorageError(reason, `The file "${file}" ${advice} (${name}).`, name);
}
