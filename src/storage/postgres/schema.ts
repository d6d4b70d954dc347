/** The tables in PostgreSQL, and their migrations. */
import { StorageError } from '../../contracts/storage-error.ts';
import { PostgresDatabase, type Query } from './database.ts';
import { unknown, boolean } from '../../schema/scalars.ts';
import { anyString, type OptionShape } from '../../options/values.ts';
import { ConfigError, type ConfigProblem } from '../../protocol/router-error.ts';
import { heard, isMadeMeanwhile, openPool, type PostgresPool } from './driver.ts';
import { retry, type RetryPolicy } from '../../platform/retry.ts';
import type { Statement } from './statements.ts';
import { addressProblem } from '../server-address.ts';

/** Milliseconds that making tables may take, waiting for other processes that do the same included. */
const MIGRATION_TIMEOUT_MS = 60_000;

/** Another process may have made the same tables meanwhile. */
const ONCE_MORE: RetryPolicy = { tries: 3, waitAfter: (error) => (isMadeMeanwhile(error) ? 50 : undefined) };

/** A schema with tables of this program. */
export interface SchemaUse {
  readonly schema: string;
  readonly tables: PostgresTables;
  /** Whether its tables may be made and changed. */
  readonly mayMigrate: boolean;
}

/**
 * Brings the tables of a schema to this version. Of many processes that start at once one does it and the others wait;
 * where there is nothing to do, no permission to change tables is needed.
 *
 * @throws {@link StorageError} when the tables are newer than this version, or not what their version says.
 */
export async function migrate<Name extends string>(
  database: PostgresDatabase<Name>,
  { schema, tables: { columns, migrationsOf }, mayMigrate }: SchemaUse,
): Promise<void> {
  const tables = quotedName(schema);
  const migrations = migrationsOf(tables);
  const latest = migrations.length;
  const expected = { schema, columns, latest };
  const version = await database.script(async (query) => {
    const found = await versionOf(query, schema);
    if (found >= latest) await expectUsable(query, expected, found);
    return found;
  });
  if (version >= latest) return;
  if (!mayMigrate) {
    throw new StorageError(
      'schema_too_old',
      `The schema "${schema}" has tables of version ${version}, and this version of Signalbox needs ${latest}; ` +
        'leave out migrate: false once.',
    );
  }
  const make = async (query: Query): Promise<void> => {
    await query(`SELECT pg_advisory_xact_lock(hashtextextended('signalbox ' || $1, 0))`, [schema]);
    const from = await versionOf(query, schema);
    if (from === 0) await createSchema(query, schema);
    for (const { version: to, statements } of migrations.slice(from)) {
      await query(statements);
      await query(`INSERT INTO ${tables}.migrations (version) VALUES ($1)`, [to]);
    }
    await expectUsable(query, expected, Math.max(from, latest));
  };
  await retry(() => database.script(make, MIGRATION_TIMEOUT_MS), ONCE_MORE);
}

/** Gives a database once its tables are there. The first use makes them; one that fails is tried again by the next. */
export function migratedOnUse<Name extends string>(
  database: PostgresDatabase<Name>,
  use: SchemaUse,
): () => Promise<PostgresDatabase<Name>> {
  let migrated: Promise<void> | undefined;
  return async () => {
    migrated ??= migrate(database, use);
    try {
      await migrated;
    } catch (error) {
      migrated = undefined;
      throw error;
    }
    return database;
  };
}

/** The database that options name, with the statements for its tables. Nothing is opened before it is used. */
export function databaseAt<Name extends string>(
  {
    pool,
    connectionString = '',
    connections = 10,
    statementTimeoutMs = 10_000,
    connectTimeoutMs = 4_000,
  }: Omit<PostgresStorageOptions, 'schema' | 'migrate'>,
  statements: Readonly<Record<Name, Statement>>,
): PostgresDatabase<Name> {
  return new PostgresDatabase<Name>({
    openPool: () =>
      pool === undefined ? openPool({ connectionString, connections, connectTimeoutMs }) : Promise.resolve(heard(pool)),
    statements,
    statementTimeoutMs,
    connectTimeoutMs,
    endsPool: pool === undefined,
  });
}

