/** Loads the optional package `pg` and interprets its errors. */
import { StorageError } from '../../contracts/storage-error.ts';
import { CONNECTION_MEANINGS, type CodeMeaning, meaningOf } from '../server-address.ts';
import type * as Pg from 'pg';

/** What PostgreSQL's codes mean for somebody who has to do something about it; the longest beginning counts. */
const MEANINGS: Readonly<Record<string, CodeMeaning>> = {
  ...CONNECTION_MEANINGS,
  '08': ['unavailable', 'the connection broke'],
  '25P03': ['busy', 'this process was stopped for too long in the middle of a transaction'],
  '25006': ['read_only', 'the server takes no changes; connect to the one that does'],
  '28': [
    'unavailable',
    'the server does not let this user in from here; look at its pg_hba.conf, and whether it requires TLS (sslmode=require)',
  ],
  '28P01': ['unavailable', 'the server refused the user or the password'],
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
};

const NO_PASSWORD =
  'the server requires a password, and the address has none; write postgres://user:password@host/database';

/**
 * What the driver and poolers say in words alone: without a code, or with that of any breach of protocol (08P01). Only
 * what they mean is said, since the words may have the user or the database in them.
 */
const WORDS: readonly (readonly [words: RegExp, advice: string])[] = [
  [/client password must be a (?:non-empty )?string|no password supplied|password is required/i, NO_PASSWORD],
  [
    /password authentication failed|SASL authentication failed|auth(?:entication)? failed/i,
    'the server refused the user or the password',
  ],
  [
    /does not support SSL/i,
    'the address asks for TLS, which the server does not speak; leave out sslmode or ssl, or switch TLS on there',
  ],
  [
    /SSL required|SSL connection|TLS/i,
    'the server and the address do not agree on TLS; look at sslmode in the address',
  ],
  [/no such database/i, 'there is no such database; create it, or name it to the pooler'],
  [/no such user|no such role/i, 'the pooler does not know the user; add it there'],
  [
    /no more connections allowed|too many (?:clients|connections)/i,
    'no connection is left; use smaller pools, or raise the limit of the server or pooler',
  ],
  [
    /unsupported startup parameter/i,
    'the pooler refuses a parameter of the connection; name it in its ignore_startup_parameters',
  ],
  [
    /query_wait_timeout|pooler is shut|disabled|paused|server login/i,
    'the pooler cannot reach its server; look at its log',
  ],
  [/SASL|SCRAM/i, 'the server and the driver could not agree on a password; is the one in the address right?'],
];

/** What follows from the words of an error. */
function adviceIn(error: unknown): string | undefined {
  const message = error instanceof Error ? error.message : '';
  return WORDS.find(([words]) => words.test(message))?.[1];
}

/** What all other codes of the operating system mean. */
const BROKEN = ['unavailable', 'the connection broke'] as const;
/** What all other codes of the server mean. */
const UNFORESEEN = ['failed', 'an unexpected error occurred'] as const;

/** Codes after which the same transaction may work: others came in between. */
const AGAIN = new Set(['40001', '40P01']);

/**
 * Codes of tables or schemas that another process has made in the same moment: what made them for it is seen by the next
 * try. A pooler in transaction mode may bring it about although the first process to come holds a lock.
 */
const MADE_MEANWHILE = new Set(['23505', '40001', '42710', '42P06', '42P07', '42701', 'XX000']);

/** True when another process has made the same tables in the same moment. */
export function isMadeMeanwhile(error: unknown): boolean {
  return MADE_MEANWHILE.has(codeOf(error) ?? '');
}

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
  const advised = code === undefined || code === '08P01' ? adviceIn(error) : undefined;
  if (advised !== undefined) {
    return new StorageError('unavailable', `PostgreSQL: ${advised}${code === undefined ? '' : ` (${code})`}.`, code);
  }
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
  const [reason, advice] = meaningOf(MEANINGS, code) ?? (/^E[A-Z]+$/.test(code) ? BROKEN : UNFORESEEN);
  return new StorageError(reason, `PostgreSQL: ${advice} (${code}).`, code);
}

/** The same for what failed before there was a connection: whatever that is, the database cannot be used now. */
export function connectFailure(error: unknown): StorageError {
  const failure = postgresFailure(error);
  if (StorageError.isInstance(failure) && failure.reason !== 'failed') return failure;
  const name = codeOf(error) ?? (error instanceof Error ? error.name : typeof error);
  const message = `PostgreSQL: no connection could be opened (${name}); look at the address, and at the log of the server.`;
  return new StorageError('unavailable', message, codeOf(error));
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
