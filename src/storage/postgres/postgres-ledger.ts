/** The ledger in PostgreSQL. */
import type { Ledger, LedgerCostKey, LedgerRecord } from '../../contracts/ledger.ts';
import { unknown } from '../../schema/scalars.ts';
import { checkShape } from '../../platform/check-options.ts';
import type { OptionShape } from '../../options/values.ts';
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
import type { PostgresDatabase, Values } from './database.ts';
import {
  checkPostgresOptions,
  migratedOnUse,
  OPTIONS as STORAGE_OPTIONS,
  type PostgresStorageOptions,
  databaseAt,
  quotedName,
} from './schema.ts';
import { numbered, type Statement } from './statements.ts';

/** Options of {@link postgresLedger}. Either `pool` or `connectionString` says where the database is. */
export interface PostgresLedgerOptions extends Omit<PostgresStorageOptions, 'schema'> {
  /** Schema of its own that the tables are in; it is made when it is missing. Default `signalbox_ledger`. */
  readonly schema?: string | undefined;
  /** Days for which records are kept; `Infinity` for good. Default 30. */
  readonly keepDays?: number | undefined;
}

const OPTIONS: OptionShape<PostgresLedgerOptions> = { ...STORAGE_OPTIONS, keepDays: unknown };

function firstTables(schema: string): string {
  // Names are compared byte by byte, as in every other store.
  const name = 'text COLLATE "C"';
  return `
    CREATE TABLE ${schema}.records (
      position bigserial PRIMARY KEY, id ${name} NOT NULL UNIQUE, at bigint NOT NULL, account ${name} NOT NULL,
      model ${name}, provider ${name}, endpoint ${name}, error ${name}, tags jsonb NOT NULL, record text NOT NULL
    );
    CREATE INDEX records_by_time ON ${schema}.records (at);
    CREATE INDEX records_by_account ON ${schema}.records (account, position);
    CREATE TABLE ${schema}.lines (
      position bigint NOT NULL REFERENCES ${schema}.records (position) ON DELETE CASCADE,
      endpoint ${name} NOT NULL, provider ${name} NOT NULL, model ${name} NOT NULL,
      requests bigint NOT NULL, failed bigint NOT NULL, attempts bigint NOT NULL,
      prompt bigint NOT NULL, completion bigint NOT NULL, cached bigint NOT NULL, cost bigint NOT NULL
    );
    CREATE INDEX lines_of_record ON ${schema}.lines (position);
  `;
}

const MINUTE_SUMS = ['requests', 'failed', 'cost', 'unpriced', 'streams', 'waited'] as const;

/** Adds lines to the sums; `lines` is the table or the transition table that they are in. */
function addToSums(schema: string, lines: string): string {
  const sums = SUMMED.map((name) => `sum(line.${name})`).join(', ');
  const grow = (table: string, names: readonly string[]): string =>
    names.map((name) => `${name} = ${table}.${name} + excluded.${name}`).join(', ');
  const from = `FROM ${lines} AS line JOIN ${schema}.records USING (position)`;
  const isStream = 'line.requests = 1 AND first_token IS NOT NULL';
  return `
    INSERT INTO ${schema}.hours SELECT at / 3600000, account, line.endpoint, line.provider, line.model, ${sums}
      ${from} GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3
      ON CONFLICT (hour, account, endpoint) DO UPDATE SET ${grow('hours', SUMMED)};
    INSERT INTO ${schema}.tag_hours SELECT at / 3600000, account, tag.key, tag.value, ${sums}
      ${from}, jsonb_each_text(tags) AS tag GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
      ON CONFLICT (hour, account, name, value) DO UPDATE SET ${grow('tag_hours', SUMMED)};
    INSERT INTO ${schema}.minutes SELECT at / 60000, sum(line.requests), sum(line.failed), sum(line.cost),
        sum(line.unpriced), count(*) FILTER (WHERE ${isStream}), coalesce(sum(first_token) FILTER (WHERE ${isStream}), 0)
      ${from} GROUP BY 1 ORDER BY 1
      ON CONFLICT (minute) DO UPDATE SET ${grow('minutes', MINUTE_SUMS)};`;
}

