/** Opens SQLite files and runs statements in short slices. */
import { closeSync, openSync, statSync } from 'node:fs';
import type * as Sqlite from 'node:sqlite';
import type { DatabaseSync } from 'node:sqlite';
import { setImmediate } from 'node:timers/promises';
import { StorageError, type StorageErrorReason } from '../../contracts/storage-error.ts';
import { retry } from '../../platform/retry.ts';
import type { SqliteStatementName } from './statements.ts';

/** Values for the names in a statement. */
type Values = Readonly<Record<string, Sqlite.SQLInputValue>>;
/** A row that was read. */
export type Row = Readonly<Record<string, Sqlite.SQLOutputValue>>;

/** What a file holds. */
interface SqliteTables<Name extends string> {
  /** In words. */
  readonly keeps: string;
  /** What makes the tables, as steps from each version to the next. */
  readonly migrations: readonly string[];
  /** Marks a file as ours, so that the data of another program is never touched. */
  readonly applicationId: number;
  readonly statements: Readonly<Record<Name, string>>;
}

/** Milliseconds that SQLite itself may wait for another process; it blocks everything meanwhile. */
const BLOCKING_WAIT_MS = 5;
/** Milliseconds of work in one transaction, after which others have their turn. */
const SLICE_MS = 10;
/** Milliseconds of work that need not wait for the disk, and that a power cut may therefore take. */
const SYNC_EVERY_MS = 100;
/** Pages of 4 kB that are moved from the journal to the file at a time: everybody waits for it. */
const CHECKPOINT_PAGES = 400;
/** Milliseconds between two tries to get hold of the file; the second is the longest. */
const WAITS_MS: readonly [number, number] = [2, 40];
/** Bytes up to which a file is looked through at start, which takes about a tenth of a second. */
const CHECK_UP_TO_BYTES = 32_000_000;

/**
 * One file, opened. SQLite works while everything else waits, so whatever may take long is cut into slices, and a file
 * that another process holds is waited for without blocking.
 */
export class SqliteConnection<Name extends string = SqliteStatementName> {
  readonly file: string;
  readonly #busyTimeoutMs: number;
  readonly #tables: SqliteTables<Name>;
  readonly #prepared = new Map<Name, Sqlite.StatementSync>();
  #database: Sqlite.DatabaseSync | undefined;
  #opening: Promise<void> | undefined;
  #inode: number | undefined;
  /** When what was written was last known to be on the disk, in monotonic milliseconds. */
  #syncedAt = -Infinity;

  constructor(file: string, busyTimeoutMs: number, tables: SqliteTables<Name>) {
    this.file = file;
    this.#busyTimeoutMs = busyTimeoutMs;
    this.#tables = tables;
  }

  /** @throws {@link StorageError} */
  async open(): Promise<void> {
    this.#opening ??= this.#open();
    try {
      await this.#opening;
    } catch (error) {
      this.close();
      throw error;
    }
  }

  close(): void {
    this.#opening = undefined;
    this.#prepared.clear();
    this.#database?.close();
    this.#database = undefined;
  }

