import { StorageError } from '../../contracts/storage-error.ts';
import { PostgresDatabase, type Query } from './database.ts';
import { anything, checkShape, flag, kind, type OptionShape } from '../../platform/option-kinds.ts';
import { ConfigError, type ConfigProblem } from '../../protocol/router-error.ts';
import type { BatchStore } from '../../contracts/batch-store.ts';
import { openPool, type PostgresPool } from './driver.ts';
import { filesOf } from './files.ts';
import { draftsOf, recordsOf } from './records.ts';
import { storedNumber } from '../stored-rows.ts';
import { itemsOf, tasksOf } from './items.ts';
import { type Statement, statementsOf } from './statements.ts';

/** Milliseconds that making tables may take, waiting for other processes that do the same included. */
const MIGRATION_TIMEOUT_MS = 60_000;

/**
 * Brings the tables of a schema to this version. Of many processes that start at once one does it and the others wait;
 * where there is nothing to do, no permission to change tables is needed.
 *
 * @throws {@link StorageError} when the tables are newer than this version, or not what their version says.
 */
export async function migrate<Name extends string>(
  database: PostgresDatabase<Name>,
  schema: string,
  allowed: boolean,
  own: PostgresTables = BATCH_TABLES,
): Promise<void> {
  const tables = quoted(schema);
  const { columns } = own;
  const migrations = own.migrationsOf(tables);
  const latest = migrations.length;
  const version = await database.script(async (query) => {
    const found = await versionOf(query, schema);
    if (found >= latest) await expectUsable(query, schema, columns, latest, found);
    return found;
  });
  if (version >= latest) return;
  if (!allowed) {
    throw new StorageError(
      'schema_too_old',
      `The schema "${schema}" has tables of version ${version}, and this version of Signalbox needs ${latest}; ` +
        'leave out migrate: false once.',
    );
  }
  await database.script(async (query) => {
    await query(`SELECT pg_advisory_xact_lock(hashtextextended('signalbox ' || $1, 0))`, [schema]);
    const from = await versionOf(query, schema);
    if (from === 0) await createSchema(query, schema);
    for (const { version: to, statements } of migrations.slice(from)) {
      await query(statements);
      await query(`INSERT INTO ${tables}.migrations (version) VALUES ($1)`, [to]);
    }
    await expectUsable(query, schema, columns, latest, Math.max(from, latest));
  }, MIGRATION_TIMEOUT_MS);
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
      pool === undefined ? openPool({ connectionString, connections, connectTimeoutMs }) : Promise.resolve(pool),
    statements,
    statementTimeoutMs,
    connectTimeoutMs,
    endsPool: pool === undefined,
  });
}

/** The name of a schema as it appears in statements, where some plain names mean something else. */
export function quoted(schema: string): string {
  return `"${schema}"`;
}

