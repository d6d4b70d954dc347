/** Loads the optional package `pg` and interprets its errors. */
import { StorageError, type StorageErrorReason } from '../../contracts/storage-error.ts';
import type * as Pg from 'pg';

/** What PostgreSQL's codes mean for somebody who has to do something about it; the longest beginning counts. */
const MEANINGS: Readonly<Record<string, readonly [reason: StorageErrorReason, advice: string]>> = {
  '08': ['unavailable', 'the connection broke'],
  '25P03': ['busy', 'this process was stopped for too long in the middle of a transaction'],
  '25006': ['read_only', 'the server takes no changes; connect to the one that does'],
  '28': ['unavailable', 'the server refused the user or the password'],
  '3D000': ['unavailable', 'there is no such database; create it first'],
  '3F000': ['schema_changed', 'the schema is gone; start again to have it made'],
  '42501': [
    'read_only',
    'the user lacks a permission; let it use the schema, and create what is missing: the schema, or tables in it',
  ],
  '42703': ['schema_changed', 'a column is gone; restore the tables'],
  '42P01': ['schema_changed', 'a table is gone; restore the tables'],
  '53100': ['full', 'the server has no room left; make room on its disk'],
  '53300': ['unavailable', 'the server has no connection left; use smaller pools'],
  '53': ['unavailable', 'the server lacks something; look at its log'],
  '55P03': ['busy', 'another transaction held a row for too long'],
  '57014': ['busy', 'the statement took too long and was cancelled'],
  '57': ['unavailable', 'the server is starting, stopping or ended the connection'],
  '58': ['unavailable', 'the server had trouble with its disk; look at its log'],
  XX: ['corrupt', 'the server found damage; look at its log'],
  ECONNREFUSED: ['unavailable', 'no server listens there; is the server running, and are host and port right?'],
  ENOENT: ['unavailable', 'no server listens there; is the server running, and is the path right?'],
  ENOTFOUND: ['unavailable', 'there is no such host; is its name right?'],
  ETIMEDOUT: ['unavailable', 'the server does not answer; is it up, and does a firewall let this machine through?'],
};

/** What all other codes of the operating system mean. */
const BROKEN = ['unavailable', 'the connection broke'] as const;
/** What all other codes of the server mean. */
const UNFORESEEN = ['failed', 'an unexpected error occurred'] as const;

/** Codes after which the same transaction may work: others came in between. */
const AGAIN = new Set(['40001', '40P01']);

/** The code of an error of the driver. */
function codeOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}

/** True when nothing is wrong but that others came in between. */
export function mayTryAgain(error: unknown): boolean {
  return AGAIN.has(codeOf(error) ?? '');
}

/**
 * True when a connection is as good as before: the server answered, or the error is not about it at all. Not where the
 * server takes no changes: after a failover the same address leads to another one, and only a new connection gets there.
 */
export function isUsableAfter(error: unknown): boolean {
  const code = codeOf(error);
  if (code === undefined) return error instanceof RangeError;
  return /^[0-9A-Z]{5}$/.test(code) && !/^(?:08|57P|25P03|25006)/.test(code);
}

/**
 * What PostgreSQL says in our own words. Its own may repeat rows, and with them what users asked. Errors of ours stay as
 * they are.
 */
export function postgresFailure(error: unknown): unknown {
  if (StorageError.isInstance(error) || error instanceof RangeError) return error;
  const code = codeOf(error);
  if (code === undefined) {
    // The driver has no code for a connection that is closed or that cannot be had in time.
    const isDriver = error instanceof Error && /connect|terminat|timeout|closed|ended/i.test(error.message);
    return isDriver
      ? new StorageError(
          'unavailable',
          'PostgreSQL: the connection broke or could not be opened; is the server up, and has it free connections?',
        )
      : error;
  }
  const known = Object.keys(MEANINGS)
    .filter((start) => code.startsWith(start))
    .sort((left, right) => right.length - left.length)[0];
  const [reason, advice] = MEANINGS[known ?? ''] ?? (/^E[A-Z]+$/.test(code) ? BROKEN : UNFORESEEN);
  return new StorageError(reason, `PostgreSQL: ${advice} (${code}).`, code);
}

/** A connection as the package `pg` gives it, with the little that is used of it. */
export interface PostgresClient {
  /** Runs one statement; `values` stand for `$1` and so on. Rejects with the driver's error. */
  query(
    text: string,
    values?: unknown[],
  ): Promise<{ readonly rows: readonly Readonly<Record<string, unknown>>[]; readonly rowCount: number | null }>;
  /** @param destroy - True when the connection is not fit to be used again. */
  release(destroy?: boolean): void;
  /** Calls back when the connection breaks while it is idle. */
  on?(event: 'error', listener: (error: Error) => void): unknown;
  /** Ends what {@link PostgresClient.on} began. */
  off?(event: 'error', listener: (error: Error) => void): unknown;
}

/** Connections as the `Pool` of the package `pg` gives them. */
export interface PostgresPool {
  /** A connection, which is given back by its `release`. */
  connect(): Promise<PostgresClient>;
  /** Closes all connections. Not called for a pool that the program has made itself. */
  end?(): Promise<void>;
  /** Calls back with each connection that is handed out: one that breaks just then must not end the process. */
  on?(event: 'acquire', listener: (client: PostgresClient) => void): unknown;
  /** Ends what {@link PostgresPool.on} began. */
  off?(event: 'acquire', listener: (client: PostgresClient) => void): unknown;
}

/** What a pool of our own is made of. */
interface PoolOptions {
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
  pool.on('error', ignore);
  return heard(pool);
}

/**
 * Hears connections that break in the moment in which they are handed out, when neither the pool nor we listen to them
 * yet: unheard, that would end the process. Statements on them fail. May be called again for the same pool.
 */
export function heard<Pool extends PostgresPool>(pool: Pool): Pool {
  pool.off?.('acquire', hear);
  pool.on?.('acquire', hear);
  return pool;
}

function hear(client: PostgresClient): void {
  client.off?.('error', ignore);
  client.on?.('error', ignore);
}

function ignore(): void {}

async function importPg(): Promise<typeof Pg> {
  try {
    return await import('pg');
  } catch {
    throw new StorageError('driver_missing', 'postgresStorage needs the package pg; run: npm install pg');
  }
}
