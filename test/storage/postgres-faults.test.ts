import { Pool } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ConfigError } from '../../src/protocol/router-error.ts';
import type { BatchStore } from '../../src/contracts/batch-store.ts';
import type { PostgresPool } from '../../src/storage/postgres/driver.ts';
import { postgresStorage } from '../../src/storage/postgres/postgres-storage.ts';
import { type PostgresStorageOptions } from '../../src/storage/postgres/schema.ts';
import { StorageError } from '../../src/contracts/storage-error.ts';
import {
  answered,
  claim,
  draftRecord,
  makeBatch,
  ITEM_ERROR,
  resultIdOf,
} from '../../src/testing/batch-store-checks/check.ts';
import { type Postgres, startPostgres } from '../support/postgres.ts';

let server: Postgres;
let admin: Pool;
let schemas = 0;

beforeAll(async () => {
  server = await startPostgres();
  admin = new Pool({ connectionString: server.connectionString, max: 5 });
  admin.on('error', () => undefined);
});

afterAll(async () => {
  await admin.end();
  await server[Symbol.asyncDispose]();
});

function newSchema(): string {
  schemas += 1;
  return `schema_${schemas}`;
}

async function opened(options: PostgresStorageOptions): Promise<BatchStore & AsyncDisposable> {
  const storage = postgresStorage(options);
  try {
    await storage.open();
  } catch (error) {
    await storage.close();
    throw error;
  }
  return { ...storage, [Symbol.asyncDispose]: () => storage.close() };
}

async function failureOf(promise: Promise<unknown>): Promise<StorageError> {
  const error = await promise.then(
    () => expect.unreachable('it does not fail'),
    (thrown: unknown) => thrown,
  );
  if (!StorageError.isInstance(error)) throw error;
  return error;
}

/** A pool whose connections answer a statement as they are told to. */
function fakePool(answer: (text: string, nth: number) => Promise<never> | undefined): PostgresPool & {
  readonly released: boolean[];
} {
  let asked = 0;
  const released: boolean[] = [];
  return {
    released,
    connect: () =>
      Promise.resolve({
        query(text) {
          asked += 1;
          return answer(text, asked) ?? Promise.resolve({ rows: [{ now: '5' }], rowCount: 1 });
        },
        release: (destroy = false) => released.push(destroy),
      }),
  };
}

/** A pool whose connections ask so much and then nothing more, like those of a process that is stopped. */
function stoppingPool(pool: Pool, queries: number): PostgresPool {
  return {
    async connect() {
      const client = await pool.connect();
      let asked = 0;
      return {
        query(text, values) {
          asked += 1;
          return asked > queries ? new Promise(() => undefined) : client.query(text, values);
        },
        release: (destroy) => client.release(destroy),
        on: (event, listener) => client.on(event, listener),
        off: (event, listener) => client.off(event, listener),
      };
    },
  };
}

function rejected(code: string, message = 'duplicate key: (my prompt)'): Promise<never> {
  return Promise.reject(Object.assign(new Error(message), { code, detail: 'Failing row contains (my prompt).' }));
}

