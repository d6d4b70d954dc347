import { Pool } from 'pg';
import { afterAll, beforeAll, describe, it } from 'vitest';
import type { BatchStore } from '../../src/contracts/batch-store.ts';
import { postgresStorage } from '../../src/storage/postgres/postgres-storage.ts';
import type { PostgresPool } from '../../src/storage/postgres/driver.ts';
import { batchStoreChecks, batchStoreChecksFor } from '../../src/testing/batch-store-checks.ts';
import type { BatchStoreHarness } from '../../src/testing/batch-store-checks/check.ts';
import { fileChecks } from '../../src/testing/batch-store-checks/file-checks.ts';
import { draftChecks } from '../../src/testing/batch-store-checks/draft-checks.ts';
import { OUTAGES_TIMEOUT_MS } from '../support/outages.ts';
import { type FaultyPostgres, IMPATIENT, type Postgres, startPostgres } from '../support/postgres.ts';

let server: Postgres;
let pools: readonly [Pool, Pool];

beforeAll(async () => {
  server = await startPostgres();
  const { connectionString } = server;
  pools = [new Pool({ connectionString, max: 10 }), new Pool({ connectionString, max: 10 })];
  await (await open(pools[0])).close();
});

afterAll(async () => {
  await Promise.all(pools.map((pool) => pool.end()));
  await server[Symbol.asyncDispose]();
});

async function open(pool: PostgresPool): Promise<BatchStore> {
  const storage = postgresStorage({ pool });
  await storage.open();
  return storage;
}

const harness: BatchStoreHarness = {
  async create() {
    await pools[0].query(
      ['tasks', 'keys', 'items', 'batches', 'file_pieces', 'files']
        .map((table) => `DELETE FROM signalbox.${table}`)
        .join('; '),
    );
    return open(pools[0]);
  },
  attach: () => open(pools[1]),
  pass: (ms) =>
    new Promise((resolve) => {
      setTimeout(resolve, ms);
    }),
};

/** A pool that is like that of `pg`, but whose connections take statements with values only. */
function plainPool(pool: Pool): PostgresPool {
  return {
    async connect() {
      const client = await pool.connect();
      return { query: (text, values) => client.query(text, values), release: (destroy) => client.release(destroy) };
    },
  };
}

describe('batches in PostgreSQL', () => {
  it.each(batchStoreChecksFor(harness))('$name', ({ run }) => run(harness));
});

describe('batches over connections that cannot copy', () => {
  const plain: BatchStoreHarness = {
    ...harness,
    create: async () => (await harness.create()) && open(plainPool(pools[0])),
  };

  it.each([...draftChecks, ...fileChecks].filter(({ needsSharing }) => !needsSharing))('$name', ({ run }) =>
    run(plain),
  );
});

describe('batches in a PostgreSQL in trouble', () => {
  let faulty: FaultyPostgres | undefined;
  beforeAll(async () => {
    faulty = await server.faulty();
  });
  afterAll(async () => faulty?.[Symbol.asyncDispose]());

  const inTrouble: BatchStoreHarness = {
    async create() {
      const storage = postgresStorage({
        connectionString: faulty?.connectionString ?? '',
        schema: 'in_trouble',
        ...IMPATIENT,
      });
      await storage.open();
      return storage;
    },
    pass: harness.pass,
    get faults() {
      return faulty?.faults;
    },
  };
  const named = ['refuseWrites', 'breakConnections', 'loseAnswers', 'freeze', 'failOver'] as const;
  const checks = batchStoreChecks.filter(({ needsFault }) => named.some((name) => name === needsFault));

  it.each(checks)('$name', ({ run }) => run(inTrouble), OUTAGES_TIMEOUT_MS);
});
