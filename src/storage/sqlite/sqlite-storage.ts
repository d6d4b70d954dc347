import { type OptionShape, anything, callable, checkShape } from '../../core/options/option-kinds.ts';
import { ConfigError } from '../../errors.ts';
import type { BatchStore } from '../batch-store.ts';
import { SqliteConnection } from './connection.ts';
import { draftsOf } from './drafts.ts';
import { itemsOf } from './items.ts';
import { recordsOf } from './records.ts';
import { tasksOf } from './tasks.ts';

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

const OPTIONS: OptionShape<SqliteStorageOptions> = { file: anything, busyTimeoutMs: anything, now: callable };

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
  checkOptions(file, busyTimeoutMs);
  const clock = (): number => Math.floor(now());
  const connection = new SqliteConnection(file, busyTimeoutMs);
  return {
    durable: true,
    open: () => connection.open(),
    now: () => Promise.resolve(clock()),
    ...draftsOf(connection, clock),
    ...recordsOf(connection),
    ...itemsOf(connection, clock),
    ...tasksOf(connection, clock),
    close: () => Promise.resolve(connection.close()),
  };
}

function checkOptions(file: unknown, busyTimeoutMs: unknown): void {
  const problems = [];
  if (typeof file !== 'string' || file === '' || file.startsWith(':') || file.startsWith('file:')) {
    problems.push({ path: 'file', problem: 'must be the path of a file; memoryStorage() keeps batches in memory' });
  }
  if (typeof busyTimeoutMs !== 'number' || !(busyTimeoutMs >= 0)) {
    problems.push({ path: 'busyTimeoutMs', problem: 'must be a number of milliseconds' });
  }
  if (problems.length > 0) throw new ConfigError(problems);
}
