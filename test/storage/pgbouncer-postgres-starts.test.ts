import { Client } from 'pg';
import { pgBossQueue } from 'signalbox/pg-boss';
import { postgresStorage } from 'signalbox/postgres';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { batchScene } from '../support/batches.ts';
import { type PgBouncer, startPgBouncer } from '../support/pgbouncer.ts';
import { type Postgres, startPostgres } from '../support/postgres.ts';
import { storm } from '../support/storms.ts';

let postgres: Postgres;
let pooler: PgBouncer;

beforeAll(async () => {
  postgres = await startPostgres();
  pooler = await startPgBouncer(postgres);
});

afterAll(async () => {
  await pooler[Symbol.asyncDispose]();
  await postgres[Symbol.asyncDispose]();
});

describe('the first start through a pooler in transaction mode', () => {
  it('makes the tables once, of however many processes start at the same time', async () => {
    const { connectionString } = pooler;
    const failed: unknown[] = [];
    for (let round = 0; round < storm(50); round += 1) {
      const schema = `storm_${round}`;
      const storages = Array.from({ length: 4 }, () => postgresStorage({ connectionString, schema, connections: 2 }));
      const opened = await Promise.allSettled(storages.map((storage) => storage.open()));
      for (const one of opened) if (one.status === 'rejected') failed.push(one.reason);
      await Promise.all(storages.map((storage) => storage.close()));
    }
    expect(failed).toEqual([]);
  });

  it('starts the queue of pg-boss in each of them', async () => {
    const { connectionString } = pooler;
    const failed: unknown[] = [];
    for (let round = 0; round < storm(20); round += 1) {
      const schema = `boss_${round}`;
      const queue = pgBossQueue({ connectionString, schema });
      const scenes = Array.from({ length: 2 }, () => batchScene({ batches: { queue } }));
      const started = await Promise.allSettled(scenes.map(({ router }) => router.batches.start()));
      for (const one of started) if (one.status === 'rejected') failed.push(one.reason);
      await Promise.all(scenes.map(({ router }) => router.close()));
    }
    expect(failed).toEqual([]);
  });
});

describe('what a pooler refuses', () => {
  it.each([
    ['an unknown database', 'postgres://signalbox:secret@HOST/none', /there is no such database/],
    ['a wrong password', 'postgres://signalbox:hunter2@HOST/postgres', /refused the user or the password/],
    ['no password', 'postgres://signalbox@HOST/postgres', /requires a password, and the address has none/],
    ['an empty password', 'postgres://signalbox:@HOST/postgres', /requires a password, and the address has none/],
    [
      'an unknown user',
      'postgres://paul:hunter2@HOST/postgres',
      /does not know the user|refused the user or the password/,
    ],
    [
      'a server that is gone',
      'postgres://signalbox:secret@HOST/broken',
      /the pooler cannot reach its server|gave no connection|did not answer/,
    ],
    [
      'TLS',
      'postgres://signalbox:secret@HOST/postgres?sslmode=require',
      /asks for TLS, which the server does not speak/,
    ],
  ])('is an error that says what to do: %s', async (_what, address, expected) => {
    const connectionString = address.replace('HOST', `127.0.0.1:${pooler.port}`);
    const storage = postgresStorage({ connectionString, statementTimeoutMs: 500, connectTimeoutMs: 1_500 });
    const error: unknown = await storage.open().catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ name: 'StorageError', message: expect.stringMatching(expected) as string });
    expect((error as Error).message).not.toMatch(/hunter2|secret|paul/);
    await storage.close();
  });

  it('is said where it has no connection left', async () => {
    await using small = await startPgBouncer(postgres, 'max_client_conn = 1');
    const client = new Client({ connectionString: small.connectionString });
    await client.connect();
    const storage = postgresStorage({ connectionString: small.connectionString });
    await expect(storage.open()).rejects.toMatchObject({
      name: 'StorageError',
      message: expect.stringContaining('no connection is left') as string,
    });
    await client.end();
    await storage.close();
  });
});
