/** The key store in SQLite. */
import type { KeyStore } from '../../contracts/key-store.ts';
import { unknown } from '../../schema/scalars.ts';
import { checkShape } from '../../platform/check-options.ts';
import type { OptionShape } from '../../options/values.ts';
import { keyColumns, keyOfRow, storable } from '../stored-rows.ts';
import { SqliteConnection } from './connection.ts';
import { checkSqliteOptions } from './sqlite-storage.ts';

/** Options of {@link sqliteKeys}. */
export interface SqliteKeysOptions {
  /** Path of a file of its own, in a folder that is there. Made when it is missing, for this user's eyes only. */
  readonly file: string;
  /** Milliseconds to wait for another process that writes. Default 10,000. */
  readonly busyTimeoutMs?: number | undefined;
}

const OPTIONS: OptionShape<SqliteKeysOptions> = { file: unknown, busyTimeoutMs: unknown };

const TABLES = {
  keeps: 'API keys',
  migrations: [
    `
  CREATE TABLE api_keys (
    hash TEXT PRIMARY KEY, account TEXT NOT NULL, revision INTEGER NOT NULL, record TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX api_keys_of_account ON api_keys (account, hash);
  `,
  ],
  // "SBKY"
  applicationId: 0x53424b59,
  statements: {
    find: 'SELECT record FROM api_keys WHERE hash = :hash',
    list: 'SELECT record FROM api_keys WHERE hash > :after ORDER BY hash LIMIT :limit',
    listOfAccount: 'SELECT record FROM api_keys WHERE account = :account AND hash > :after ORDER BY hash LIMIT :limit',
    add: `INSERT INTO api_keys (hash, account, revision, record)
      VALUES (:hash, :account, :revision, :record) ON CONFLICT (hash) DO NOTHING`,
    replace: `UPDATE api_keys SET account = :account, revision = :revision, record = :record
      WHERE hash = :hash AND revision = :revision - 1`,
    remove: 'DELETE FROM api_keys WHERE hash = :hash',
  },
};

/**
 * API keys in one file, by the SQLite that Node has built in: hashes, never the keys. Several processes of one machine
 * may use the same file; it must be on a local disk.
 *
 * @throws {@link ConfigError}
 *
 * @example
 * ```ts
 * const router = createRouter({ authenticate: storedApiKeys({ store: sqliteKeys({ file: 'keys.db' }) }) });
 * ```
 */
export function sqliteKeys(options: SqliteKeysOptions): KeyStore {
  checkShape<SqliteKeysOptions>(OPTIONS, options, 'sqliteKeys');
  const { file, busyTimeoutMs = 10_000 } = options;
  checkSqliteOptions(file, busyTimeoutMs);
  const connection = new SqliteConnection(file, busyTimeoutMs, TABLES);
  return {
    async find(hash) {
      await connection.open();
      const row = await connection.read(() => connection.first('find', { hash }));
      return row && keyOfRow(row);
    },
    async list(account, after = '', limit) {
      await connection.open();
      const rows = await connection.read(() =>
        account === undefined
          ? connection.all('list', { after, limit })
          : connection.all('listOfAccount', { account: storable(account), after, limit }),
      );
      return rows.map(keyOfRow);
    },
    async add(key) {
      await connection.open();
      await connection.write(() => connection.run('add', keyColumns(key)));
    },
    async replace(key) {
      await connection.open();
      return connection.write(() => connection.run('replace', keyColumns(key)) > 0);
    },
    async remove(hash) {
      await connection.open();
      return connection.write(() => connection.run('remove', { hash }) > 0);
    },
    close: () => Promise.resolve(connection.close()),
  };
}