/** Takes the record `OLD` from the sums. */
function takeFromSums(schema: string): string {
  const sums = SUMMED.map((name) => `sum(${name}) AS ${name}`).join(', ');
  const shrink = (table: string, names: readonly string[]): string =>
    names.map((name) => `${name} = ${table}.${name} - line.${name}`).join(', ');
  const lines = `FROM ${schema}.lines WHERE position = OLD.position`;
  return `
    UPDATE ${schema}.hours SET ${shrink('hours', SUMMED)} FROM (SELECT * ${lines}) AS line
      WHERE hour = OLD.at / 3600000 AND account = OLD.account AND hours.endpoint = line.endpoint;
    UPDATE ${schema}.tag_hours SET ${shrink('tag_hours', SUMMED)}
      FROM (SELECT ${sums} ${lines}) AS line, jsonb_each_text(OLD.tags) AS tag
      WHERE hour = OLD.at / 3600000 AND account = OLD.account AND name = tag.key AND tag_hours.value = tag.value;
    UPDATE ${schema}.minutes SET ${shrink('minutes', MINUTE_SUMS)}
      FROM (SELECT sum(requests) AS requests, sum(failed) AS failed, sum(cost) AS cost, sum(unpriced) AS unpriced,
        CASE WHEN OLD.first_token IS NULL THEN 0 ELSE 1 END AS streams, coalesce(OLD.first_token, 0) AS waited ${lines}) AS line
      WHERE minute = OLD.at / 60000;
    DELETE FROM ${schema}.hours WHERE hour = OLD.at / 3600000 AND account = OLD.account AND requests = 0
      AND attempts = 0 AND cost = 0;
    DELETE FROM ${schema}.tag_hours WHERE hour = OLD.at / 3600000 AND account = OLD.account AND requests = 0;
    DELETE FROM ${schema}.minutes WHERE minute = OLD.at / 60000 AND requests = 0;`;
}

/** Version 2: calls of unknown price, more to filter by, and sums, so that nobody has to read every record. */
function sumTables(schema: string): string {
  const name = 'text COLLATE "C"';
  const sums = SUMMED.map((column) => `${column} bigint NOT NULL`).join(', ');
  return `
    ALTER TABLE ${schema}.lines ADD COLUMN unpriced bigint NOT NULL DEFAULT 0;
    ALTER TABLE ${schema}.records ADD COLUMN session ${name}, ADD COLUMN stream boolean, ADD COLUMN batch boolean,
      ADD COLUMN duration double precision, ADD COLUMN first_token double precision;
    -- Not as JSON: that of a record may have escapes that this database cannot read. Tags have no hash before a format.
    UPDATE ${schema}.records SET
      session = substring(record from '"session":"(s_[0-9a-f]+)","format":'),
      stream = record LIKE '%,"stream":true,"requested":%',
      batch = record LIKE '%,"batch":true,%',
      duration = substring(record from '"duration_ms":([0-9.]+)')::double precision,
      first_token = CASE WHEN record LIKE '%,"stream":true,"requested":%'
        THEN substring(record from '"duration_ms":[0-9.]+,"first_token_ms":([0-9.]+)')::double precision END;
    DROP INDEX ${schema}.records_by_time;
    CREATE INDEX records_by_time ON ${schema}.records (at, position);
    CREATE INDEX records_that_failed ON ${schema}.records (at) WHERE error IS NOT NULL;
    CREATE TABLE ${schema}.hours (
      hour bigint NOT NULL, account ${name} NOT NULL, endpoint ${name} NOT NULL, provider ${name} NOT NULL,
      model ${name} NOT NULL, ${sums}, PRIMARY KEY (hour, account, endpoint)
    );
    CREATE TABLE ${schema}.tag_hours (
      hour bigint NOT NULL, account ${name} NOT NULL, name ${name} NOT NULL, value ${name} NOT NULL, ${sums},
      PRIMARY KEY (hour, account, name, value)
    );
    CREATE TABLE ${schema}.minutes (
      minute bigint PRIMARY KEY, requests bigint NOT NULL, failed bigint NOT NULL, cost bigint NOT NULL,
      unpriced bigint NOT NULL, streams bigint NOT NULL, waited double precision NOT NULL
    );
    ${addToSums(schema, `${schema}.lines`)}
    CREATE FUNCTION ${schema}.add_to_sums() RETURNS trigger LANGUAGE plpgsql AS $body$
      BEGIN ${addToSums(schema, 'added')} RETURN NULL; END $body$;
    CREATE FUNCTION ${schema}.take_from_sums() RETURNS trigger LANGUAGE plpgsql AS $body$
      BEGIN ${takeFromSums(schema)} RETURN OLD; END $body$;
    CREATE TRIGGER lines_are_summed AFTER INSERT ON ${schema}.lines REFERENCING NEW TABLE AS added
      FOR EACH STATEMENT EXECUTE FUNCTION ${schema}.add_to_sums();
    CREATE TRIGGER record_is_taken_away BEFORE DELETE ON ${schema}.records
      FOR EACH ROW EXECUTE FUNCTION ${schema}.take_from_sums();
  `;
}

