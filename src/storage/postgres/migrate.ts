import { StorageError } from '../storage-error.ts';
import type { PostgresDatabase, Query } from './database.ts';
import { COLUMNS, migrationsOf } from './schema.ts';

/** Milliseconds that making tables may take, waiting for other processes that do the same included. */
const MIGRATION_TIMEOUT_MS = 60_000;

/**
 * Brings the tables of a schema to this version. Of many processes that start at once one does it and the others wait;
 * where there is nothing to do, no permission to change tables is needed.
 *
 * @throws {@link StorageError} when the tables are newer than this version, or not what their version says.
 */
export async function migrate(database: PostgresDatabase, schema: string, allowed: boolean): Promise<void> {
  const tables = quoted(schema);
  const migrations = migrationsOf(tables);
  const latest = migrations.length;
  const version = await database.script(async (query) => {
    const found = await versionOf(query, schema);
    if (found >= latest) await expectUsable(query, schema, latest, found);
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
    await expectUsable(query, schema, latest, Math.max(from, latest));
  }, MIGRATION_TIMEOUT_MS);
}

/** The name of a schema as it stands in statements, where some plain names mean something else. */
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

async function expectUsable(query: Query, schema: string, latest: number, version: number): Promise<void> {
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
  const missing = Object.entries(COLUMNS)
    .flatMap(([table, columns]) => columns.split(' ').map((column) => `${table}.${column}`))
    .filter((column) => !known.has(column));
  if (missing.length > 0) {
    throw new StorageError(
      'schema_changed',
      `The tables of the schema "${schema}" are not as this version made them (${missing.join(', ')} not found).`,
    );
  }
}
