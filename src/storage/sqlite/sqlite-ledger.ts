/** The ledger in SQLite. */
import type { Ledger, LedgerCostKey, LedgerRecord } from '../../contracts/ledger.ts';
import { unknown } from '../../schema/scalars.ts';
import { callable, type OptionShape } from '../../options/values.ts';
import { checkShape } from '../../platform/check-options.ts';
import {
  checkKeepDays,
  columnsOf,
  DEFAULT_KEEP_DAYS,
  failuresOf,
  latestPage,
  lineColumns,
  MOST_FAILURES,
  pageOf,
  pageValues,
  PURGE_PAGE,
  recordOfRow,
  slotsOf,
  SUMMED,
  sumHours,
  purging,
  timelineValues,
} from '../ledger-rows.ts';
import { storable } from '../stored-rows.ts';
import { SqliteConnection } from './connection.ts';
import { checkSqliteOptions } from './sqlite-storage.ts';

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
  file: unknown,
  keepDays: unknown,
  busyTimeoutMs: unknown,
  now: callable,
};

/** Sums that grow by a line of a record; `minutes` without those of calls and tokens. */
const MINUTE_SUMS = ['requests', 'failed', 'cost', 'unpriced', 'streams', 'waited'] as const;

function columnsAre(names: readonly string[], value: (name: string) => string): string {
  return names.map((name) => `${name} = ${value(name)}`).join(', ');
}

/** Columns of `minutes` for the lines of a record: the first token counts once, with the line that has the request. */
const STREAMS = 'CASE WHEN requests = 1 AND first_token IS NOT NULL THEN 1 ELSE 0 END';
const WAITED = 'CASE WHEN requests = 1 AND first_token IS NOT NULL THEN first_token ELSE 0 END';

/** Adds lines of records to the sums; `which` is the condition for the lines. */
function addToSums(which: string): string {
  const sums = SUMMED.map((name) => `sum(lines.${name})`).join(', ');
  const grow = (names: readonly string[]): string => columnsAre(names, (name) => `${name} + excluded.${name}`);
  return `
  INSERT INTO hours SELECT at / 3600000, account, lines.endpoint, lines.provider, lines.model, ${sums}
    FROM lines JOIN records USING (position) WHERE ${which} GROUP BY 1, 2, 3
    ON CONFLICT (hour, account, endpoint) DO UPDATE SET ${grow(SUMMED)};
  INSERT INTO tag_hours SELECT at / 3600000, account, tag.key, tag.value, ${sums}
    FROM lines JOIN records USING (position), json_each(records.tags) AS tag WHERE ${which} GROUP BY 1, 2, 3, 4
    ON CONFLICT (hour, account, name, value) DO UPDATE SET ${grow(SUMMED)};
  INSERT INTO minutes SELECT at / 60000, sum(requests), sum(failed), sum(cost), sum(unpriced), sum(${STREAMS}),
      sum(${WAITED})
    FROM lines JOIN records USING (position) WHERE ${which} GROUP BY 1
    ON CONFLICT (minute) DO UPDATE SET ${grow(MINUTE_SUMS)};`;
}

/** Takes a record that is deleted from the sums. */
function takeFromSums(): string {
  const sums = SUMMED.map((name) => `sum(lines.${name}) AS ${name}`).join(', ');
  const shrink = (table: string, names: readonly string[]): string =>
    columnsAre(names, (name) => `${table}.${name} - line.${name}`);
  return `
  UPDATE hours SET ${shrink('hours', SUMMED)} FROM (SELECT * FROM lines WHERE position = OLD.position) AS line
    WHERE hours.hour = OLD.at / 3600000 AND hours.account = OLD.account AND hours.endpoint = line.endpoint;
  UPDATE tag_hours SET ${shrink('tag_hours', SUMMED)}
    FROM (SELECT tag.key AS name, tag.value AS value, ${sums} FROM lines, json_each(OLD.tags) AS tag
      WHERE position = OLD.position GROUP BY 1, 2) AS line
    WHERE hour = OLD.at / 3600000 AND account = OLD.account AND tag_hours.name = line.name
      AND tag_hours.value = line.value;
  UPDATE minutes SET ${shrink('minutes', MINUTE_SUMS)}
    FROM (SELECT sum(requests) AS requests, sum(failed) AS failed, sum(cost) AS cost, sum(unpriced) AS unpriced,
        CASE WHEN OLD.first_token IS NULL THEN 0 ELSE 1 END AS streams, coalesce(OLD.first_token, 0) AS waited
      FROM lines WHERE position = OLD.position) AS line
    WHERE minute = OLD.at / 60000;
  DELETE FROM hours WHERE hour = OLD.at / 3600000 AND account = OLD.account AND requests = 0 AND attempts = 0
    AND cost = 0;
  DELETE FROM tag_hours WHERE hour = OLD.at / 3600000 AND account = OLD.account AND requests = 0;
  DELETE FROM minutes WHERE minute = OLD.at / 60000 AND requests = 0;`;
}