const TABLES = {
  migrationsOf: (schema: string) => [
    { version: 1, statements: firstTables(schema) },
    { version: 2, statements: sumTables(schema) },
  ],
  columns: {
    records:
      'position id at account model provider endpoint error tags record session stream batch duration first_token',
    lines: `position endpoint provider model ${SUMMED.join(' ')}`,
    hours: `hour account endpoint provider model ${SUMMED.join(' ')}`,
    tag_hours: `hour account name value ${SUMMED.join(' ')}`,
    minutes: `minute ${MINUTE_SUMS.join(' ')}`,
  },
};

/** Which records are requested. */
const matches = (
  schema: string,
): string => `(:account::text IS NULL OR account = :account) AND (:model::text IS NULL OR model = :model)
  AND (:provider::text IS NULL OR provider = :provider) AND (:endpoint::text IS NULL OR endpoint = :endpoint)
  AND (:error::text IS NULL OR error = :error OR (:error = 'any' AND error IS NOT NULL))
  AND (:tagName::text IS NULL OR tags ->> :tagName = :tagValue)
  AND (:session::text IS NULL OR session = :session) AND (:batch::boolean IS NULL OR batch = :batch)
  AND (:called::text IS NULL OR EXISTS (SELECT 1 FROM ${schema}.lines
    WHERE lines.position = records.position AND lines.endpoint = :called AND lines.attempts > 0))
  AND (:stream::boolean IS NULL OR stream = :stream)
  AND (:longer::double precision IS NULL OR duration >= :longer)
  AND at >= :since AND at < :until`;

