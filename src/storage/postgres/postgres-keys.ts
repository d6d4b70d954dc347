/** The key store in PostgreSQL. */
import type { KeyStore } from '../../contracts/key-store.ts';
import { checkShape } from '../../platform/check-options.ts';
import { keyColumns, keyOfRow, storable } from '../stored-rows.ts';
import {
  checkPostgresOptions,
  databaseAt,
  migratedOnUse,
  OPTIONS,
  type PostgresStorageOptions,
  quotedName,
} from './schema.ts';
import { numbered } from './statements.ts';

/** Options of {@link postgresKeys}. Either `pool` or `connectionString` says where the database is. */
export interface PostgresKeysOptions extends Omit<PostgresStorageOptions, 'schema'> {
  /** Schema of its own that the table is in; it is made when it is missing. Default `signalbox_keys`. */
  readonly schema?: string | undefined;
}

// Names are compared byte by byte, as in every other store.
const NAME = 'text COLLATE "C"';
const TABLES = {
  migrationsOf: (schema: string) => [
    {
      version: 1,
      statements: `
    CREATE TABLE ${schema}.api_keys (
      hash ${NAME} PRIMARY KEY, account ${NAME} NOT NULL, revision bigint NOT NULL, record text NOT NULL
    );
    CREATE INDEX api_keys_of_account ON ${schema}.api_keys (account, hash);
  `,
    },
  ],
  columns: { api_keys: 'hash account revision record' },
};

function statementsOf(schema: string) {
  const table = `${schema}.api_keys`;
  return {
    find: numbered(`SELECT record FROM ${table} WHERE hash = :hash`),
    list: numbered(`SELECT record FROM ${table}
      WHERE (:account::text IS NULL OR account = :account) AND hash > :after ORDER BY hash LIMIT :limit`),
    add: numbered(`INSERT INTO ${table} (hash, account, revision, record)
      VALUES (:hash, :account, :revision, :record) ON CONFLICT (hash) DO NOTHING`),
    replace: numbered(`UPDATE ${table} SET account = :account, revision = :revision, record = :record
      WHERE hash = :hash AND revision = :revision::bigint - 1`),
    remove: numbered(`DELETE FROM ${table} WHERE hash = :hash`),
  };
}

/**
 * API keys in PostgreSQL, version 12 or newer, for any number of processes on any number of machines: hashes, never the
 * keys. Works through a pooler in transaction mode.
 *
 * @throws {@link ConfigError}
 *
 * @example
 * ```ts
 * const store = postgresKeys({ connectionString: process.env.DATABASE_URL });
 * const router = createRouter({ authenticate: storedApiKeys({ store }) });
 * ```
 */
export function postgresKeys(options: PostgresKeysOptions): KeyStore {
  checkShape<PostgresKeysOptions>(OPTIONS, options, 'postgresKeys');
  checkPostgresOptions(options, 'postgresKeys');
  const { schema = 'signalbox_keys', migrate: mayMigrate = true } = options;
  const database = databaseAt(options, statementsOf(quotedName(schema)));
  const opened = migratedOnUse(database, { schema, tables: TABLES, mayMigrate });

  return {
    async find(hash) {
      const row = await (await opened()).first('find', { hash });
      return row && keyOfRow(row);
    },
    async list(account, after = '', limit) {
      const values = { account: account === undefined ? null : storable(account), after, limit };
      return (await (await opened()).all('list', values)).map(keyOfRow);
    },
    async add(key) {
      await (await opened()).run('add', { ...keyColumns(key) });
    },
    replace: async (key) => (await (await opened()).run('replace', { ...keyColumns(key) })) > 0,
    remove: async (hash) => (await (await opened()).run('remove', { hash })) > 0,
    close: () => database.close(),
  };
}
