import { checkShape } from '../../platform/option-kinds.ts';
import type { BatchStore } from '../../contracts/batch-store.ts';
import { filesOf } from './files.ts';
import { draftsOf, recordsOf } from './records.ts';
import { storedNumber } from '../stored-rows.ts';
import { itemsOf, tasksOf } from './items.ts';
import { statementsOf } from './statements.ts';
import {
  migrate,
  databaseAt,
  quoted,
  type Migration,
  type PostgresTables,
  type PostgresStorageOptions,
  OPTIONS,
  checkOptions,
} from './schema.ts';

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
    open: () => migrate(database, schema, allowed, BATCH_TABLES),
    now: async () => storedNumber(await database.first('now'), 'now'),
    ...draftsOf(database, quoted(schema)),
    ...recordsOf(database),
    ...itemsOf(database),
    ...tasks,
    sweep: async (limits) => (await tasks.sweep(limits)) + (await files.sweep(limits.draftMs, limits.limit)),
    close: () => database.close(),
  };
}
