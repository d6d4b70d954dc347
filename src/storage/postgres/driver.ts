import type * as Pg from 'pg';
import { StorageError } from '../storage-error.ts';

/** A connection as the package `pg` gives it, with the little that is used of it. */
export interface PostgresClient {
  query(
    text: string,
    values?: unknown[],
  ): Promise<{ readonly rows: readonly Readonly<Record<string, unknown>>[]; readonly rowCount: number | null }>;
  /** @param destroy - True when the connection is not fit to be used again. */
  release(destroy?: boolean): void;
  on?(event: 'error', listener: (error: Error) => void): unknown;
  off?(event: 'error', listener: (error: Error) => void): unknown;
}

/** Connections as the `Pool` of the package `pg` gives them. */
export interface PostgresPool {
  connect(): Promise<PostgresClient>;
  end?(): Promise<void>;
}

/** What a pool of our own is made of. */
export interface PoolOptions {
  readonly connectionString: string;
  readonly connections: number;
  readonly connectTimeoutMs: number;
}

/** Milliseconds for which the driver goes on trying to connect after we have given up. */
const DRIVER_GRACE_MS = 500;

/** Loads the optional package `pg` and opens a pool. */
export async function openPool({
  connectionString,
  connections,
  connectTimeoutMs,
}: PoolOptions): Promise<PostgresPool> {
  const { Pool } = await importPg();
  const pool = new Pool({
    connectionString,
    max: connections,
    // Ours ends first, because its error says more; this one gives the socket up.
    connectionTimeoutMillis: connectTimeoutMs + DRIVER_GRACE_MS,
    keepAlive: true,
    application_name: 'signalbox',
    // A process may end although connections are idle; what matters is finished by then.
    allowExitOnIdle: true,
  });
  // A connection that breaks while nobody uses it is replaced by the next that is needed; nothing is lost.
  pool.on('error', () => undefined);
  return pool;
}

async function importPg(): Promise<typeof Pg> {
  try {
    return await import('pg');
  } catch {
    throw new StorageError('driver_missing', 'postgresStorage needs the package pg; run: npm install pg');
  }
}
