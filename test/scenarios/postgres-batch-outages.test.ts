import { Client } from 'pg';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { postgresStorage } from 'signalbox/postgres';
import { type Postgres, startPostgres } from '../support/postgres.ts';
import { smallDisk } from '../support/small-disk.ts';
import { outlive } from '../support/storage-outage.ts';

let server: Postgres;

beforeAll(async () => {
  server = await startPostgres();
});

afterAll(() => server[Symbol.asyncDispose]());

function storageIn(schema: string, options = ''): ReturnType<typeof postgresStorage> {
  const connectionString = `${server.connectionString}${options}`;
  return postgresStorage({ connectionString, schema, statementTimeoutMs: 500, connectTimeoutMs: 500 });
}

async function admin(): Promise<Client> {
  const client = new Client({ connectionString: server.connectionString, application_name: 'others' });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

const THROW_OUT = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE backend_type = 'client backend' AND application_name <> 'others'`;

describe('batches in PostgreSQL lose nothing, and chats go on,', () => {
  it('when its disk is full for a while', { timeout: 120_000 }, async ({ skip }) => {
    using disk = smallDisk(64, server.owner);
    if (disk === undefined) return skip('this user may not mount a small disk');
    const client = await admin();
    await client.query(`CREATE TABLESPACE small LOCATION '${disk.path}'`);
    const storage = storageIn('full', `&options=${encodeURIComponent('-c default_tablespace=small')}`);
    await outlive(storage, { begin: () => disk.fill(), end: () => disk.free() });
    await client.query('DROP SCHEMA "full" CASCADE');
    await client.query('DROP TABLESPACE small');
    await client.end();
  });

  it('when the server stands still for a while', { timeout: 120_000 }, async () => {
    await outlive(storageIn('frozen'), { begin: () => server.freeze(), end: () => server.thaw() });
  });

  it('when others take all of its connections for a while', { timeout: 120_000 }, async () => {
    const others: Client[] = [];
    await outlive(storageIn('crowded'), {
      async begin() {
        const client = await admin();
        others.push(client);
        // Whoever is thrown out comes back, and is fought off until nobody but us is in.
        for (let quiet = 0; quiet < 3;) {
          const one = await admin().catch(() => undefined);
          if (one !== undefined) others.push(one);
          const thrown = one === undefined ? await client.query(THROW_OUT) : undefined;
          quiet = thrown?.rowCount === 0 ? quiet + 1 : 0;
        }
      },
      async end() {
        await Promise.all(others.map((one) => one.end()));
      },
    });
  });
});