const SUM_COLUMNS = SUMMED.map((name) => `${name} INTEGER NOT NULL`).join(', ');

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
  // Version 2: calls of unknown price, more to filter by, and sums, so that nobody has to read every record.
  `
  ALTER TABLE lines ADD COLUMN unpriced INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE records ADD COLUMN session TEXT;
  ALTER TABLE records ADD COLUMN stream INTEGER;
  ALTER TABLE records ADD COLUMN batch INTEGER;
  ALTER TABLE records ADD COLUMN duration REAL;
  ALTER TABLE records ADD COLUMN first_token REAL;
  UPDATE records SET session = record ->> '$.session', stream = record ->> '$.stream',
    batch = coalesce(record ->> '$.batch', 0), duration = record ->> '$.duration_ms',
    first_token = CASE WHEN record ->> '$.stream' THEN record ->> '$.first_token_ms' END;
  DROP INDEX records_by_time;
  CREATE INDEX records_by_time ON records
    (at, position, account, model, provider, endpoint, error, session, stream, batch, duration);
  CREATE INDEX records_that_failed ON records (at, endpoint, error) WHERE error IS NOT NULL;
  CREATE TABLE hours (
    hour INTEGER NOT NULL, account TEXT NOT NULL, endpoint TEXT NOT NULL, provider TEXT NOT NULL, model TEXT NOT NULL,
    ${SUM_COLUMNS}, PRIMARY KEY (hour, account, endpoint)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE tag_hours (
    hour INTEGER NOT NULL, account TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL,
    ${SUM_COLUMNS}, PRIMARY KEY (hour, account, name, value)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE minutes (
    minute INTEGER PRIMARY KEY, requests INTEGER NOT NULL, failed INTEGER NOT NULL, cost INTEGER NOT NULL,
    unpriced INTEGER NOT NULL, streams INTEGER NOT NULL, waited REAL NOT NULL
  ) STRICT;
  ${addToSums('true')}
  CREATE TRIGGER line_is_summed AFTER INSERT ON lines BEGIN ${addToSums('lines.rowid = NEW.rowid')} END;
  CREATE TRIGGER record_is_taken_away BEFORE DELETE ON records BEGIN ${takeFromSums()} END;
  `,
];

const MATCHES = `(:account IS NULL OR account = :account) AND (:model IS NULL OR model = :model)
  AND (:provider IS NULL OR provider = :provider) AND (:endpoint IS NULL OR endpoint = :endpoint)
  AND (:error IS NULL OR error = :error OR (:error = 'any' AND error IS NOT NULL))
  AND (:tagName IS NULL OR EXISTS (SELECT 1 FROM json_each(tags) WHERE key = :tagName AND value = :tagValue))
  AND (:session IS NULL OR session = :session) AND (:batch IS NULL OR batch = :batch)
  AND (:called IS NULL OR EXISTS (
    SELECT 1 FROM lines WHERE lines.position = records.position AND lines.endpoint = :called AND lines.attempts > 0))
  AND (:stream IS NULL OR stream = :stream) AND (:longer IS NULL OR duration >= :longer)
  AND at >= :since AND at < :until`;

const SUMS_OF_LINES = SUMMED.map((name) => `sum(${name}) AS ${name}`).join(', ');
const OF_ACCOUNT = '(:account IS NULL OR account = :account)';

function lineSums(key: string): string {
  return `SELECT ${key} AS key, ${SUMS_OF_LINES} FROM records INDEXED BY records_by_time JOIN lines USING (position)
    WHERE ${OF_ACCOUNT} AND at >= :since AND at < :until GROUP BY 1`;
}

function hourSums(key: string, from = 'hours WHERE'): string {
  return `SELECT ${key} AS key, ${SUMS_OF_LINES} FROM ${from} ${OF_ACCOUNT} AND hour >= :first AND hour < :last GROUP BY 1`;
}

const SUMS = {
  sumsByAccount: lineSums('account'),
  sumsByModel: lineSums('lines.model'),
  sumsByProvider: lineSums('lines.provider'),
  sumsByEndpoint: lineSums('lines.endpoint'),
  sumsByDay: lineSums("strftime('%Y-%m-%d', at / 1000, 'unixepoch')"),
  sumsByTag: lineSums("coalesce((SELECT value FROM json_each(tags) WHERE key = :tagName), '')"),
};

const HOUR_SUMS = {
  hoursByAccount: hourSums('account'),
  hoursByModel: hourSums('model'),
  hoursByProvider: hourSums('provider'),
  hoursByEndpoint: hourSums('endpoint'),
  hoursByDay: hourSums("strftime('%Y-%m-%d', hour * 3600, 'unixepoch')"),
  hoursByTag: hourSums('value', 'tag_hours WHERE name = :tagName AND'),
};