describe('the tables in PostgreSQL', () => {
  it('are made once when many open an empty schema at the same time', async () => {
    const schema = newSchema();
    const { connectionString } = server;
    const storages = await Promise.all(
      Array.from({ length: 8 }, () => opened({ connectionString, schema, connections: 2 })),
    );
    for (const storage of storages) await storage.close();
    const { rows } = await admin.query(`SELECT version FROM ${schema}.migrations`);
    expect(rows).toEqual([{ version: 1 }, { version: 2 }, { version: 3 }, { version: 4 }]);
  });

  it('are kept apart by schema, whatever the schema is called', async () => {
    await using one = await opened({ pool: admin, schema: 'user' });
    await using two = await opened({ pool: admin, schema: 'select' });
    await makeBatch(one);
    expect(await two.find('acme', 'batch_1')).toBeUndefined();
  });

  it('are refused when they are newer', async () => {
    const schema = newSchema();
    await (await opened({ pool: admin, schema })).close();
    await admin.query(`INSERT INTO ${schema}.migrations (version) VALUES (99)`);
    const error = await failureOf(opened({ pool: admin, schema }));
    expect([error.reason, error.message]).toEqual(['schema_too_new', expect.stringContaining('version 99')]);
  });

  it('are refused when they are older and may not be changed', async () => {
    const schema = newSchema();
    expect((await failureOf(opened({ pool: admin, schema, migrate: false }))).reason).toBe('schema_too_old');
    const { rows } = await admin.query('SELECT 1 FROM pg_namespace WHERE nspname = $1', [schema]);
    expect(rows).toEqual([]);
    await (await opened({ pool: admin, schema })).close();
    await (await opened({ pool: admin, schema, migrate: false })).close();
  });

  it('are refused when somebody changed them', async () => {
    const schema = newSchema();
    await using storage = await opened({ pool: admin, schema });
    await admin.query(`ALTER TABLE ${schema}.items DROP COLUMN lease_until`);
    const error = await failureOf(opened({ pool: admin, schema }));
    expect([error.reason, error.message]).toEqual(['schema_changed', expect.stringContaining('items.lease_until')]);
    expect((await failureOf(storage.claimItems('a', 'b', { limit: 1, leaseMs: 1, token: 't' }))).reason).toBe(
      'schema_changed',
    );
  });

  it('need no permission but to read and write when they are there', async () => {
    const schema = newSchema();
    await (await opened({ pool: admin, schema })).close();
    await admin.query(`CREATE ROLE plain LOGIN; GRANT USAGE ON SCHEMA ${schema} TO plain;
      GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO plain`);
    const connectionString = server.connectionString.replace('signalbox@', 'plain@');
    await using storage = await opened({ connectionString, schema });
    await makeBatch(storage);
    expect((await failureOf(opened({ connectionString, schema: newSchema() }))).reason).toBe('read_only');
  });

  it('make no batch of a draft that a crash of the server has taken requests from', async () => {
    const schema = newSchema();
    await using storage = await opened({ pool: admin, schema });
    await storage.openDraft('acme', 'batch_1');
    const items = ['a', 'b'].map((customId, index) => ({ index, customId, body: '{}' }));
    await storage.addItems('acme', 'batch_1', items);
    await admin.query(`DELETE FROM ${schema}.items WHERE custom_id = 'b'`);
    const record = draftRecord({ account: 'acme', id: 'batch_1', counts: { total: 2, completed: 0, failed: 0 } });
    expect((await failureOf(storage.publish(record, []))).reason).toBe('unavailable');
    expect(await storage.find('acme', 'batch_1')).toBeUndefined();
  });

  it('show what a deletion that broke off left behind to nobody, and are swept of it', async () => {
    const schema = newSchema();
    await using storage = await opened({ pool: admin, schema });
    await makeBatch(storage, { record: { status: 'failed' } });
    await admin.query(`UPDATE ${schema}.batches SET stage = 'deleted'`);
    expect(await storage.items('acme', 'batch_1', -1, 10)).toEqual([]);
    expect(await storage.sweep({ draftMs: 600_000, limit: 10 })).toBe(1);
    const { rows } = await admin.query(`SELECT count(*)::int AS left FROM ${schema}.items`);
    expect(rows).toEqual([{ left: 0 }]);
  });
});

