import type { Ledger, LedgerCostKey, LedgerRecord } from '../../contracts/ledger.ts';
import { anything, checkShape, type OptionShape } from '../../platform/option-kinds.ts';
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
import type { Values } from './database.ts';
import {
  checkOptions,
  migratedOnUse,
  OPTIONS as STORAGE_OPTIONS,
  type PostgresStorageOptions,
  databaseAt,
  quoted,
} from './schema.ts';
import { numbered, type Statement } from './statements.ts';

/** Options of {@link postgresLedger}. Either `pool` or `connectionString` says where the database is. */
export interface PostgresLedgerOptions extends Omit<PostgresStorageOptions, 'schema'> {
  /** Schema of its own that the tables are in; it is made when it is missing. Default `signalbox_ledger`. */
  readonly schema?: string | undefined;
  /** Days for which records are kept; `Infinity` for good. Default 30. */
  readonly keepDays?: number | undefined;
}

const OPTIONS: OptionShape<PostgresLedgerOptions> = { ...STORAGE_OPTIONS, keepDays: anything };

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

const TABLES = {
  migrationsOf: (schema: string) => [{ version: 1, statements: firstTables(schema) }],
  columns: {
    records: 'position id at account model provider endpoint error tags record',
    lines: 'position endpoint provider model requests failed attempts prompt completion cached cost',
  },
};

const MATCHES = `(:account::text IS NULL OR account = :account) AND (:model::text IS NULL OR model = :model)
  AND (:provider::text IS NULL OR provider = :provider) AND (:endpoint::text IS NULL OR endpoint = :endpoint)
  AND (:error::text IS NULL OR error = :error OR (:error = 'any' AND error IS NOT NULL))
  AND (:tagName::text IS NULL OR tags ->> :tagName = :tagValue)
  AND at >= :since AND at < :until`;

function statementsOf(schema: string) {
  const sums = (key: string): string =>
    `SELECT ${key} AS key, sum(requests) AS requests, sum(failed) AS failed, sum(attempts) AS attempts,
        sum(prompt) AS prompt, sum(completion) AS completion, sum(cached) AS cached, sum(cost) AS cost
      FROM ${schema}.records JOIN ${schema}.lines USING (position)
      WHERE (:account::text IS NULL OR account = :account) AND at >= :since AND at < :until GROUP BY 1`;
  return {
    // Whoever reads on from a cursor must not miss records that a slower process is about to write before it.
    lock: `SELECT pg_advisory_xact_lock(hashtextextended('signalbox ledger ' || :schema::text, 0))`,
    insert: `WITH added AS (
        INSERT INTO ${schema}.records (id, at, account, model, provider, endpoint, error, tags, record)
        SELECT * FROM unnest(:ids::text[], :ats::bigint[], :accounts::text[], :models::text[], :providers::text[],
          :endpoints::text[], :errors::text[], :tagLists::jsonb[], :records::text[])
        ON CONFLICT (id) DO NOTHING RETURNING position, id)
      INSERT INTO ${schema}.lines
      SELECT added.position, line.endpoint, line.provider, line.model, line.requests, line.failed, line.attempts,
        line.prompt, line.completion, line.cached, line.cost
      FROM unnest(:lineIds::text[], :lineEndpoints::text[], :lineProviders::text[], :lineModels::text[],
          :lineRequests::bigint[], :lineFailed::bigint[], :lineAttempts::bigint[], :linePrompt::bigint[],
          :lineCompletion::bigint[], :lineCached::bigint[], :lineCost::bigint[])
        AS line (id, endpoint, provider, model, requests, failed, attempts, prompt, completion, cached, cost)
      JOIN added ON added.id = line.id`,
    oldest: `SELECT position, record FROM ${schema}.records WHERE position > :after AND ${MATCHES}
      ORDER BY position LIMIT :limit`,
    latest: `SELECT position, record FROM ${schema}.records WHERE position < :after AND ${MATCHES}
      ORDER BY position DESC LIMIT :limit`,
    one: `SELECT record FROM ${schema}.records WHERE id = :id`,
    purge: `DELETE FROM ${schema}.records WHERE position IN
      (SELECT position FROM ${schema}.records WHERE at < :before LIMIT ${PURGE_PAGE})`,
    account: sums('account'),
    model: sums('lines.model'),
    provider: sums('lines.provider'),
    endpoint: sums('lines.endpoint'),
    day: sums(`to_char(to_timestamp(at / 1000.0) AT TIME ZONE 'UTC', 'YYYY-MM-DD')`),
    tag: sums(`coalesce(tags ->> :tagName, '')`),
  } satisfies Readonly<Record<string, string>> & Readonly<Record<LedgerCostKey, string>>;
}

type Name = keyof ReturnType<typeof statementsOf>;

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
  checkOptions(options, 'postgresLedger');
  const {
    schema = 'signalbox_ledger',
    connections = 4,
    migrate: allowed = true,
    keepDays = DEFAULT_KEEP_DAYS,
  } = options;
  checkKeepDays(keepDays);
  const texts = Object.entries(statementsOf(quoted(schema)));
  const statements = Object.fromEntries(texts.map(([name, text]) => [name, numbered(text)])) as Record<Name, Statement>;
  const database = databaseAt<Name>({ ...options, connections }, statements);
  const opened = migratedOnUse(database, schema, allowed, TABLES);
  let purgedAt = -Infinity;

  async function purge(): Promise<void> {
    const now = Date.now();
    const before = oldestKept(keepDays, now);
    if (before === undefined || now - purgedAt < PURGE_EVERY_MS) return;
    purgedAt = now;
    while ((await database.run('purge', { before: Math.floor(before) })) === PURGE_PAGE);
  }

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
      return pageOf(await (await opened()).all(query.order ?? 'oldest', pageValues(query)), query);
    },
    async one(id) {
      const row = await (await opened()).first('one', { id: storable(id) });
      return row && recordOfRow(row);
    },
    costs: async (query) => costsOf(await (await opened()).all(query.by, costValues(query)), query),
    close: () => database.close(),
  };
}