const STATEMENTS = {
  insert: `INSERT INTO records (id, at, account, model, provider, endpoint, error, tags, record, session, stream, batch,
      duration, first_token)
    VALUES (:id, :at, :account, :model, :provider, :endpoint, :error, :tags, :record, :session, :stream, :batch,
      :duration, :firstToken) ON CONFLICT (id) DO NOTHING`,
  insertLine: `INSERT INTO lines
    SELECT position, :endpoint, :provider, :model, :requests, :failed, :attempts, :prompt, :completion, :cached, :cost,
      :unpriced
    FROM records WHERE id = :id`,
  oldest: `SELECT position, record FROM records WHERE position > :after AND ${MATCHES} ORDER BY position LIMIT :limit`,
  further: `SELECT at, position FROM records WHERE (at, position) < (:at, :after) AND at >= :since
    ORDER BY at DESC, position DESC LIMIT 1 OFFSET :skipped`,
  between: `SELECT at, position, record FROM records INDEXED BY records_by_time
    WHERE (at, position) < (:at, :after) AND (at, position) >= (:endAt, :end) AND ${MATCHES}
    ORDER BY at DESC, position DESC LIMIT :limit`,
  timeline: `SELECT minute / CAST(:minutes AS INTEGER) AS slot, sum(requests) AS requests, sum(failed) AS failed, sum(cost) AS cost,
      sum(unpriced) AS unpriced, sum(streams) AS streams, sum(waited) AS waited
    FROM minutes WHERE minute >= :first AND minute < :last GROUP BY 1 ORDER BY 1`,
  failures: `SELECT endpoint, error, count(*) AS requests, max(at) AS latest
    FROM (SELECT at, endpoint, error FROM records INDEXED BY records_that_failed
      WHERE error IS NOT NULL AND at >= :since ORDER BY at DESC LIMIT ${MOST_FAILURES})
    GROUP BY 1, 2`,
  one: 'SELECT record FROM records WHERE id = :id',
  purge: `DELETE FROM records WHERE position IN (SELECT position FROM records WHERE at < :before LIMIT ${PURGE_PAGE})`,
  ...SUMS,
  ...HOUR_SUMS,
};

/** Which statements sum by what: lines, and whole hours. */
const SUMS_BY: Readonly<Record<LedgerCostKey, readonly [keyof typeof SUMS, keyof typeof HOUR_SUMS]>> = {
  account: ['sumsByAccount', 'hoursByAccount'],
  model: ['sumsByModel', 'hoursByModel'],
  provider: ['sumsByProvider', 'hoursByProvider'],
  endpoint: ['sumsByEndpoint', 'hoursByEndpoint'],
  day: ['sumsByDay', 'hoursByDay'],
  tag: ['sumsByTag', 'hoursByTag'],
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
  checkSqliteOptions(file, busyTimeoutMs);
  checkKeepDays(keepDays);
  const connection = new SqliteConnection(file, busyTimeoutMs, {
    keeps: 'the ledger',
    migrations: MIGRATIONS,
    applicationId: APPLICATION_ID,
    statements: STATEMENTS,
  });
  const purge = purging(keepDays, now, async (before) =>
    connection.writeInSlices(() => connection.run('purge', { before }) === PURGE_PAGE),
  );

  return {
    async append(records) {
      await connection.open();
      await connection.write(() => {
        for (const record of records) insert(record, connection);
      });
      await purge();
    },
    async read(query = {}) {
      await connection.open();
      if (query.order !== 'latest') {
        return pageOf(await connection.read(() => connection.all('oldest', pageValues(query))), query);
      }
      return latestPage(query, {
        further: (values) => connection.readInTurn(() => connection.first('further', values)),
        between: (values) => connection.read(() => connection.all('between', values)),
      });
    },
    async one(id) {
      await connection.open();
      const row = await connection.read(() => connection.first('one', { id: storable(id) }));
      return row && recordOfRow(row);
    },
    async costs(query) {
      await connection.open();
      const [lines, hours] = SUMS_BY[query.by];
      const tagged = <Requested extends Tagged>(values: Requested): Omit<Requested, 'tagName'> =>
        query.by === 'tag' ? values : withoutTag(values);
      return sumHours(query, {
        lines: (values) => connection.read(() => connection.all(lines, tagged(values))),
        hours: (values) => connection.read(() => connection.all(hours, tagged(values))),
        all: (values) => connection.read(() => connection.all('hoursByAccount', withoutTag(values))),
      });
    },
    async timeline(query) {
      await connection.open();
      return slotsOf(await connection.read(() => connection.all('timeline', timelineValues(query))), query.slotMs);
    },
    async failures({ from }) {
      await connection.open();
      return failuresOf(await connection.read(() => connection.all('failures', { since: Math.floor(from) })));
    },
    close: () => connection.close(),
  };
}

/** Adds a record with its lines; one that is there already stays as it is. */
function insert(record: LedgerRecord, connection: SqliteConnection<keyof typeof STATEMENTS>): void {
  const columns = columnsOf(record);
  if (connection.run('insert', columns) === 0) return;
  for (const line of lineColumns(record)) connection.run('insertLine', { ...line, id: columns.id });
}

/** Values with the name of a tag. */
interface Tagged {
  readonly tagName: string;
}

/** Only statements that have a name for it are given the tag. */
function withoutTag<Values extends Tagged>({ tagName: _, ...values }: Values): Omit<Values, 'tagName'> {
  return values;
}
