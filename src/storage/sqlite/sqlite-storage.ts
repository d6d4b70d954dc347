/** The batch store in SQLite. */
import { unknown } from '../../schema/scalars.ts';
import { callable, type OptionShape } from '../../options/values.ts';
import { checkShape } from '../../platform/check-options.ts';
import { ConfigError } from '../../protocol/router-error.ts';
import type { BatchStore, ItemOutcome } from '../../contracts/batch-store.ts';
import { type Row, SqliteConnection } from './connection.ts';
import { purgeSqliteBatch, sqliteDrafts, sqliteRecords } from './records.ts';
import { APPLICATION_ID, MIGRATIONS, STATEMENTS } from './statements.ts';
import {
  claimedItems,
  claimedTask,
  firstOutcomes,
  heldTask,
  outcomeText,
  ownerOf,
  storable,
  storedText,
  wholeMs,
  type FileOwner,
  fileOf,
  fileOwnerOf,
  fileText,
  noFile,
  publishedFile,
} from '../stored-rows.ts';
import type { BatchFileStore } from '../../contracts/batch-file-store.ts';

/** Options of {@link sqliteStorage}. */
export interface SqliteStorageOptions {
  /** Path of the file, in a folder that is there. Made when it is missing, for this user's eyes only. */
  readonly file: string;
  /** Milliseconds to wait for another process that writes. Default 10,000. */
  readonly busyTimeoutMs?: number | undefined;
  /** Epoch milliseconds. Default: the system's clock. */
  readonly now?: (() => number) | undefined;
}

const BUSY_TIMEOUT_MS = 10_000;

/** What the file of a storage of batches holds. */
const BATCH_TABLES = {
  keeps: 'batches',
  migrations: MIGRATIONS,
  applicationId: APPLICATION_ID,
  statements: STATEMENTS,
};

const OPTIONS: OptionShape<SqliteStorageOptions> = { file: unknown, busyTimeoutMs: unknown, now: callable };

/**
 * Batches in one file, by the SQLite that Node has built in. What was published survives a crash of the process and of
 * the machine. Several processes of one machine may use the same file; it must be on a local disk.
 *
 * @throws {@link ConfigError}
 *
 * @example
 * ```ts
 * const storage = sqliteStorage({ file: 'batches.db' });
 * ```
 */
export function sqliteStorage(options: SqliteStorageOptions): BatchStore {
  checkShape<SqliteStorageOptions>(OPTIONS, options, 'sqliteStorage');
  const { file, busyTimeoutMs = BUSY_TIMEOUT_MS, now = Date.now } = options;
  checkSqliteOptions(file, busyTimeoutMs);
  const clock = (): number => Math.floor(now());
  const connection = new SqliteConnection(file, busyTimeoutMs, BATCH_TABLES);
  const files = sqliteFiles(connection, clock);
  const tasks = sqliteTasks(connection, clock);
  return {
    durable: true,
    files,
    open: () => connection.open(),
    now: () => Promise.resolve(clock()),
    ...sqliteDrafts(connection, clock),
    ...sqliteRecords(connection, clock),
    ...sqliteItems(connection, clock),
    ...tasks,
    sweep: async (limits) => (await tasks.sweep(limits)) + (await files.sweep(limits.draftMs, limits.limit)),
    close: () => Promise.resolve(connection.close()),
  };
}

/** Finds what is wrong with the place of a file. */
export function checkSqliteOptions(file: unknown, busyTimeoutMs: unknown): void {
  const problems = [];
  if (typeof file !== 'string' || file === '' || file.startsWith(':') || file.startsWith('file:')) {
    problems.push({ path: 'file', problem: 'must be the path of a file; memoryStorage() keeps batches in memory' });
  }
  if (typeof busyTimeoutMs !== 'number' || !(busyTimeoutMs >= 0)) {
    problems.push({ path: 'busyTimeoutMs', problem: 'must be a number of milliseconds' });
  }
  if (problems.length > 0) throw new ConfigError(problems);
}

/** Requests that are being run. */
type Items = Pick<
  BatchStore,
  'claimItems' | 'renewItems' | 'releaseItems' | 'storeOutcomes' | 'failRemaining' | 'findShared'
>;

/** Requests that are looked up at once when the rest is failed. */
const PAGE = 100;

/** Makes {@link Items} over a file. */
function sqliteItems(connection: SqliteConnection, now: () => number): Items {
  return { ...sqliteClaims(connection, now), ...sqliteOutcomes(connection) };
}

