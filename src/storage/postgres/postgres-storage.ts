import { type OptionShape, anything, checkShape, flag, kind } from '../../core/options/option-kinds.ts';
import { ConfigError, type ConfigProblem } from '../../errors.ts';
import type { BatchStore } from '../batch-store.ts';
import { PostgresDatabase } from './database.ts';
import { type PostgresPool, openPool } from './driver.ts';
import { draftsOf } from './drafts.ts';
import { itemsOf } from './items.ts';
import { migrate, quoted } from './migrate.ts';
import { recordsOf } from './records.ts';
import { numberOf } from './rows.ts';
import { tasksOf } from './tasks.ts';

/** Options of {@link postgresStorage}. Either `pool` or `connectionString` says where the database is. */
export interface PostgresStorageOptions {
  /** A `Pool` of the package `pg`, or something like it. Stays open when the storage is closed. */
  readonly pool?: PostgresPool | undefined;
  /** For example `postgres://user:password@host:5432/database`. Needs the package `pg`. */
  readonly connectionString?: string | undefined;
  /** Schema that the tables are in; it is made when it is missing. Default `signalbox`. */
  readonly schema?: string | undefined;
  /** Connections of an own pool. Default 10. */
  readonly connections?: number | undefined;
  /** False refuses to change tables; then somebody else has to start a newer version first. Default true. */
  readonly migrate?: boolean | undefined;
  /** Milliseconds after which a statement is given up. Default 10,000. */
  readonly statementTimeoutMs?: number | undefined;
  /** Milliseconds to wait for a connection. Default 4,000. */
  readonly connectTimeoutMs?: number | undefined;
}

/**
 * Batches in PostgreSQL, version 12 or newer, for any number of processes on any number of machines. All times are those
 * of the database's clock. Works through a pooler in transaction mode: nothing is left behind in a connection.
 *
 * @throws {@link ConfigError}
 *
 * @example
 * ```ts
 * const storage = postgresStorage({ connectionString: process.env.DATABASE_URL });
 * ```
 */
export function postgresStorage(options: PostgresStorageOptions): BatchStore {
  checkShape<PostgresStorageOptions>(OPTIONS, options, 'postgresStorage');
  checkOptions(options);
  const { pool, connectionString = '', schema = 'signalbox', connections = 10, migrate: allowed = true } = options;
  const { statementTimeoutMs = 10_000, connectTimeoutMs = 4_000 } = options;
  const database = new PostgresDatabase({
    openPool: () =>
      pool === undefined ? openPool({ connectionString, connections, connectTimeoutMs }) : Promise.resolve(pool),
    schema: quoted(schema),
    statementTimeoutMs,
    connectTimeoutMs,
    endsPool: pool === undefined,
  });
  return {
    durable: true,
    open: () => migrate(database, schema, allowed),
    now: async () => numberOf(await database.first('now'), 'now'),
    ...draftsOf(database),
    ...recordsOf(database),
    ...itemsOf(database),
    ...tasksOf(database),
    close: () => database.close(),
  };
}

const OPTIONS: OptionShape<PostgresStorageOptions> = {
  pool: anything,
  connectionString: kind('a text', (value) => typeof value === 'string'),
  schema: kind('a text', (value) => typeof value === 'string'),
  connections: anything,
  migrate: flag,
  statementTimeoutMs: anything,
  connectTimeoutMs: anything,
};

function checkOptions(options: PostgresStorageOptions): void {
  const { pool, connectionString, schema } = options;
  const problems: ConfigProblem[] = [];
  if ((pool === undefined) === (connectionString === undefined)) {
    problems.push({ path: 'postgresStorage', problem: 'needs either `pool` or `connectionString`' });
  }
  if (connectionString !== undefined && !/^postgres(?:ql)?:\/\//.test(connectionString)) {
    problems.push({ path: 'connectionString', problem: 'must begin with postgres://' });
  }
  // It is written into statements, where nothing but a plain name may stand.
  if (schema !== undefined && !/^[a-z_][a-z0-9_]{0,62}$/.test(schema)) {
    problems.push({ path: 'schema', problem: 'must be a name of small letters, digits and underscores' });
  }
  for (const path of ['connections', 'statementTimeoutMs', 'connectTimeoutMs'] as const) {
    const value = options[path];
    if (value !== undefined && !(Number.isInteger(value) && value > 0)) {
      problems.push({ path, problem: 'must be a whole number above 0' });
    }
  }
  if (problems.length > 0) throw new ConfigError(problems);
}