describe('PostgreSQL in trouble', () => {
  it('loses nothing that was told to be done when the server crashes again and again', async () => {
    const schema = newSchema();
    await using storage = await opened({ connectionString: server.connectionString, schema });
    await makeBatch(storage, { items: 60 });
    const stored = new Set<number>();
    let failures = 0;
    const work = async (name: string): Promise<void> => {
      for (let turn = 0; stored.size < 60 && turn < 2_000; turn += 1) {
        try {
          const token = `${name}-${turn}`;
          const claimed = await claim(storage, token, { limit: 2, leaseMs: 200 });
          const outcomes = claimed.map(({ index }) => answered(index, token));
          for (const index of await storage.storeOutcomes('acme', 'batch_1', token, outcomes)) stored.add(index);
          if (claimed.length === 0 && (await storage.find('acme', 'batch_1'))?.counts.completed === 60) return;
        } catch (error) {
          expect(StorageError.isInstance(error) && error.reason, String(error)).toBe('unavailable');
          failures += 1;
        }
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    };
    const workers = ['a', 'b', 'c'].map(work);
    for (let crash = 0; crash < 3; crash += 1) await server.crash();
    await Promise.all(workers);
    expect(failures).toBeGreaterThan(0);
    const outcomes = await storage.outcomes('acme', 'batch_1', -1, 100);
    expect(outcomes).toHaveLength(60);
    expect([...stored].filter((index) => !outcomes.some((outcome) => outcome.index === index))).toEqual([]);
    expect(await storage.recount('acme', 'batch_1')).toEqual({ completed: 60, failed: 0 });
  });

  it('does not end the process when idle and used connections are terminated', async () => {
    const schema = newSchema();
    await using storage = await opened({ connectionString: server.connectionString, schema });
    await makeBatch(storage);
    for (let turn = 0; turn < 5; turn += 1) {
      const used = storage.now().catch(() => undefined);
      await admin.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'signalbox'`);
      await used;
    }
    await expect.poll(() => storage.find('acme', 'batch_1').catch(() => undefined)).toBeDefined();
  });

  it('frees the rows of a process that stopped in the middle of a transaction', async () => {
    const schema = newSchema();
    await using storage = await opened({ pool: admin, schema });
    await makeBatch(storage);
    await claim(storage, 't');
    const stopping = postgresStorage({ pool: stoppingPool(admin, 2), schema, statementTimeoutMs: 2_000 });
    const stopped = failureOf(stopping.failRemaining('acme', 'batch_1', ITEM_ERROR, resultIdOf));
    const locks = `SELECT 1 FROM pg_locks WHERE mode = 'RowShareLock'`;
    await expect.poll(async () => (await admin.query(locks)).rowCount).toBeGreaterThan(0);
    expect(await storage.storeOutcomes('acme', 'batch_1', 't', [answered(0)])).toEqual([0]);
    expect((await stopped).reason).toBe('busy');
  });

  it('gives up on a row that somebody else holds for too long', async () => {
    const schema = newSchema();
    await using storage = await opened({ pool: admin, schema, statementTimeoutMs: 100 });
    await makeBatch(storage);
    await claim(storage, 't');
    const holder = await admin.connect();
    try {
      await holder.query(`BEGIN; SELECT 1 FROM ${schema}.batches FOR UPDATE`);
      const error = await failureOf(storage.failRemaining('acme', 'batch_1', ITEM_ERROR, resultIdOf));
      expect([error.reason, error.code]).toEqual(['busy', '57014']);
    } finally {
      await holder.query('ROLLBACK');
      holder.release();
    }
    expect(await storage.storeOutcomes('acme', 'batch_1', 't', [answered(0)])).toEqual([0]);
  });

  it('keeps no connection after a thousand failures', async () => {
    const schema = newSchema();
    const pool = new Pool({ connectionString: server.connectionString, max: 4 });
    const storage = postgresStorage({ pool, schema });
    await storage.open();
    const failing = Array.from({ length: 1_000 }, () => storage.addItems('acme', 'none', []).catch(() => 'failed'));
    expect(new Set(await Promise.all(failing))).toEqual(new Set(['failed']));
    expect([pool.totalCount, pool.idleCount, pool.waitingCount]).toEqual([4, 4, 0]);
    await pool.end();
  });

  it('is tried again when others came in between', async () => {
    const pool = fakePool((text, nth) => (nth < 4 && !text.startsWith('ROLLBACK') ? rejected('40001') : undefined));
    expect(await postgresStorage({ pool }).now()).toBe(5);
    expect(pool.released).toEqual([false, false, false, false]);
  });

  it('is not tried for ever', async () => {
    const pool = fakePool(() => rejected('40P01'));
    const error = await failureOf(postgresStorage({ pool }).now());
    expect(error.code).toBe('40P01');
    expect(pool.released).toHaveLength(8);
  });

  it('never keeps anybody waiting, and throws away a connection that does not answer', async () => {
    const pool = fakePool(() => new Promise(() => undefined));
    const storage = postgresStorage({ pool, statementTimeoutMs: 1 });
    expect((await failureOf(storage.now())).reason).toBe('busy');
    expect(pool.released).toEqual([true]);
    const silent = postgresStorage({ pool: { connect: () => new Promise(() => undefined) }, connectTimeoutMs: 10 });
    expect((await failureOf(silent.now())).reason).toBe('busy');
  });

  it.each([
    ['53100', 'full', false],
    ['25006', 'read_only', true],
    ['57P01', 'unavailable', true],
    ['53300', 'unavailable', false],
    ['23505', 'failed', false],
    ['XX001', 'corrupt', false],
    ['ECONNREFUSED', 'unavailable', true],
  ])('says what %s means and repeats no rows', async (code, reason, destroyed) => {
    const pool = fakePool(() => rejected(code));
    const error = await failureOf(postgresStorage({ pool }).now());
    expect([error.reason, error.code, pool.released]).toEqual([reason, code, [destroyed]]);
    expect(JSON.stringify([error.message, error.stack, error.cause, error])).not.toContain('prompt');
  });

  it('is told when nobody listens there', async () => {
    const storage = postgresStorage({ connectionString: 'postgres://user:secret@127.0.0.1:1/none' });
    const error = await failureOf(storage.open());
    expect([error.reason, error.message.includes('secret')]).toEqual(['unavailable', false]);
    await storage.close();
    expect((await failureOf(storage.now())).reason).toBe('not_open');
  });
});

describe('postgresStorage', () => {
  it.each([
    [{}, 'needs either'],
    [{ connectionString: 'mysql://host' }, 'must begin with postgres://'],
    [{ connectionString: 'postgres://host', schema: 'a"; DROP' }, 'must be a name'],
    [{ connectionString: 'postgres://host', connections: 0 }, 'must be a whole number'],
  ])('refuses %o', (options, told) => {
    expect(() => postgresStorage(options)).toThrow(ConfigError);
    expect(() => postgresStorage(options)).toThrow(told);
  });
});