function statementsOf(schema: string) {
  const columns = SUMMED.map((name) => `sum(${name}) AS ${name}`).join(', ');
  const ofAccount = '(:account::text IS NULL OR account = :account)';
  const sums = (key: string): string =>
    `SELECT ${key} AS key, ${columns} FROM ${schema}.records JOIN ${schema}.lines USING (position)
      WHERE ${ofAccount} AND at >= :since AND at < :until GROUP BY 1`;
  const hours = (key: string, from = 'hours WHERE'): string =>
    `SELECT ${key} AS key, ${columns} FROM ${schema}.${from} ${ofAccount} AND hour >= :first AND hour < :last GROUP BY 1`;
  return {
    // Whoever reads on from a cursor must not miss records that a slower process is about to write before it.
    lock: `SELECT pg_advisory_xact_lock(hashtextextended('signalbox ledger ' || :schema::text, 0))`,
    insert: `WITH added AS (
        INSERT INTO ${schema}.records (id, at, account, model, provider, endpoint, error, tags, record, session, stream,
          batch, duration, first_token)
        SELECT * FROM unnest(:ids::text[], :ats::bigint[], :accounts::text[], :models::text[], :providers::text[],
          :endpoints::text[], :errors::text[], :tagLists::jsonb[], :records::text[], :sessions::text[],
          :streams::boolean[], :batches::boolean[], :durations::double precision[], :firstTokens::double precision[])
        ON CONFLICT (id) DO NOTHING RETURNING position, id)
      INSERT INTO ${schema}.lines
      SELECT added.position, line.endpoint, line.provider, line.model, line.requests, line.failed, line.attempts,
        line.prompt, line.completion, line.cached, line.cost, line.unpriced
      FROM unnest(:lineIds::text[], :lineEndpoints::text[], :lineProviders::text[], :lineModels::text[],
          :lineRequests::bigint[], :lineFailed::bigint[], :lineAttempts::bigint[], :linePrompt::bigint[],
          :lineCompletion::bigint[], :lineCached::bigint[], :lineCost::bigint[], :lineUnpriced::bigint[])
        AS line (id, endpoint, provider, model, requests, failed, attempts, prompt, completion, cached, cost,
          unpriced)
      JOIN added ON added.id = line.id`,
    oldest: `SELECT position, record FROM ${schema}.records WHERE position > :after AND ${matches(schema)}
      ORDER BY position LIMIT :limit`,
    further: `SELECT at, position FROM ${schema}.records WHERE (at, position) < (:at, :after) AND at >= :since
      ORDER BY at DESC, position DESC LIMIT 1 OFFSET :skipped`,
    between: `SELECT at, position, record FROM ${schema}.records
      WHERE (at, position) < (:at, :after) AND (at, position) >= (:endAt, :end) AND ${matches(schema)}
      ORDER BY at DESC, position DESC LIMIT :limit`,
    timeline: `SELECT minute / :minutes::bigint AS slot, sum(requests) AS requests, sum(failed) AS failed,
        sum(cost) AS cost, sum(unpriced) AS unpriced, sum(streams) AS streams, sum(waited) AS waited
      FROM ${schema}.minutes WHERE minute >= :first AND minute < :last GROUP BY 1 ORDER BY 1`,
    failures: `SELECT endpoint, error, count(*) AS requests, max(at) AS latest
      FROM (SELECT at, endpoint, error FROM ${schema}.records
        WHERE error IS NOT NULL AND at >= :since ORDER BY at DESC LIMIT ${MOST_FAILURES}) AS failed
      GROUP BY 1, 2`,
    one: `SELECT record FROM ${schema}.records WHERE id = :id`,
    purge: `DELETE FROM ${schema}.records WHERE position IN
      (SELECT position FROM ${schema}.records WHERE at < :before LIMIT ${PURGE_PAGE})`,
    account: sums('account'),
    model: sums('lines.model'),
    provider: sums('lines.provider'),
    endpoint: sums('lines.endpoint'),
    day: sums(`to_char(to_timestamp(at / 1000.0) AT TIME ZONE 'UTC', 'YYYY-MM-DD')`),
    tag: sums(`coalesce(tags ->> :tagName, '')`),
    hoursByAccount: hours('account'),
    hoursByModel: hours('model'),
    hoursByProvider: hours('provider'),
    hoursByEndpoint: hours('endpoint'),
    hoursByDay: hours(`to_char(to_timestamp(hour * 3600) AT TIME ZONE 'UTC', 'YYYY-MM-DD')`),
    hoursByTag: hours('value', 'tag_hours WHERE name = :tagName AND'),
  } satisfies Readonly<Record<string, string>> & Readonly<Record<LedgerCostKey, string>>;
}

type Name = keyof ReturnType<typeof statementsOf>;

/** Which statement sums whole hours by what. */
const HOURS_BY: Readonly<Record<LedgerCostKey, Name>> = {
  account: 'hoursByAccount',
  model: 'hoursByModel',
  provider: 'hoursByProvider',
  endpoint: 'hoursByEndpoint',
  day: 'hoursByDay',
  tag: 'hoursByTag',
};

