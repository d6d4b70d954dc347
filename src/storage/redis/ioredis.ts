import type * as Ioredis from 'ioredis';
import { StorageError } from '../../contracts/storage-error.ts';
import type { RedisConnection } from './redis-store.ts';

/** Milliseconds that connecting may take. */
const CONNECT_TIMEOUT_MS = 2_000;
/** Milliseconds after which a command is given up, so that those to a silent server do not pile up. */
const COMMAND_TIMEOUT_MS = 2_000;
/** Milliseconds between two tries to connect. */
const RECONNECT_MS = 500;

/**
 * Loads the optional package `ioredis` and connects. Where nobody answers it goes on trying by itself; commands fail at
 * once meanwhile instead of waiting.
 */
export async function connectIoredis(url: string): Promise<RedisConnection> {
  const { Redis } = await importIoredis();
  const client = new Redis(url, {
    lazyConnect: true,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    connectTimeout: CONNECT_TIMEOUT_MS,
    commandTimeout: COMMAND_TIMEOUT_MS,
    retryStrategy: () => RECONNECT_MS,
  });
  // Commands only say that there is no connection, and this event why. Unheard, it would end the process.
  let reason: unknown;
  client.on('error', (error) => (reason = error));
  client.on('ready', () => (reason = undefined));
  await client.connect().catch(() => undefined);
  return {
    send: ([name = '', ...values]) =>
      client.call(name, ...values).catch((error: unknown) => {
        throw reason ?? error;
      }),
    close() {
      client.disconnect();
      return Promise.resolve();
    },
  };
}

async function importIoredis(): Promise<typeof Ioredis> {
  try {
    return await import('ioredis');
  } catch {
    throw new StorageError('driver_missing', 'redisStore needs the package ioredis; run: npm install ioredis');
  }
}
