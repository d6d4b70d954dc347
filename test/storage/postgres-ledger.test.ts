import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Ledger } from '../../src/contracts/ledger.ts';
import { postgresLedger } from '../../src/storage/postgres/postgres-ledger.ts';
import { ledgerChecks, ledgerOutlasts } from '../support/ledger-checks.ts';
import { columnsOf, lineColumns } from '../../src/storage/ledger-rows.ts';
import { FIRST_RECORDS, takenOver } from '../support/first-ledgers.ts';
import { ledgerRecord } from '../support/ledger-records.ts';
import { OUTAGES_TIMEOUT_MS } from '../support/outages.ts';
import { IMPATIENT, type Postgres, startPostgres } from '../support/postgres.ts';

async function using(ledger: Ledger, run: (ledger: Ledger) => Promise<void>): Promise<void> {
  try {
    await run(ledger);
  } finally {
    await ledger.close?.();
  }
}

describe('a ledger in PostgreSQL', () => {
  let server: Postgres;
  let schemas = 0;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const open = (schema: string): Ledger =>
    postgresLedger({ connectionString: server.connectionString, schema, keepDays: Infinity });
  const fresh = (): Ledger => open(`ledger_${(schemas += 1)}`);

  it.each(ledgerChecks)('$name', ({ run }) => using(fresh(), run));

  it(
    'loses and doubles nothing while its server is in trouble',
    async () => {
      await using faulty = await server.faulty();
      const ledger = postgresLedger({
        connectionString: faulty.connectionString,
        keepDays: Infinity,
        ...IMPATIENT,
      });
      await using(ledger, () => ledgerOutlasts(ledger, faulty.faults));
    },
    OUTAGES_TIMEOUT_MS,
  );

  it('takes over tables of version 1: their records are found by everything, and summed', async () => {
    const schema = `ledger_${(schemas += 1)}`;
    const client = new Client({ connectionString: server.connectionString });
    await client.connect();
    const name = 'text COLLATE "C"';
    // As version 1 made them.
    await client.query(`CREATE SCHEMA ${schema};
      CREATE TABLE ${schema}.migrations (version integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now());
      INSERT INTO ${schema}.migrations (version) VALUES (1);
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
      CREATE INDEX lines_of_record ON ${schema}.lines (position)`);
    for (const record of FIRST_RECORDS) {
      const { id, at, account, model, provider, endpoint, error, tags, record: text } = columnsOf(record);
      await client.query(
        `INSERT INTO ${schema}.records (id, at, account, model, provider, endpoint, error, tags, record)
          VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
        [id, at, account, model, provider, endpoint, error, tags, text],
      );
      for (const { unpriced: _, ...counts } of lineColumns(record)) {
        await client.query(
          `INSERT INTO ${schema}.lines SELECT max(position), $1, $2, $3, $4, $5, $6, $7, $8, $9, $10 FROM ${schema}.records`,
          Object.values(counts),
        );
      }
    }
    await client.end();
    await using(open(schema), takenOver);
  });

  it('takes what is deleted from its sums', async () => {
    const now = Date.now();
    const schema = `ledger_${(schemas += 1)}`;
    const old = FIRST_RECORDS.map((record) => ({ ...record, at: now - 3 * 86_400_000 }));
    await using(open(schema), (ledger) => Promise.resolve(ledger.append(old)));
    const ledger = postgresLedger({ connectionString: server.connectionString, schema, keepDays: 1 });
    await using(ledger, async () => {
      await ledger.append([ledgerRecord({ id: 'gen-new', at: now, tags: { team: 'x' } })]);
      const from = now - (now % 60_000) - 9 * 86_400_000;
      const slots = await ledger.timeline?.({ from, to: now + 60_000, slotMs: 60_000 });
      expect(slots?.map(({ requests }) => requests)).toEqual([1]);
      expect(await ledger.costs({ by: 'tag', tag: 'team' })).toMatchObject([{ key: 'x', requests: 1 }]);
      expect(await ledger.costs({ by: 'account' })).toMatchObject([{ requests: 1, cost_nano_usd: 100 }]);
    });
  });

  it('is written by several processes at once, and nobody who reads on misses a record', async () => {
    const schema = `ledger_${(schemas += 1)}`;
    const writers = Array.from({ length: 4 }, () => open(schema));
    const seen: string[] = [];
    let after: string | undefined;
    const readOn = async (reader: Ledger): Promise<void> => {
      const page = await reader.read({ limit: 1_000, after });
      seen.push(...page.records.map(({ id }) => id));
      after = page.last ?? after;
    };
    await using(open(schema), async (reader) => {
      const writing = writers.flatMap((writer, who) =>
        Array.from({ length: 10 }, (_, index) =>
          writer.append([0, 1, 2].map((part) => ledgerRecord({ id: `gen-${who}-${index}-${part}` }))),
        ),
      );
      const done = Promise.all(writing);
      for (let index = 0; index < 20; index += 1) await readOn(reader);
      await done;
      await readOn(reader);
    });
    for (const writer of writers) await writer.close?.();
    expect(new Set(seen).size).toBe(120);
  });
});
