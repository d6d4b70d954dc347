import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { postgresKeys } from '../../src/storage/postgres/postgres-keys.ts';
import { keyChecks, keysOutlast, storedKey } from '../support/key-checks.ts';
import { OUTAGES_TIMEOUT_MS } from '../support/outages.ts';
import { IMPATIENT, type Postgres, startPostgres } from '../support/postgres.ts';

let server: Postgres;
let schemas = 0;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server[Symbol.asyncDispose]());

describe('keys in PostgreSQL', () => {
  it.each(keyChecks)('$name', async ({ run }) => {
    const store = postgresKeys({ connectionString: server.connectionString, schema: `keys_${(schemas += 1)}` });
    try {
      await run(store);
    } finally {
      await store.close?.();
    }
  });

  it(
    'are there once although their server was in trouble',
    async () => {
      await using faulty = await server.faulty();
      const { connectionString, faults } = faulty;
      const store = postgresKeys({ connectionString, schema: 'in_trouble', ...IMPATIENT });
      try {
        await keysOutlast(store, faults);
      } finally {
        await store.close?.();
      }
    },
    OUTAGES_TIMEOUT_MS,
  );

  it('are one set for all processes, which may make the table at the same time', async () => {
    const stores = Array.from({ length: 3 }, () => postgresKeys({ connectionString: server.connectionString }));
    const [one, other] = stores;
    try {
      await Promise.all(stores.map(async (store) => store.find('a'.repeat(64))));
      await one?.add(storedKey('a'));
      expect(await other?.find('a'.repeat(64))).toEqual(storedKey('a'));
      await one?.remove('a'.repeat(64));
      expect(await other?.find('a'.repeat(64))).toBeUndefined();
    } finally {
      await Promise.all(stores.map((store) => store.close?.()));
    }
  });
});