  /** Runs a statement; gives the number of rows that it changed. */
  run(name: Name, values: Values = {}): number {
    return Number(this.#statement(name).run(values).changes);
  }

  all(name: Name, values: Values = {}): readonly Row[] {
    return this.#statement(name).all(values);
  }

  first(name: Name, values: Values = {}): Row | undefined {
    return this.#statement(name).get(values);
  }

  /** Reads. */
  read<Value>(work: () => Value): Promise<Value> {
    return this.#patiently(work);
  }

  /** Reads a step of something long, after others have had their turn. */
  async readInTurn<Value>(work: () => Value): Promise<Value> {
    await setImmediate();
    return this.read(work);
  }

  /** Does everything in it or nothing. */
  write<Value>(work: () => Value): Promise<Value> {
    return this.#patiently(() => {
      const value = this.#transaction(work);
      this.#syncedAt = performance.now();
      return value;
    });
  }

  /**
   * Does everything in it or nothing, for what may be done again after a power cut: it waits for the disk now and then
   * only. It is there for every process at once, and on the disk with the next {@link write}.
   */
  writeSoon<Value>(work: () => Value): Promise<Value> {
    return performance.now() - this.#syncedAt < SYNC_EVERY_MS ? this.#writeWithoutWaiting(work) : this.write(work);
  }

  /**
   * Does something long in several transactions, between which others have their turn.
   *
   * @param work - Goes on while `hasTime()`; gives false when nothing is left to do.
   */
  async writeInSlices(work: SlicedWork): Promise<void> {
    while (await this.write(sliceOf(work))) await setImmediate();
  }

  /**
   * The same where a later transaction makes it durable: its wait for the disk is for everything that was written
   * before, too.
   */
  async writeDraftInSlices(work: SlicedWork): Promise<void> {
    while (await this.#writeWithoutWaiting(sliceOf(work))) await setImmediate();
  }

  #writeWithoutWaiting<Value>(work: () => Value): Promise<Value> {
    return this.#patiently(() => {
      const database = this.#opened();
      database.exec('PRAGMA synchronous = NORMAL');
      try {
        return this.#transaction(work);
      } finally {
        database.exec('PRAGMA synchronous = FULL');
      }
    });
  }

  #transaction<Value>(work: () => Value): Value {
    const database = this.#opened();
    this.#expectSameFile();
    database.exec('BEGIN IMMEDIATE');
    try {
      const value = work();
      database.exec('COMMIT');
      return value;
    } catch (error) {
      rollBack(database);
      throw error;
    }
  }

  async #open(): Promise<void> {
    const { DatabaseSync } = loadDriver();
    createPrivately(this.file);
    const database = await this.#patiently(() => new DatabaseSync(this.file));
    this.#database = database;
    await this.#patiently(() => {
      database.exec(`PRAGMA busy_timeout = ${BLOCKING_WAIT_MS}; PRAGMA foreign_keys = ON`);
      migrate(database, this.file, this.#tables);
    });
    await this.#patiently(() => {
      const { journal_mode: mode } = database.prepare('PRAGMA journal_mode = WAL').get() ?? {};
      if (mode === 'wal') return;
      throw new StorageError('unavailable', `The file "${this.file}" is on a disk that SQLite cannot share; move it.`);
    });
    await this.#patiently(() => {
      database.exec('PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 67108864');
      database.exec(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
      this.#inode = statSync(this.file).ino;
      this.#expectSound(database);
    });
  }

  /** Damage is found at start rather than in the middle of a batch: in the data as far as it can be read quickly. */
  #expectSound(database: Sqlite.DatabaseSync): void {
    if (statSync(this.file).size <= CHECK_UP_TO_BYTES) {
      const { quick_check: verdict } = database.prepare('PRAGMA quick_check(1)').get() ?? {};
      if (verdict !== 'ok') {
        throw new StorageError('corrupt', `The file "${this.file}" is damaged; move it away and restore a copy of it.`);
      }
    }
    for (const [name, text] of Object.entries<string>(this.#tables.statements)) {
      try {
        database.prepare(text);
      } catch (error) {
        if (isBusy(error)) throw error;
        throw new StorageError(
          'schema_changed',
          `The tables of "${this.file}" are not as this version made them (${name}); restore a copy of it.`,
        );
      }
    }
  }

  /** What is written to a file that was deleted is lost, and nobody would notice. */
  #expectSameFile(): void {
    if (statSync(this.file, { throwIfNoEntry: false })?.ino === this.#inode) return;
    throw new StorageError(
      'unavailable',
      `The file "${this.file}" was moved or deleted while it was in use; put it back and start again.`,
    );
  }

  #opened(): Sqlite.DatabaseSync {
    if (this.#database !== undefined) return this.#database;
    throw new StorageError('not_open', `The file "${this.file}" is not open; call open() first.`);
  }

  #statement(name: Name): Sqlite.StatementSync {
    const known = this.#prepared.get(name);
    if (known !== undefined) return known;
    const statement = this.#opened().prepare(this.#tables.statements[name]);
    this.#prepared.set(name, statement);
    return statement;
  }

  async #patiently<Value>(work: () => Value): Promise<Value> {
    const givesUpAt = performance.now() + this.#busyTimeoutMs;
    const [first, longest] = WAITS_MS;
    try {
      return await retry(work, {
        waitAfter: (error, tried) =>
          isBusy(error) && performance.now() <= givesUpAt ? Math.min(first * 2 ** (tried - 1), longest) : undefined,
      });
    } catch (error) {
      throw sqliteFailure(error, this.file);
    }
  }
}