/** The name of a schema as it appears in statements, where some plain names mean something else. */
export function quotedName(schema: string): string {
  return `"${schema}"`;
}

async function createSchema(query: Query, schema: string): Promise<void> {
  const { rows } = await query('SELECT 1 FROM pg_namespace WHERE nspname = $1', [schema]);
  if (rows.length === 0) await query(`CREATE SCHEMA ${quotedName(schema)}`);
  await query(
    `CREATE TABLE ${quotedName(schema)}.migrations (version integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())`,
  );
}

/** The version of the tables; 0 where there are none. */
async function versionOf(query: Query, schema: string): Promise<number> {
  // Not `to_regclass`: it may answer from what the connection remembers of before it waited for the lock.
  const { rows: there } = await query(
    `SELECT 1 FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
     WHERE nspname = $1 AND relname = 'migrations'`,
    [schema],
  );
  if (there.length === 0) return 0;
  const { rows } = await query(`SELECT max(version) AS version FROM ${quotedName(schema)}.migrations`);
  return Number(rows[0]?.['version'] ?? 0);
}

/** What a schema must have. */
interface ExpectedTables extends Pick<PostgresTables, 'columns'> {
  readonly schema: string;
  /** The version of this program's tables. */
  readonly latest: number;
}

async function expectUsable(query: Query, { schema, columns, latest }: ExpectedTables, version: number): Promise<void> {
  if (version > latest) {
    throw new StorageError(
      'schema_too_new',
      `The schema "${schema}" has tables of version ${version}, and this version of Signalbox knows ${latest}; ` +
        'install the newer version again.',
    );
  }
  const encoding = await query('SHOW server_encoding');
  if (encoding.rows[0]?.['server_encoding'] !== 'UTF8') {
    throw new StorageError('failed', "The database cannot keep every text; create one with ENCODING 'UTF8'.");
  }
  const { rows } = await query(
    'SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = $1',
    [schema],
  );
  const known = new Set(rows.map((row) => `${String(row['table_name'])}.${String(row['column_name'])}`));
  const missing = Object.entries(columns)
    .flatMap(([table, names]) => names.split(' ').map((column) => `${table}.${column}`))
    .filter((column) => !known.has(column));
  if (missing.length > 0) {
    throw new StorageError(
      'schema_changed',
      `The tables of the schema "${schema}" are not as this version made them (${missing.join(', ')} not found).`,
    );
  }
}

/** Version of the tables, and what makes them. */
export interface Migration {
  readonly version: number;
  readonly statements: string;
}

/** What a schema holds. */
export interface PostgresTables {
  /** The tables in a schema, as steps from each version to the next. */
  readonly migrationsOf: (schema: string) => readonly Migration[];
  /** Columns that must be there for the statements of this version to work, by table. */
  readonly columns: Readonly<Record<string, string>>;
}

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

/** Kinds of the options of {@link postgresStorage}. */
export const OPTIONS: OptionShape<PostgresStorageOptions> = {
  pool: unknown,
  connectionString: anyString,
  schema: anyString,
  connections: unknown,
  migrate: boolean,
  statementTimeoutMs: unknown,
  connectTimeoutMs: unknown,
};

/** Finds what is wrong with where a database is said to be. */
export function checkPostgresOptions(options: PostgresStorageOptions, name: string): void {
  const { pool, connectionString, schema } = options;
  const problems: ConfigProblem[] = [];
  if ((pool === undefined) === (connectionString === undefined)) {
    problems.push({ path: name, problem: 'needs either `pool` or `connectionString`' });
  }
  if (connectionString !== undefined && !/^postgres(?:ql)?:\/\//.test(connectionString)) {
    problems.push({ path: 'connectionString', problem: 'must begin with postgres://' });
  }
  const unreadable = connectionString === undefined ? undefined : addressProblem(connectionString);
  if (unreadable !== undefined) problems.push({ path: 'connectionString', problem: unreadable });
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
