import { Pool } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Router, createRouter } from 'signalbox';
import { pgBossQueue } from 'signalbox/pg-boss';
import { postgresStorage } from 'signalbox/postgres';
import { type BatchProvider, all, answer, batchProvider, chatBatch } from '../support/batches.ts';
import { type Postgres, startPostgres } from '../support/postgres.ts';

let server: Postgres;
let pool: Pool;

beforeAll(async () => {
  server = await startPostgres();
  pool = new Pool({ connectionString: server.connectionString, max: 10 });
  pool.on('error', () => {});
});

afterAll(async () => {
  await pool.end();
  await server[Symbol.asyncDispose]();
});

/** One of several instances on the same database. */
function instance(provider: BatchProvider, pollMs: number) {
  const problems: string[] = [];
  const { connectionString } = server;
  const router = createRouter({
    providers: [provider],
    on: { warning: ({ message }) => problems.push(message) },
    batches: {
      storage: postgresStorage({ pool }),
      queue: pgBossQueue({ connectionString, pollMs, concurrency: 1, leaseMs: 2_000 }),
      limits: { leaseMs: 2_000 },
    },
  });
  return { router, problems, [Symbol.asyncDispose]: () => router.close() };
}

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function untilEnded({ router }: { readonly router: Router }, ids: readonly string[]): Promise<void> {
  for (let turn = 0; turn < 400; turn += 1) {
    const batches = await Promise.all(ids.map((id) => router.batches.retrieve(id)));
    if (batches.every(({ finalized_at: end }) => end !== null)) return;
    await wait(25);
  }
  throw new Error('Not all batches end');
}

describe('pg-boss', () => {
  it('spreads batches over instances that start at once, without anybody looking by himself', async () => {
    const slowly = (): BatchProvider =>
      batchProvider('up', async () => {
        await wait(150);
        return answer('ok');
      });
    const providers = [slowly(), slowly(), slowly()];
    await using first = instance(providers[0] ?? slowly(), 3_600_000);
    await using second = instance(providers[1] ?? slowly(), 3_600_000);
    await using third = instance(providers[2] ?? slowly(), 3_600_000);
    const instances = [first, second, third];
    await Promise.all(instances.map(({ router }) => router.batches.start()));
    const created = await Promise.all(Array.from({ length: 9 }, () => first.router.batches.create(chatBatch(8))));
    await untilEnded(
      second,
      created.map(({ id }) => id),
    );
    for (const { id } of created) {
      const results = await all(third.router.batches.results(id));
      expect(results.map(({ response }) => response?.status_code)).toEqual(Array.from({ length: 8 }, () => 200));
    }
    const calls = providers.map((provider) => provider.calls.length);
    expect(calls.reduce((sum, one) => sum + one, 0)).toBe(72);
    expect(calls.every((one) => one > 0)).toBe(true);
    expect(instances.flatMap(({ problems }) => problems)).toEqual([]);
  });

  it('finds what an instance left behind that died, and goes on after the database was restarted', async () => {
    const hanging = batchProvider('up', () => new Promise<never>(() => {}));
    const dying = instance(hanging, 200);
    await dying.router.batches.start();
    const { id } = await dying.router.batches.create(chatBatch(3));
    for (let turn = 0; turn < 200 && hanging.open === 0; turn += 1) await wait(20);
    expect(hanging.open).toBe(3);
    await server.crash();
    await dying.router.batches.stop({ graceMs: 0 }).catch(() => {});
    await using living = instance(batchProvider('up'), 200);
    await living.router.batches.start();
    await untilEnded(living, [id]);
    expect(await living.router.batches.retrieve(id)).toMatchObject({
      status: 'completed',
      request_counts: { completed: 3 },
    });
    await dying.router.close().catch(() => {});

    const told = dying.problems.filter((problem) => problem.startsWith('pg-boss or its database'));
    expect(told.length).toBeGreaterThan(0);
    // Names and codes, whatever shape pg-boss gives its errors: no addresses, and never just what type of thing it is.
    for (const problem of told)
      expect(problem).toMatch(/ \((?:\w*[Ee]rror|AggregateError|[A-Z0-9]{5,})(?:, [\w ]+)*\)$/);
    const { username, searchParams } = new URL(server.connectionString);
    for (const secret of [username, searchParams.get('host') ?? 'postgres://']) {
      expect(told.join('\n')).not.toContain(secret);
    }
  });

  it('that cannot start because its database is away is started again', async () => {
    const options = { connectionString: 'postgres://nobody@127.0.0.1:1/nothing', pollMs: 200 };
    const router = createRouter({
      providers: [batchProvider('up')],
      on: { warning: () => {} },
      batches: { storage: postgresStorage({ pool }), queue: pgBossQueue(options) },
    });
    try {
      await expect(router.batches.start()).rejects.toThrow();
      options.connectionString = server.connectionString;
      await router.batches.start();
      const { id } = await router.batches.create(chatBatch(2));
      await untilEnded({ router }, [id]);
    } finally {
      await router.close();
    }
  });

  describe('for a user that may not make schemas', () => {
    /** Makes a user that owns nothing, and starts a queue as it. */
    async function startAs(user: string, schema: string, grants: string): Promise<readonly string[]> {
      await pool.query(`CREATE ROLE ${user} LOGIN; ${grants}`);
      const connectionString = server.connectionString.replace('signalbox@', `${user}@`);
      const problems: string[] = [];
      const router = createRouter({
        providers: [batchProvider('up', () => Promise.resolve(answer('ok')))],
        on: { warning: ({ message }) => problems.push(message) },
        batches: {
          storage: postgresStorage({ pool }),
          queue: pgBossQueue({ connectionString, schema, pollMs: 3_600_000 }),
        },
      });
      try {
        await router.batches.start();
        const { id } = await router.batches.create(chatBatch(2));
        await untilEnded({ router }, [id]);
        return problems;
      } finally {
        await router.close();
      }
    }

    it('works where there is an empty schema for it', async () => {
      expect(await startAs('owner', 'of_owner', 'CREATE SCHEMA of_owner AUTHORIZATION owner')).toEqual([]);
    });

    it('works where everything is there already', async () => {
      const { connectionString } = server;
      const made = createRouter({
        providers: [batchProvider('up', () => Promise.resolve(answer('ok')))],
        batches: { storage: postgresStorage({ pool }), queue: pgBossQueue({ connectionString, schema: 'made' }) },
      });
      await made.batches.start();
      await made.close();
      const grants = `GRANT USAGE ON SCHEMA made TO reader;
        GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA made TO reader`;
      expect(await startAs('reader', 'made', grants)).toEqual([]);
    });

    it('says what the user has to be allowed where something is missing', async () => {
      for (const [user, grants] of [
        ['nobody', ''],
        ['guest', 'CREATE SCHEMA of_guest; GRANT USAGE ON SCHEMA of_guest TO guest'],
      ] as const) {
        await expect(startAs(user, `of_${user}`, grants)).rejects.toThrow(
          'The database of pgBossQueue: PostgreSQL: the user lacks a permission; let it use the schema, and create what is missing: the schema, or tables in it',
        );
      }
    });
  });
});