/** `node:sqlite`, loaded at run time so that older versions of Node get a sentence instead of a stack. */
function loadDriver(): typeof Sqlite {
  const driver = process.getBuiltinModule?.('node:sqlite') as typeof Sqlite | undefined;
  if (driver !== undefined) return driver;
  throw new StorageError('driver_missing', 'sqliteStorage needs node:sqlite, which Node has since version 22.13.');
}

/** What users asked is in there: nobody but the owner of the process may read a file that we make. */
function createPrivately(file: string): void {
  try {
    closeSync(openSync(file, 'a', 0o600));
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : undefined;
    if (code === 'EISDIR') {
      throw new StorageError('unavailable', `"${file}" is a folder; name a file in it, such as batches.db.`, code);
    }
    const denied = code === 'EACCES' || code === 'EPERM' || code === 'EROFS';
    throw denied
      ? new StorageError('read_only', `The file "${file}" cannot be written; give this user permission to.`, code)
      : new StorageError('unavailable', `The file "${file}" cannot be opened; is its folder there?`, code);
  }
}

function rollBack(database: Sqlite.DatabaseSync): void {
  try {
    database.exec('ROLLBACK');
  } catch {
    // SQLite itself has rolled back what it could not go on with.
  }
}

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
function resultCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number') return undefined;
  return error.errcode % 256;
}

/** True when somebody else holds the file just now. */
function isBusy(error: unknown): boolean {
  const code = resultCode(error);
  return code === 5 || code === 6;
}

/** What SQLite says in our own words. Errors that are not SQLite's stay as they are. */
function sqliteFailure(error: unknown, file: string): unknown {
  const code = resultCode(error);
  if (code === undefined) return error;
  const [name, reason, advice] = MEANINGS[code] ?? [`SQLite error ${code}`, 'failed', 'could not be used'];
  return new StorageError(reason, `The file "${file}" ${advice} (${name}).`, name);
}

/**
 * Brings the tables of a file to this version, in one transaction that other processes wait for.
 *
 * @throws {@link StorageError} when the file is newer than this version, or belongs to another program.
 */
function migrate(database: DatabaseSync, file: string, tables: SqliteTables<string>): void {
  const { migrations, applicationId } = tables;
  database.exec('BEGIN IMMEDIATE');
  try {
    const version = versionOf(database, file, tables);
    for (const step of migrations.slice(version)) database.exec(step);
    if (version < migrations.length) {
      database.exec(`PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${migrations.length}`);
    }
    database.exec('COMMIT');
  } catch (error) {
    database.exec('ROLLBACK');
    throw error;
  }
}

/** The version of the tables; 0 for an empty file. */
function versionOf(
  database: DatabaseSync,
  file: string,
  { migrations, applicationId, keeps }: SqliteTables<string>,
): number {
  const version = pragma(database, 'user_version');
  const owner = pragma(database, 'application_id');
  const tables = database.prepare('SELECT count(*) AS tables FROM sqlite_schema').get()?.['tables'];
  if (owner !== applicationId && (tables !== 0 || version !== 0 || owner !== 0)) {
    throw new StorageError(
      'not_ours',
      `The file "${file}" is the database of another program, or holds something else of Signalbox; name a file for ${keeps} alone.`,
    );
  }
  if (version > migrations.length) {
    throw new StorageError(
      'schema_too_new',
      `The file "${file}" has tables of version ${version}, and this version of Signalbox knows ${migrations.length}; ` +
        'install the newer version again.',
    );
  }
  return version;
}

function pragma(database: DatabaseSync, name: 'user_version' | 'application_id'): number {
  return Number(database.prepare(`PRAGMA ${name}`).get()?.[name]);
}

/** Something long: goes on while `hasTime()`, and gives false when nothing is left to do. */
type SlicedWork = (hasTime: () => boolean) => boolean;

/** As much of it as one transaction has time for. */
function sliceOf(work: SlicedWork): () => boolean {
  return () => {
    const endsAt = performance.now() + SLICE_MS;
    return work(() => performance.now() < endsAt);
  };
}
