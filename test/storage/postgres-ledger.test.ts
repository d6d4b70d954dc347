import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Ledger } from '../../src/contracts/ledger.ts';
import { postgresLedger } from '../../src/storage/postgres/postgres-ledger.ts';
import { ledgerChecks, ledgerOutlasts } from '../support/ledger-checks.ts';
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
