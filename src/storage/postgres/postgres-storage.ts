/** The batch store in PostgreSQL. */
import { checkShape } from '../../platform/check-options.ts';
import type { BatchStore } from '../../contracts/batch-store.ts';
import { postgresDrafts, postgresRecords, UNIQUE_VIOLATION } from './records.ts';
import {
  storedNumber,
  columnOf,
  type FileOwner,
  fileOf,
  fileOwnerOf,
  fileText,
  noFile,
  publishedFile,
  storable,
  wholeMs,
} from '../stored-rows.ts';
import { postgresItems, postgresTasks } from './items.ts';
import { statementsOf } from './statements.ts';
import {
  migrate,
  databaseAt,
  quotedName,
  type Migration,
  type PostgresTables,
  type PostgresStorageOptions,
  OPTIONS,
  checkPostgresOptions,
} from './schema.ts';
import type { BatchFileStore } from '../../contracts/batch-file-store.ts';
import { copyParts, copyPiece, copyPieceOut } from './copy.ts';
import type { PostgresDatabase } from './database.ts';
import { StorageError } from '../../contracts/storage-error.ts';

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
  checkPostgresOptions(options, 'postgresStorage');
  const { schema = 'signalbox', migrate: mayMigrate = true } = options;
  const database = databaseAt(options, statementsOf(quotedName(schema)));
  const files = postgresFiles(database, quotedName(schema));
  const tasks = postgresTasks(database);
  return {
    durable: true,
    files,
    open: () => migrate(database, { schema, tables: BATCH_TABLES, mayMigrate }),
    now: async () => storedNumber(await database.first('now'), 'now'),
    ...postgresDrafts(database, quotedName(schema)),
    ...postgresRecords(database),
    ...postgresItems(database),
    ...tasks,
    sweep: async (limits) => (await tasks.sweep(limits)) + (await files.sweep(limits.draftMs, limits.limit)),
    close: () => database.close(),
  };
}

/** Files in a database, and how they are deleted when their time is over. */
interface PostgresFiles extends BatchFileStore {
  sweep(draftMs: number, limit: number): Promise<number>;
}

/** Makes {@link PostgresFiles}. */
function postgresFiles(database: PostgresDatabase, schema: string): PostgresFiles {
  return { ...postgresFileDrafts(database, schema), ...publishedPostgresFiles(database, schema) };
}

/** Files that are being uploaded. */
function postgresFileDrafts(
  database: PostgresDatabase,
  schema: string,
): Pick<BatchFileStore, 'open' | 'add' | 'publish' | 'discard'> {
  const copyText = copyPiece(schema);
  return {
    async open(account, fileId) {
      await database.run('openFile', fileOwnerOf(account, fileId));
    },

    async add(account, fileId, piece, content) {
      const values = { ...fileOwnerOf(account, fileId), piece };
      const isDraft = await database
        .copying(async (session, copy) => {
          if (copy === undefined) {
            const row = await session.first('addPiece', { ...values, content: asBuffer(content) });
            return storedNumber(row, 'drafts') > 0;
          }
          if ((await session.run('touchFile', values)) === 0) return false;
          await copy(copyText, copyParts(values, content));
          return true;
        })
        .catch((error: unknown) => {
          // The piece is there.
          if (StorageError.isInstance(error) && error.code === UNIQUE_VIOLATION) return true;
          throw error;
        });
      if (!isDraft) throw noFile(fileId);
    },

    publish(file) {
      const owner = fileOwnerOf(file.account, file.id);
      return database.transaction(async (session) => {
        const row = await session.first('lockFile', owner);
        if (row?.['stage'] === 'file') return fileOf(row);
        if (row?.['stage'] !== 'draft') throw noFile(file.id);
        const record = publishedFile(file, storedNumber(row, 'now'));
        const { createdAt, deleteAt } = record;
        await session.run('publishFile', { ...owner, createdAt, deleteAt, record: fileText(record) });
        return record;
      });
    },

    async discard(account, fileId) {
      await removeFile(database, fileOwnerOf(account, fileId), { stage: 'draft' });
    },
  };
}

/** Files that are there. */
function publishedPostgresFiles(
  database: PostgresDatabase,
  schema: string,
): Pick<PostgresFiles, 'find' | 'list' | 'read' | 'remove' | 'sweep'> {
  return {
    async find(account, fileId) {
      const row = await database.first('findFile', fileOwnerOf(account, fileId));
      return row === undefined ? undefined : fileOf(row);
    },

    async list(account, { limit, after }) {
      const rows = await database.all('listFiles', {
        account: storable(account),
        limit: limit + 1,
        after: after === undefined ? null : storable(after),
      });
      const files = rows.slice(0, limit).map(fileOf);
      if (files.length > 0 || after === undefined) return { files, more: rows.length > limit };
      const was = await database.first('wasFile', { account: storable(account), after: storable(after) });
      return { files, more: false, isUnknown: was === undefined };
    },

    async read(account, fileId, piece, memory) {
      const values = { ...fileOwnerOf(account, fileId), piece };
      const copied = await database.copyOut(copyPieceOut(schema, values), memory);
      if (copied !== undefined) return copied.bytes;
      const parts = await database.all('readPiece', values);
      if (parts.length === 0) return undefined;
      return Buffer.concat(parts.map((row) => Buffer.from(columnOf(row, 'content'), 'base64')));
    },

    remove: (account, fileId) =>
      removeFile(database, fileOwnerOf(account, fileId), { stage: 'file', keepsPlace: true }),

    async sweep(draftMs, limit) {
      const over = await database.all('findOverFiles', { draftMs: wholeMs(draftMs), limit });
      for (const row of over) {
        const owner = { account: columnOf(row, 'account'), fileId: columnOf(row, 'id') };
        await removeFile(database, owner, { stage: columnOf(row, 'stage') });
      }
      return over.length;
    },
  };
}

/** How a file is removed. */
interface FileRemoval {
  /** Where it must be. */
  readonly stage: string;
  /** Whether its row stays for a while: a list may go on behind it. */
  readonly keepsPlace?: boolean | undefined;
}

/** Hides a file and deletes it piece by piece. When that is interrupted, the next sweep goes on. */
async function removeFile(
  database: PostgresDatabase,
  owner: FileOwner,
  { stage, keepsPlace = false }: FileRemoval,
): Promise<boolean> {
  if ((await database.run('hideFile', { ...owner, stage })) === 0) return false;
  while ((await database.run('deletePieces', owner)) > 0);
  if (!keepsPlace) await database.run('deleteFile', owner);
  return true;
}

/** The driver takes bytes as a `Buffer` only. */
function asBuffer(content: Uint8Array): Buffer {
  return Buffer.from(content.buffer, content.byteOffset, content.byteLength);
}
