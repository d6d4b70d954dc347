import type { Ledger, LedgerCostKey } from '../../contracts/ledger.ts';
import { anything, callable, checkShape, type OptionShape } from '../../platform/option-kinds.ts';
import {
  checkKeepDays,
  columnsOf,
  costsOf,
  costValues,
  DEFAULT_KEEP_DAYS,
  lineColumns,
  oldestKept,
  pageOf,
  pageValues,
  PURGE_EVERY_MS,
  PURGE_PAGE,
  recordOfRow,
} from '../ledger-rows.ts';
import { storable } from '../stored-rows.ts';
import { SqliteConnection } from './connection.ts';
import { checkOptions } from './sqlite-storage.ts';

/** Options of {@link sqliteLedger}. */
export interface SqliteLedgerOptions {
  /** Path of a file of its own, in a folder that is there. Made when it is missing, for this user's eyes only. */
  readonly file: string;
  /** Days for which records are kept; `Infinity` for good. Default 30. */
  readonly keepDays?: number | undefined;
  /** Milliseconds to wait for another process that writes. Default 10,000. */
  readonly busyTimeoutMs?: number | undefined;
  /** Epoch milliseconds. Default: the system's clock. */
  readonly now?: (() => number) | undefined;
}

const OPTIONS: OptionShape<SqliteLedgerOptions> = {
  file: anything,
  keepDays: anything,
  busyTimeoutMs: anything,
  now: callable,
};

const MIGRATIONS = [
  `
  CREATE TABLE records (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE, at INTEGER NOT NULL, account TEXT NOT NULL,
    model TEXT, provider TEXT, endpoint TEXT, error TEXT, tags TEXT NOT NULL, record TEXT NOT NULL
  ) STRICT;
  CREATE INDEX records_by_time ON records (at);
  CREATE INDEX records_by_account ON records (account, position);
  CREATE TABLE lines (
    position INTEGER NOT NULL REFERENCES records (position) ON DELETE CASCADE,
    endpoint TEXT NOT NULL, provider TEXT NOT NULL, model TEXT NOT NULL,
    requests INTEGER NOT NULL, failed INTEGER NOT NULL, attempts INTEGER NOT NULL,
    prompt INTEGER NOT NULL, completion INTEGER NOT NULL, cached INTEGER NOT NULL, cost INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX lines_of_record ON lines (position);
  `,
];

const MATCHES = `(:account IS NULL OR account = :account) AND (:model IS NULL OR model = :model)
  AND (:provider IS NULL OR provider = :provider) AND (:endpoint IS NULL OR endpoint = :endpoint)
  AND (:error IS NULL OR error = :error OR (:error = 'any' AND error IS NOT NULL))
  AND (:tagName IS NULL OR EXISTS (SELECT 1 FROM json_each(tags) WHERE key = :tagName AND value = :tagValue))
  AND at >= :since AND at < :until`;

function sums(key: string): string {
  return `SELECT ${key} AS key, sum(requests) AS requests, sum(failed) AS failed, sum(attempts) AS attempts,
      sum(prompt) AS prompt, sum(completion) AS completion, sum(cached) AS cached, sum(cost) AS cost
    FROM records JOIN lines USING (position)
    WHERE (:account IS NULL OR account = :account) AND at >= :since AND at < :until GROUP BY 1`;
}

const SUMS = {
  sumsByAccount: sums('account'),
  sumsByModel: sums('lines.model'),
  sumsByProvider: sums('lines.provider'),
  sumsByEndpoint: sums('lines.endpoint'),
  sumsByDay: sums("strftime('%Y-%m-%d', at / 1000, 'unixepoch')"),
  sumsByTag: sums("coalesce((SELECT value FROM json_each(tags) WHERE key = :tagName), '')"),
};

const STATEMENTS = {
  insert: `INSERT INTO records (id, at, account, model, provider, endpoint, error, tags, record)
    VALUES (:id, :at, :account, :model, :provider, :endpoint, :error, :tags, :record) ON CONFLICT (id) DO NOTHING`,
  insertLine: `INSERT INTO lines
    SELECT position, :endpoint, :provider, :model, :requests, :failed, :attempts, :prompt, :completion, :cached, :cost
    FROM records WHERE id = :id`,
  oldest: `SELECT position, record FROM records WHERE position > :after AND ${MATCHES} ORDER BY position LIMIT :limit`,
  latest: `SELECT position, record FROM records WHERE position < :after AND ${MATCHES}
    ORDER BY position DESC LIMIT :limit`,
  one: 'SELECT record FROM records WHERE id = :id',
  purge: `DELETE FROM records WHERE position IN (SELECT position FROM records WHERE at < :before LIMIT ${PURGE_PAGE})`,
  ...SUMS,
};

/** Which statement sums by what. */
const SUMS_BY: Readonly<Record<LedgerCostKey, keyof typeof SUMS>> = {
  account: 'sumsByAccount',
  model: 'sumsByModel',
  provider: 'sumsByProvider',
  endpoint: 'sumsByEndpoint',
  day: 'sumsByDay',
  tag: 'sumsByTag',
};

/** Marks a file as a ledger of ours. */
const APPLICATION_ID = 0x53424c47;

/**
 * The ledger of a router in one file, by the SQLite that Node has built in. Several processes of one machine may write
 * to the same file; it must be on a local disk.
 *
 * @throws {@link ConfigError}
 *
 * @example
 * ```ts
 * const router = createRouter({ ledger: { store: sqliteLedger({ file: 'ledger.db' }) } });
 * ```
 */
export function sqliteLedger(options: SqliteLedgerOptions): Ledger {
  checkShape<SqliteLedgerOptions>(OPTIONS, options, 'sqliteLedger');
  const { file, keepDays = DEFAULT_KEEP_DAYS, busyTimeoutMs = 10_000, now = Date.now } = options;
  checkOptions(file, busyTimeoutMs);
  checkKeepDays(keepDays);
  const connection = new SqliteConnection(file, busyTimeoutMs, {
    keeps: 'the ledger',
    migrations: MIGRATIONS,
    applicationId: APPLICATION_ID,
    statements: STATEMENTS,
  });
  let purgedAt = -Infinity;

  async function purge(): Promise<void> {
    const before = oldestKept(keepDays, now());
    if (before === undefined || now() - purgedAt < PURGE_EVERY_MS) return;
    purgedAt = now();
    await connection.writeInSlices(() => connection.run('purge', { before: Math.floor(before) }) === PURGE_PAGE);
  }

  return {
    async append(records) {
      await connection.open();
      await connection.write(() => {
        for (const record of records) {
          const columns = columnsOf(record);
          if (connection.run('insert', columns) === 0) continue;
          for (const line of lineColumns(record)) connection.run('insertLine', { ...line, id: columns.id });
        }
      });
      await purge();
    },
    async read(query = {}) {
      await connection.open();
      const name = query.order ?? 'oldest';
      return pageOf(await connection.read(() => connection.all(name, pageValues(query))), query);
    },
    async one(id) {
      await connection.open();
      const row = await connection.read(() => connection.first('one', { id: storable(id) }));
      return row && recordOfRow(row);
    },
    async costs(query) {
      await connection.open();
      const { tagName, ...values } = costValues(query);
      const asked = query.by === 'tag' ? { ...values, tagName } : values;
      return costsOf(await connection.read(() => connection.all(SUMS_BY[query.by], asked)), query);
    },
    close: () => connection.close(),
  };
}
