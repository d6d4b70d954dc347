import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { Pool } from 'pg';
import { openPool, type PostgresPool } from '../../src/storage/postgres/driver.ts';
import { postgresKeys } from '../../src/storage/postgres/postgres-keys.ts';

/** A message of PostgreSQL's wire protocol, version 3. */
function message(type: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.write(type, 'latin1');
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

const AUTHENTICATED = message('R', Buffer.from([0, 0, 0, 0]));
const READY = message('Z', Buffer.from('I'));
const THROWN_OUT = message('E', Buffer.from('SFATAL\0VFATAL\0C57P01\0Mterminating connection\0\0'));

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

/** A server that throws everybody out in the very packet in which it lets them in. */
async function startServer(): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('data', () => socket.end(Buffer.concat([AUTHENTICATED, READY, THROWN_OUT])));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing.push(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port } = server.address() as { port: number };
  return `postgres://somebody@127.0.0.1:${port}/batches`;
}

/** Asks such a server something, and gives what nobody heard. */
async function unheardBy(pool: PostgresPool): Promise<readonly unknown[]> {
  const unheard: unknown[] = [];
  const hear = (error: unknown): void => void unheard.push(error);
  process.on('uncaughtException', hear);
  closing.push(async () => void process.off('uncaughtException', hear));
  const client = await pool.connect();
  await expect(client.query('SELECT 1')).rejects.toThrow();
  client.release(true);
  return unheard;
}

describe('a connection that breaks while it is handed out', () => {
  it('fails what is asked of it and does not end the process', async () => {
    const pool = await openPool({ connectionString: await startServer(), connections: 1, connectTimeoutMs: 5_000 });
    closing.push(async () => pool.end?.());
    expect(await unheardBy(pool)).toEqual([]);
  });

  it('does not end the process either where the host gives the pool', async () => {
    const pool = new Pool({ connectionString: await startServer(), max: 1 });
    closing.push(async () => pool.end());
    const keys = [postgresKeys({ pool }), postgresKeys({ pool })];
    for (const store of keys) await expect(store.find('0'.repeat(64))).rejects.toThrow('PostgreSQL');
    expect(pool.listenerCount('acquire')).toBe(1);
    expect(await unheardBy(pool)).toEqual([]);
  });
});