/** Requests that are claimed and given back. */
function sqliteClaims(
  connection: SqliteConnection,
  now: () => number,
): Pick<Items, 'claimItems' | 'renewItems' | 'releaseItems' | 'findShared'> {
  return {
    async claimItems(account, batchId, { limit, leaseMs, token, indexes, fresh = false }) {
      const owner = ownerOf(account, batchId);
      const values = { ...owner, limit, leaseMs: wholeMs(leaseMs), token: storable(token) };
      // A claim that a power cut takes was none.
      const claimed = await connection.writeSoon(() =>
        indexes === undefined
          ? connection.all(fresh ? 'claimFresh' : 'claimItems', { ...values, now: now() })
          : connection.all('claimNamed', { ...values, positions: JSON.stringify(indexes), now: now() }),
      );
      return claimedItems(claimed);
    },

    async findShared(limit) {
      const rows = await connection.read(() => connection.all('findShared', { limit }));
      return rows.map((row) => ({ account: storedText(row, 'account'), batchId: storedText(row, 'id') }));
    },

    renewItems(account, batchId, token, leaseMs) {
      const values = { ...ownerOf(account, batchId), token: storable(token), leaseMs: wholeMs(leaseMs) };
      return connection.writeSoon(() => connection.run('renewItems', { ...values, now: now() }));
    },

    async releaseItems(account, batchId, token) {
      const values = { ...ownerOf(account, batchId), token: storable(token) };
      await connection.write(() => connection.run('releaseItems', values));
    },
  };
}

/** Outcomes of requests. */
function sqliteOutcomes(connection: SqliteConnection): Pick<Items, 'storeOutcomes' | 'failRemaining'> {
  return {
    storeOutcomes(account, batchId, token, outcomes) {
      const owner = ownerOf(account, batchId);
      // Nobody was told of an outcome before the batch has ended, which is written later: a request whose outcome a power
      // cut takes with its claim is run again.
      return connection.writeSoon(() => {
        if (connection.first('mayStore', owner) === undefined) return [];
        const given = firstOutcomes(outcomes);
        const lease = { ...owner, token: storable(token) };
        const completed = settleHeld(
          connection,
          { ...lease, failed: 0 },
          given.filter(({ error }) => error === undefined),
        );
        const failed = settleHeld(
          connection,
          { ...lease, failed: 1 },
          given.filter(({ error }) => error !== undefined),
        );
        const stored = [...completed, ...failed];
        for (const outcome of stored) {
          connection.run('insertOutcome', { ...owner, position: outcome.index, outcome: outcomeText(outcome) });
        }
        if (stored.length > 0) {
          connection.run('addCounts', { ...owner, completed: completed.length, failed: failed.length });
        }
        return stored.map(({ index }) => index);
      });
    },

    async failRemaining(account, batchId, error, resultIdOf) {
      const owner = ownerOf(account, batchId);
      let total = 0;
      await connection.writeInSlices((hasTime) => {
        let failed = 0;
        let open: number;
        do {
          const page = connection.all('pageOpen', { ...owner, limit: PAGE });
          open = page.length;
          for (const row of page) {
            const index = Number(row['position']);
            const outcome = outcomeText({ index, resultId: resultIdOf(index), error });
            connection.run('settleOpen', { ...owner, position: index });
            connection.run('insertOutcome', { ...owner, position: index, outcome });
          }
          failed += open;
        } while (open === PAGE && hasTime());
        if (failed > 0) connection.run('addCounts', { ...owner, completed: 0, failed });
        total += failed;
        return open === PAGE;
      });
      return total;
    },
  };
}

/** Settles requests that a lease still holds; gives their outcomes. */
function settleHeld(
  connection: SqliteConnection,
  lease: { readonly account: string; readonly batchId: string; readonly token: string; readonly failed: 0 | 1 },
  outcomes: readonly ItemOutcome[],
): readonly ItemOutcome[] {
  if (outcomes.length === 0) return [];
  const positions = JSON.stringify(outcomes.map(({ index }) => index));
  const rows = connection.all('settleHeld', { ...lease, positions });
  const settled = new Set(rows.map((row) => Number(row['position'])));
  return outcomes.filter(({ index }) => settled.has(index));
}

/** What is to be done, by whoever comes first. */
type Tasks = Pick<BatchStore, 'claimTasks' | 'renewTask' | 'finishTask' | 'rescheduleTask' | 'nextTaskIn' | 'sweep'>;

/** Makes {@link Tasks} over a file. */
function sqliteTasks(connection: SqliteConnection, now: () => number): Tasks {
  return {
    async claimTasks({ limit, leaseMs, token }) {
      const rows = await connection.write(() =>
        connection.all('claimTasks', { limit, leaseMs: wholeMs(leaseMs), token: storable(token), now: now() }),
      );
      return rows.toSorted(byTime).map((row) => claimedTask(row, token));
    },

    renewTask: (task, leaseMs) =>
      connection.write(
        () => connection.run('renewTask', { ...heldTask(task), leaseMs: wholeMs(leaseMs), now: now() }) > 0,
      ),

    finishTask: (task) => connection.write(() => connection.run('finishTask', heldTask(task)) > 0),

    rescheduleTask(task, { afterMs, memo, reset = false }) {
      const next = {
        afterMs: wholeMs(afterMs),
        memo: memo === undefined ? null : JSON.stringify(memo),
        reset: reset ? 1 : 0,
      };
      return connection.write(() => connection.run('rescheduleTask', { ...heldTask(task), ...next, now: now() }) > 0);
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
          if (row['stage'] === 'batch') connection.run('hideBatch', { ...owner, now: now() });
          connection.run('deleteTasks', owner);
          connection.run('deleteKeys', owner);
          return owner;
        });
      });
      let deleted = 0;
      for (const owner of found) if (await purgeSqliteBatch(connection, owner)) deleted += 1;
      return deleted;
    },
  };
}