async function createSchema(query: Query, schema: string): Promise<void> {
  const { rows } = await query('SELECT 1 FROM pg_namespace WHERE nspname = $1', [schema]);
  if (rows.length === 0) await query(`CREATE SCHEMA ${quoted(schema)}`);
  await query(
    `CREATE TABLE ${quoted(schema)}.migrations (version integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())`,
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
  const { rows } = await query(`SELECT max(version) AS version FROM ${quoted(schema)}.migrations`);
  return Number(rows[0]?.['version'] ?? 0);
}

async function expectUsable(
  query: Query,
  schema: string,
  columns: PostgresTables['columns'],
  latest: number,
  version: number,
): Promise<void> {
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
interface Migration {
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

/** The tables in a schema, as steps from each version to the next. A step that was released is never changed. */
function migrationsOf(schema: string): readonly Migration[] {
  return [
    { version: 1, statements: firstTables(schema) },
    { version: 2, statements: fileTables(schema) },
    { version: 3, statements: quickCompression(schema) },
    { version: 4, statements: partsOfPieces(schema) },
  ];
}

/** Columns that must be there for the statements of this version to work. */
const COLUMNS: Readonly<Record<string, string>> = {
  batches: 'account id stage status revision created_at delete_at touched_at total completed failed record',
  items: 'account batch_id position custom_id custom_key body attempts token lease_until failed outcome',
  tasks: 'account batch_id effect run_at lease_until attempts token memo',
  keys: 'account key_digest fingerprint batch_id expires_at',
  files: 'account id stage created_at delete_at touched_at record',
  file_pieces: 'account file_id piece part content',
};

// Names compare byte by byte whatever the language of the database is. Bodies are text and not jsonb, which changes
// numbers and refuses NUL. Names that a user may make as long as he likes are looked up by their digest, because an
// index has no room for them.
const BATCH_TABLES: PostgresTables = { migrationsOf, columns: COLUMNS };

function firstTables(schema: string): string {
  const name = 'text COLLATE "C" NOT NULL';
  return `
    CREATE TABLE ${schema}.batches (
      account ${name}, id ${name},
      stage text NOT NULL CHECK (stage IN ('draft', 'batch', 'deleted')),
      status text, revision integer, created_at bigint, delete_at bigint, touched_at bigint NOT NULL,
      total integer NOT NULL DEFAULT 0, completed integer NOT NULL DEFAULT 0, failed integer NOT NULL DEFAULT 0,
      record text,
      PRIMARY KEY (account, id)
    );
    CREATE INDEX batches_newest ON ${schema}.batches (account, created_at, id) WHERE stage = 'batch';
    CREATE INDEX batches_over ON ${schema}.batches (delete_at) WHERE stage = 'batch';
    CREATE INDEX batches_unfinished ON ${schema}.batches (touched_at) WHERE stage <> 'batch';

    CREATE TABLE ${schema}.items (
      account ${name}, batch_id ${name}, position integer NOT NULL,
      custom_id text NOT NULL, custom_key bytea NOT NULL, body text NOT NULL,
      attempts integer NOT NULL DEFAULT 0, token text, lease_until bigint NOT NULL DEFAULT 0,
      failed boolean, outcome text,
      PRIMARY KEY (account, batch_id, position),
      UNIQUE (account, batch_id, custom_key),
      FOREIGN KEY (account, batch_id) REFERENCES ${schema}.batches (account, id)
    );
    CREATE INDEX items_open ON ${schema}.items (account, batch_id, position) WHERE failed IS NULL;
    CREATE INDEX items_held ON ${schema}.items (account, batch_id, token) WHERE token IS NOT NULL;

    CREATE TABLE ${schema}.tasks (
      account ${name}, batch_id ${name}, effect ${name},
      run_at bigint NOT NULL, lease_until bigint NOT NULL DEFAULT 0, attempts integer NOT NULL DEFAULT 0,
      token text, memo text,
      PRIMARY KEY (account, batch_id, effect),
      FOREIGN KEY (account, batch_id) REFERENCES ${schema}.batches (account, id)
    );
    CREATE INDEX tasks_due ON ${schema}.tasks (run_at);

    CREATE TABLE ${schema}.keys (
      account ${name}, key_digest bytea NOT NULL, fingerprint text NOT NULL, batch_id ${name},
      expires_at bigint NOT NULL,
      PRIMARY KEY (account, key_digest),
      FOREIGN KEY (account, batch_id) REFERENCES ${schema}.batches (account, id)
    );
    CREATE INDEX keys_of_batch ON ${schema}.keys (account, batch_id);
    CREATE INDEX keys_over ON ${schema}.keys (expires_at);
  `;
}

/** Packing bodies with PostgreSQL's older method takes most of the time that storing them takes. */
function quickCompression(schema: string): string {
  return `DO $$ BEGIN
    EXECUTE 'ALTER TABLE ${schema}.items ALTER COLUMN body SET COMPRESSION lz4, ALTER COLUMN outcome SET COMPRESSION lz4';
  EXCEPTION WHEN OTHERS THEN
    NULL; -- PostgreSQL before 14, or built without it
  END $$`;
}

/** Pieces of files in several rows, packed where that takes less time than to write them as they are. */
function partsOfPieces(schema: string): string {
  return `ALTER TABLE ${schema}.file_pieces
      ADD COLUMN part integer NOT NULL DEFAULT 0,
      DROP CONSTRAINT file_pieces_pkey,
      ADD PRIMARY KEY (account, file_id, piece, part);
    DO $$ BEGIN
      EXECUTE 'ALTER TABLE ${schema}.file_pieces
        ALTER COLUMN content SET COMPRESSION lz4, ALTER COLUMN content SET STORAGE EXTENDED';
    EXCEPTION WHEN OTHERS THEN
      NULL; -- PostgreSQL before 14, or built without it
    END $$`;
}

// Pieces are stored as they are: PostgreSQL's older method of packing them takes longer than writing them.
function fileTables(schema: string): string {
  const name = 'text COLLATE "C" NOT NULL';
  return `
    CREATE INDEX batches_running ON ${schema}.batches (status) WHERE stage = 'batch' AND status = 'in_progress';

    CREATE TABLE ${schema}.files (
      account ${name}, id ${name},
      stage text NOT NULL CHECK (stage IN ('draft', 'file', 'deleted')),
      created_at bigint, delete_at bigint, touched_at bigint NOT NULL, record text,
      PRIMARY KEY (account, id)
    );
    CREATE INDEX files_newest ON ${schema}.files (account, created_at, id) WHERE stage = 'file';
    CREATE INDEX files_over ON ${schema}.files (delete_at) WHERE stage = 'file';
    CREATE INDEX files_unfinished ON ${schema}.files (touched_at) WHERE stage <> 'file';

    CREATE TABLE ${schema}.file_pieces (
      account ${name}, file_id ${name}, piece integer NOT NULL, content bytea NOT NULL,
      PRIMARY KEY (account, file_id, piece),
      FOREIGN KEY (account, file_id) REFERENCES ${schema}.files (account, id)
    );
    ALTER TABLE ${schema}.file_pieces ALTER COLUMN content SET STORAGE EXTERNAL;
  `;
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
  checkOptions(options, 'postgresStorage');
  const { schema = 'signalbox', migrate: allowed = true } = options;
  const database = databaseAt(options, statementsOf(quoted(schema)));
  const files = filesOf(database, quoted(schema));
  const tasks = tasksOf(database);
  return {
    durable: true,
    files,
    open: () => migrate(database, schema, allowed),
    now: async () => storedNumber(await database.first('now'), 'now'),
    ...draftsOf(database, quoted(schema)),
    ...recordsOf(database),
    ...itemsOf(database),
    ...tasks,
    sweep: async (limits) => (await tasks.sweep(limits)) + (await files.sweep(limits.draftMs, limits.limit)),
    close: () => database.close(),
  };
}

/** Kinds of the options of {@link postgresStorage}. */
export const OPTIONS: OptionShape<PostgresStorageOptions> = {
  pool: anything,
  connectionString: kind('a text', (value) => typeof value === 'string'),
  schema: kind('a text', (value) => typeof value === 'string'),
  connections: anything,
  migrate: flag,
  statementTimeoutMs: anything,
  connectTimeoutMs: anything,
};

/** Finds what is wrong with where a database is said to be. */
export function checkOptions(options: PostgresStorageOptions, name: string): void {
  const { pool, connectionString, schema } = options;
  const problems: ConfigProblem[] = [];
  if ((pool === undefined) === (connectionString === undefined)) {
    problems.push({ path: name, problem: 'needs either `pool` or `connectionString`' });
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