/** Records as columns, for one statement. */
function insertValues(records: readonly LedgerRecord[]): Values {
  const rows = [...new Map(records.map((record) => [record.id, record])).values()].map(columnsOf);
  const lines = records.flatMap((record) => lineColumns(record).map((line) => ({ ...line, id: storable(record.id) })));
  return {
    ids: rows.map(({ id }) => id),
    ats: rows.map(({ at }) => at),
    accounts: rows.map(({ account }) => account),
    models: rows.map(({ model }) => model),
    providers: rows.map(({ provider }) => provider),
    endpoints: rows.map(({ endpoint }) => endpoint),
    errors: rows.map(({ error }) => error),
    tagLists: rows.map(({ tags }) => tags),
    records: rows.map(({ record }) => record),
    sessions: rows.map(({ session }) => session),
    streams: rows.map(({ stream }) => stream === 1),
    batches: rows.map(({ batch }) => batch === 1),
    durations: rows.map(({ duration }) => duration),
    firstTokens: rows.map(({ firstToken }) => firstToken),
    lineIds: lines.map(({ id }) => id),
    lineEndpoints: lines.map(({ endpoint }) => endpoint),
    lineProviders: lines.map(({ provider }) => provider),
    lineModels: lines.map(({ model }) => model),
    lineRequests: lines.map(({ requests }) => requests),
    lineFailed: lines.map(({ failed }) => failed),
    lineAttempts: lines.map(({ attempts }) => attempts),
    linePrompt: lines.map(({ prompt }) => prompt),
    lineCompletion: lines.map(({ completion }) => completion),
    lineCached: lines.map(({ cached }) => cached),
    lineCost: lines.map(({ cost }) => cost),
    lineUnpriced: lines.map(({ unpriced }) => unpriced),
  };
}

/**
 * The ledger of a router in PostgreSQL, version 12 or newer, for any number of processes on any number of machines.
 *
 * @throws {@link ConfigError}
 *
 * @example
 * ```ts
 * const store = postgresLedger({ connectionString: process.env.DATABASE_URL });
 * const router = createRouter({ ledger: { store } });
 * ```
 */
export function postgresLedger(options: PostgresLedgerOptions): Ledger {
  checkShape<PostgresLedgerOptions>(OPTIONS, options, 'postgresLedger');
  checkPostgresOptions(options, 'postgresLedger');
  const {
    schema = 'signalbox_ledger',
    connections = 4,
    migrate: mayMigrate = true,
    keepDays = DEFAULT_KEEP_DAYS,
  } = options;
  checkKeepDays(keepDays);
  const texts = Object.entries(statementsOf(quotedName(schema)));
  const statements = Object.fromEntries(texts.map(([name, text]) => [name, numbered(text)])) as Record<Name, Statement>;
  const database = databaseAt<Name>({ ...options, connections }, statements);
  const opened = migratedOnUse(database, { schema, tables: TABLES, mayMigrate });
  const purge = purging(keepDays, Date.now, (before) => purgeBefore(before, database, schema));

  return {
    async append(records) {
      await opened();
      const values = insertValues(records);
      await database.transaction(async (session) => {
        await session.first('lock', { schema });
        await session.run('insert', values);
      });
      await purge();
    },
    async read(query = {}) {
      const session = await opened();
      if (query.order !== 'latest') return pageOf(await session.all('oldest', pageValues(query)), query);
      return latestPage(query, {
        further: (values) => session.first('further', values),
        between: (values) => session.all('between', values),
      });
    },
    async one(id) {
      const row = await (await opened()).first('one', { id: storable(id) });
      return row && recordOfRow(row);
    },
    async costs(query) {
      const session = await opened();
      return sumHours(query, {
        lines: (values) => session.all(query.by, values),
        hours: (values) => session.all(HOURS_BY[query.by], values),
        all: (values) => session.all('hoursByAccount', values),
      });
    },
    timeline: async (query) => slotsOf(await (await opened()).all('timeline', timelineValues(query)), query.slotMs),
    async failures({ from }) {
      return failuresOf(await (await opened()).all('failures', { since: Math.floor(from) }));
    },
    close: () => database.close(),
  };
}

/** Deletes older records, a page in each transaction. */
async function purgeBefore(before: number, database: PostgresDatabase<Name>, schema: string): Promise<void> {
  const purgePage = (): Promise<number> =>
    database.transaction(async (session) => {
      // Sums are changed by one at a time, as by those that add records.
      await session.first('lock', { schema });
      return session.run('purge', { before });
    });
  while ((await purgePage()) === PURGE_PAGE);
}