function byTime(left: Row, right: Row): number {
  return Number(left['run_at']) - Number(right['run_at']) || Number(left['rowid']) - Number(right['rowid']);
}

/** Files over a file of SQLite, and how they are deleted when their time is over. */
interface SqliteFiles extends BatchFileStore {
  sweep(draftMs: number, limit: number): Promise<number>;
}

/** Makes {@link SqliteFiles}. */
function sqliteFiles(connection: SqliteConnection, now: () => number): SqliteFiles {
  return { ...sqliteFileDrafts(connection, now), ...publishedSqliteFiles(connection, now) };
}

/** Files that are being uploaded. */
function sqliteFileDrafts(
  connection: SqliteConnection,
  now: () => number,
): Pick<BatchFileStore, 'open' | 'add' | 'publish' | 'discard'> {
  return {
    async open(account, fileId) {
      await connection.write(() => connection.run('openFile', { ...fileOwnerOf(account, fileId), now: now() }));
    },

    async add(account, fileId, piece, content) {
      const owner = fileOwnerOf(account, fileId);
      // A draft that a power cut takes is none that anybody was told of; its publication waits for all of it.
      await connection.writeDraftInSlices(() => {
        if (connection.run('touchFile', { ...owner, now: now() }) === 0) throw noFile(fileId);
        connection.run('addPiece', { ...owner, piece, content });
        return false;
      });
    },

    publish(file) {
      const owner = fileOwnerOf(file.account, file.id);
      return connection.write(() => {
        const known = connection.first('findFile', owner);
        if (known !== undefined) return fileOf(known);
        const record = publishedFile(file, now());
        const { createdAt, deleteAt } = record;
        const values = { ...owner, createdAt, deleteAt, record: fileText(record) };
        if (connection.run('publishFile', values) === 0) throw noFile(file.id);
        return record;
      });
    },

    async discard(account, fileId) {
      await removeFile(connection, fileOwnerOf(account, fileId), { stage: 'draft', now: now() });
    },
  };
}

/** Files that are there. */
function publishedSqliteFiles(
  connection: SqliteConnection,
  now: () => number,
): Pick<SqliteFiles, 'find' | 'list' | 'read' | 'remove' | 'sweep'> {
  return {
    async find(account, fileId) {
      const row = await connection.read(() => connection.first('findFile', fileOwnerOf(account, fileId)));
      return row === undefined ? undefined : fileOf(row);
    },

    async list(account, { limit, after }) {
      const rows = await connection.read(() =>
        connection.all('listFiles', {
          account: storable(account),
          limit: limit + 1,
          after: after === undefined ? null : storable(after),
        }),
      );
      const files = rows.slice(0, limit).map(fileOf);
      if (files.length > 0 || after === undefined) return { files, more: rows.length > limit };
      const values = { account: storable(account), after: storable(after) };
      const was = await connection.read(() => connection.first('wasFile', values));
      return { files, more: false, isUnknown: was === undefined };
    },

    async read(account, fileId, piece) {
      const values = { ...fileOwnerOf(account, fileId), piece };
      const content = await connection.read(() => connection.first('readPiece', values)?.['content']);
      return content instanceof Uint8Array ? content : undefined;
    },

    remove: (account, fileId) =>
      removeFile(connection, fileOwnerOf(account, fileId), { stage: 'file', now: now(), keepsPlace: true }),

    async sweep(draftMs, limit) {
      const times = { now: now(), draftsBefore: now() - wholeMs(draftMs), limit };
      const over = await connection.read(() => connection.all('findOverFiles', times));
      for (const { account, id, stage } of over) {
        const owner = { account: String(account), fileId: String(id) };
        await removeFile(connection, owner, { stage: String(stage), now: now() });
      }
      return over.length;
    },
  };
}

/** How a file is removed. */
interface FileRemoval {
  /** Where it must be. */
  readonly stage: string;
  /** Epoch milliseconds. */
  readonly now: number;
  /** Whether its row stays for a while: a list may go on behind it. */
  readonly keepsPlace?: boolean | undefined;
}

/** Hides a file and deletes it piece by piece. When that is interrupted, the next sweep goes on. */
async function removeFile(
  connection: SqliteConnection,
  owner: FileOwner,
  { stage, now, keepsPlace = false }: FileRemoval,
): Promise<boolean> {
  const hidden = await connection.write(() => connection.run('hideFile', { ...owner, stage, now }));
  if (hidden === 0) return false;
  await connection.writeInSlices((hasTime) => {
    while (connection.run('deletePieces', owner) > 0) if (!hasTime()) return true;
    if (!keepsPlace) connection.run('deleteFile', owner);
    return false;
  });
  return true;
}
