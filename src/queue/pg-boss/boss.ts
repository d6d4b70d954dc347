import type * as PgBossPackage from 'pg-boss';
import { ConfigError } from '../../protocol/router-error.ts';
import { postgresFailure } from '../../storage/postgres/driver.ts';
import { StorageError } from '../../contracts/storage-error.ts';

/** The little of pg-boss that is used: one queue of calls that wake somebody. */
export interface WakeCalls {
  /** Sends a call. At most one of a name waits at a time. */
  send(name: string, afterMs: number): Promise<void>;
  /** Hears the calls, each of which reaches one process. */
  hear(onCall: () => Promise<void>): Promise<void>;
  close(): Promise<void>;
}

/** Where calls go through. */
export interface WakeCallOptions {
  readonly connectionString: string;
  readonly schema: string;
  readonly queue: string;
  readonly onError: (error: Error) => void;
}

/** Seconds between two looks where the database does not tell of new calls by itself. */
const POLL_SECONDS = 1;
/** Seconds after which a call that was heard is forgotten. */
const KEPT_SECONDS = 60;
/** Milliseconds to wait for a connection. */
const CONNECT_TIMEOUT_MS = 4_000;

/** Loads the optional package pg-boss and opens its queue. May be called by many processes at the same time. */
export async function openWakeCalls(options: WakeCallOptions): Promise<WakeCalls> {
  const { connectionString, schema, queue, onError } = options;
  const { PgBoss } = await importPgBoss();
  const boss = new PgBoss({
    connectionString,
    schema,
    application_name: 'signalbox',
    useListenNotify: true,
    max: 4,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  });
  boss.on('error', onError);
  const close = (): Promise<void> => boss.stop({ graceful: false, close: true });
  try {
    await boss.start();
    // Of calls with the same name one waits at a time: more would wake nobody else.
    await boss.createQueue(queue, { policy: 'short', notify: true, retryLimit: 0, deleteAfterSeconds: KEPT_SECONDS });
  } catch (error) {
    await close().catch(() => undefined);
    throw namedFailure(error);
  }
  return {
    async send(name, afterMs) {
      await boss.send(queue, null, { singletonKey: name, startAfter: Math.ceil(afterMs / 1_000) });
    },
    async hear(onCall) {
      await boss.work(queue, { pollingIntervalSeconds: POLL_SECONDS }, onCall);
    },
    close,
  };
}

/** The driver's own words may name the user. */
function namedFailure(error: unknown): unknown {
  const failure = postgresFailure(error);
  if (!StorageError.isInstance(failure)) return failure;
  return new StorageError(failure.reason, `The database of pgBossQueue: ${failure.message}`, failure.code);
}

async function importPgBoss(): Promise<typeof PgBossPackage> {
  try {
    return await import('pg-boss');
  } catch {
    throw new ConfigError([
      { path: 'batches.queue', problem: 'is pgBossQueue, which needs the package pg-boss: npm install pg-boss' },
    ]);
  }
}
