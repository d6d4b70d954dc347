import { type AddressInfo, type Socket, createServer } from 'node:net';
import { type BatchesOptions, type Router, type StateStore, StorageError, createRouter } from 'signalbox';
import { pgBossQueue } from 'signalbox/pg-boss';
import { postgresStorage } from 'signalbox/postgres';
import { redisStore } from 'signalbox/redis';
import { describe, expect, it } from 'vitest';
import { ask, instant } from '../support/simulated.ts';

/** Milliseconds within which a program learns at its start that a store is not there. */
const SOON_MS = 5_000;
const CREDENTIALS = 'paul:hunter2';

/** A port where nobody listens. */
async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** A server that takes connections and never says a word. */
async function silentServer(): Promise<AsyncDisposable & { readonly port: number }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => undefined));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function routerOver(stores: { state?: StateStore; batches?: BatchesOptions }): Router {
  return createRouter({ providers: [instant()], ...stores });
}

/** What the start of batches says, if it says it soon. */
async function complaintOf(router: Router): Promise<StorageError> {
  const began = performance.now();
  const error: unknown = await router.batches.start().catch((thrown: unknown) => thrown);
  expect(performance.now() - began).toBeLessThan(SOON_MS);
  await router.close();
  if (!StorageError.isInstance(error)) throw new Error(`not a StorageError: ${String(error)}`);
  expect([error.message, error.stack].join()).not.toMatch(/paul|hunter2/);
  return error;
}

describe('the start of batches', () => {
  it('says that PostgreSQL is not there, and what to look at', async () => {
    const connectionString = `postgres://${CREDENTIALS}@127.0.0.1:${await closedPort()}/none`;
    const error = await complaintOf(routerOver({ batches: { storage: postgresStorage({ connectionString }) } }));
    expect([error.reason, error.code]).toEqual(['unavailable', 'ECONNREFUSED']);
    expect(error.message).toBe(
      'PostgreSQL: no server listens there; is the server running, and are host and port right? (ECONNREFUSED).',
    );
  });

  it('waits no longer than it was told for a PostgreSQL that says nothing', async () => {
    await using server = await silentServer();
    const connectionString = `postgres://${CREDENTIALS}@127.0.0.1:${server.port}/none`;
    const storage = postgresStorage({ connectionString, connectTimeoutMs: 200 });
    const error = await complaintOf(routerOver({ batches: { storage } }));
    expect(error.message).toBe(
      'PostgreSQL gave no connection within 200 ms; is the server up, and are host and port right?',
    );
  });

  it('says that the database of pg-boss is not there', async () => {
    const connectionString = `postgres://${CREDENTIALS}@127.0.0.1:${await closedPort()}/none`;
    const error = await complaintOf(routerOver({ batches: { queue: pgBossQueue({ connectionString }) } }));
    expect([error.reason, error.message]).toEqual([
      'unavailable',
      expect.stringMatching(/^The database of pgBossQueue: PostgreSQL: no server listens there/),
    ]);
  });

  it('says that a Redis is not there which the program cannot do without', async () => {
    const url = `redis://${CREDENTIALS}@127.0.0.1:${await closedPort()}`;
    const error = await complaintOf(routerOver({ state: redisStore({ url, required: true }) }));
    expect([error.reason, error.code]).toEqual(['unavailable', 'ECONNREFUSED']);
    expect(error.message).toBe(
      'Redis: no server listens there; is the server running, and are host and port right? (ECONNREFUSED).',
    );
  });

  it('waits no longer than it was told for a Redis that says nothing', async () => {
    await using server = await silentServer();
    const url = `redis://${CREDENTIALS}@127.0.0.1:${server.port}`;
    const error = await complaintOf(routerOver({ state: redisStore({ url, required: true, openTimeoutMs: 200 }) }));
    expect(error.message).toBe('Redis: no answer within 200 ms. Is the server up, and are host and port right?');
  });

  it('warns of a Redis that is not there and goes on, where nobody required it', async () => {
    const warnings: string[] = [];
    const url = `redis://${CREDENTIALS}@127.0.0.1:${await closedPort()}`;
    const state = redisStore({ url, warn: (message) => warnings.push(message) });
    const router = routerOver({ state });
    await router.batches.start();
    expect(warnings).toEqual([
      'Shared state cannot be reached, each process keeps its own: ' +
        'Redis: no server listens there; is the server running, and are host and port right? (ECONNREFUSED).',
    ]);
    expect((await router.chat(ask('Hello'))).choices).toHaveLength(1);
    await router.close();
  });

  it('asks a client of the program whether Redis is there', async () => {
    const client = { call: () => Promise.reject(new Error('WRONGPASS invalid username-password pair for paul')) };
    const error = await complaintOf(routerOver({ state: redisStore({ client, required: true }) }));
    expect(error.message).toBe('Redis: the server refused the user or the password (WRONGPASS).');
  });
});
