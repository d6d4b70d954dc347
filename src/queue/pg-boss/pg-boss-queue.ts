/** The task queue over pg-boss, for many instances. */
import { checkShape } from '../../platform/check-options.ts';
import { valueThat, type OptionShape, nonEmptyString, wholeNumber } from '../../options/values.ts';
import type { Timer } from '../../platform/environment.ts';
import { TASK_PUMP_OPTIONS, TaskPump, type TaskPumpOptions, problemName, runDueTasks } from '../task-pump.ts';
import type { QueuePorts, TaskHandler, TaskQueue, TaskQueueFactory } from '../../contracts/task-queue.ts';
import type * as PgBossPackage from 'pg-boss';
import { ConfigError } from '../../protocol/router-error.ts';
import { retry, type RetryPolicy } from '../../platform/retry.ts';
import { isMadeMeanwhile, postgresFailure } from '../../storage/postgres/driver.ts';
import { addressProblem } from '../../storage/server-address.ts';
import { StorageError } from '../../contracts/storage-error.ts';

/** Options of {@link pgBossQueue}. */
export interface PgBossQueueOptions extends TaskPumpOptions {
  /** The PostgreSQL through which instances wake each other: best the one where the batches are. */
  readonly connectionString: string;
  /** Schema of pg-boss. Default `signalbox_queue`. */
  readonly schema?: string | undefined;
  /** Name of the queue in pg-boss. Default `signalbox-tasks`. */
  readonly queue?: string | undefined;
  /**
   * Longest time in milliseconds between two looks into the storage, for tasks that no call told of: those of instances
   * that died, and those of instances that only take requests. Default 10,000.
   */
  readonly pollMs?: number | undefined;
}

const OPTIONS: OptionShape<PgBossQueueOptions> = {
  ...TASK_PUMP_OPTIONS,
  connectionString: valueThat(
    'an address that begins with postgres://',
    (value) => typeof value === 'string' && /^postgres(?:ql)?:\/\//.test(value),
  ),
  schema: nonEmptyString,
  queue: nonEmptyString,
  pollMs: wholeNumber(1),
};

const DEFAULT_POLL_MS = 10_000;
/** Milliseconds after which a call that found no room is made again. */
const NO_ROOM_MS = 1_000;
/** Name of the call for tasks that are due now. */
const NOW = 'now';

/**
 * Runs tasks on many instances, with pg-boss to decide which of them wakes for which. The tasks themselves stay in the
 * storage of the batches, saved together with what they follow from: pg-boss carries calls such as "something is due",
 * and losing all of them costs a few seconds.
 *
 * @example
 * ```ts
 * import { pgBossQueue } from 'signalbox/pg-boss';
 * import { postgresStorage } from 'signalbox/postgres';
 *
 * const router = createRouter({
 *   batches: { storage: postgresStorage({ connectionString }), queue: pgBossQueue({ connectionString }) },
 * });
 * ```
 */
export function pgBossQueue(options: PgBossQueueOptions): TaskQueueFactory {
  checkShape<PgBossQueueOptions>(OPTIONS, options, 'pgBossQueue');
  const problem = addressProblem(options.connectionString);
  if (problem !== undefined) throw new ConfigError([{ path: 'pgBossQueue.connectionString', problem }]);
  return (ports) => new PgBossQueue(ports, options);
}

class PgBossQueue implements TaskQueue {
  readonly #ports: QueuePorts;
  readonly #options: PgBossQueueOptions;
  #calls: WakeCalls | undefined;
  #pump: TaskPump | undefined;
  #timer: Timer | undefined;

  constructor(ports: QueuePorts, options: PgBossQueueOptions) {
    this.#ports = ports;
    this.#options = options;
  }

  async start(handler: TaskHandler): Promise<void> {
    if (this.#pump !== undefined) return;
    const { connectionString, schema = 'signalbox_queue', queue = 'signalbox-tasks' } = this.#options;
    const pump = new TaskPump(this.#ports, handler, this.#options);
    this.#pump = pump;
    pump.onSettled = (againAfterMs) => this.#call(againAfterMs ?? 0);
    const onError = (error: Error): void => this.#complain(error);
    try {
      this.#calls = await openWakeCalls({ connectionString, schema, queue, onError });
      await this.#calls.hear(() => this.#take(pump));
    } catch (error) {
      // The next start begins anew.
      await this.stop(0);
      throw error;
    }
    this.#poll(pump);
    this.#call(0);
  }

  wake(): void {
    this.#call(0);
  }

  tick(handler: TaskHandler, budgetMs: number): Promise<void> {
    return runDueTasks(this.#ports, handler, budgetMs, this.#options);
  }

  async stop(graceMs: number): Promise<void> {
    const [pump, calls] = [this.#pump, this.#calls];
    this.#pump = undefined;
    this.#calls = undefined;
    this.#ports.environment.clearTimer(this.#timer);
    await pump?.stop(graceMs);
    // What was given back is for the others.
    await calls?.send(NOW, 0).catch(() => undefined);
    await calls?.close();
  }

  /** Takes what is due. When there may be more than there is room for, somebody else is called. */
  async #take(pump: TaskPump): Promise<void> {
    if (this.#pump !== pump) return;
    const { room } = pump;
    try {
      if ((await pump.fill()) >= room) this.#call(room > 0 ? 0 : NO_ROOM_MS);
    } catch (error) {
      this.#complain(error);
    }
  }

  /** Calls whoever is free, at some time. Calls for the same second are one. */
  #call(afterMs: number): void {
    const { environment } = this.#ports;
    const name = afterMs <= 0 ? NOW : `at ${Math.ceil((environment.wallClock() + afterMs) / 1_000)}`;
    this.#calls?.send(name, afterMs).catch((error: unknown) => this.#complain(error));
  }

  #poll(pump: TaskPump): void {
    const { pollMs = DEFAULT_POLL_MS } = this.#options;
    this.#timer = this.#ports.environment.setTimer(() => {
      void this.#take(pump).finally(() => {
        if (this.#pump === pump) this.#poll(pump);
      });
    }, pollMs);
  }

  #complain(error: unknown): void {
    this.#ports.onProblem(`pg-boss or its database has a problem (${problemName(error)})`);
  }
}

/** The little of pg-boss that is used: one queue of calls that wake somebody. */
interface WakeCalls {
  /** Sends a call. At most one of a name waits at a time. */
  send(name: string, afterMs: number): Promise<void>;
  /** Hears the calls, each of which reaches one process. */
  hear(onCall: () => Promise<void>): Promise<void>;
  close(): Promise<void>;
}

/** Where calls go through. */
interface WakeCallOptions {
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
async function openWakeCalls(options: WakeCallOptions): Promise<WakeCalls> {
  const { queue } = options;
  const { PgBoss } = await importPgBoss();
  const boss = await startedBoss(PgBoss, options);
  return {
    async send(name, afterMs) {
      await boss.send(queue, null, { singletonKey: name, startAfter: Math.ceil(afterMs / 1_000) });
    },
    async hear(onCall) {
      await boss.work(queue, { pollingIntervalSeconds: POLL_SECONDS }, onCall);
    },
    close: () => closed(boss),
  };
}

/** Another process may have made the same tables meanwhile. */
const ONCE_MORE: RetryPolicy = { tries: 3, waitAfter: (error) => (isMadeMeanwhile(error) ? 100 : undefined) };

/**
 * Starts pg-boss. It would make its schema also where it is there, which a user that may not make schemas is refused; so
 * such a user gets a second try without.
 */
async function startedBoss(
  PgBoss: typeof PgBossPackage.PgBoss,
  options: WakeCallOptions,
): Promise<PgBossPackage.PgBoss> {
  try {
    return await retry(() => startBoss(PgBoss, { ...options, createSchema: true }), ONCE_MORE);
  } catch (error) {
    if (!isRefused(error)) throw namedFailure(error);
    return startBoss(PgBoss, { ...options, createSchema: false }).catch((again: unknown) => {
      // Where the schema is not there, what is missing is the permission to make it.
      throw namedFailure(isRefused(again) ? again : error);
    });
  }
}

async function startBoss(
  PgBoss: typeof PgBossPackage.PgBoss,
  { connectionString, schema, queue, onError, createSchema }: WakeCallOptions & { readonly createSchema: boolean },
): Promise<PgBossPackage.PgBoss> {
  const boss = new PgBoss({
    connectionString,
    schema,
    createSchema,
    application_name: 'signalbox',
    useListenNotify: true,
    max: 4,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  });
  boss.on('error', onError);
  try {
    await boss.start();
    // Of calls with the same name one waits at a time: more would wake nobody else.
    await boss.createQueue(queue, { policy: 'short', notify: true, retryLimit: 0, deleteAfterSeconds: KEPT_SECONDS });
    return boss;
  } catch (error) {
    await closed(boss).catch(() => undefined);
    throw error;
  }
}

function closed(boss: PgBossPackage.PgBoss): Promise<void> {
  return boss.stop({ graceful: false, close: true });
}

/** True where the database refused a statement because the user may not do that (`insufficient_privilege`). */
function isRefused(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && error.code === '42501';
}

/** The driver's own words may name the user. */
function namedFailure(error: unknown): unknown {
  const failure = postgresFailure(error);
  if (!StorageError.isInstance(failure)) return failure;
  return new StorageError(failure.reason, `The database of pgBossQueue: ${failure.message}`, failure.code);
}

/** @throws ConfigError where pg-boss is not installed, or is older than 12. */
async function importPgBoss(): Promise<typeof PgBossPackage> {
  let found: Partial<typeof PgBossPackage>;
  try {
    found = await import('pg-boss');
  } catch {
    throw unusable('the package pg-boss: npm install pg-boss');
  }
  // Any version may be installed beside this package, since the host may use it for itself.
  if (isUsable(found)) return found;
  throw unusable('pg-boss 12 or newer, and an older one is installed: npm install pg-boss@latest');
}

/** Before version 12, the class was the default export. */
function isUsable(found: Partial<typeof PgBossPackage>): found is typeof PgBossPackage {
  return found.PgBoss !== undefined;
}

function unusable(needed: string): ConfigError {
  return new ConfigError([{ path: 'batches.queue', problem: `is pgBossQueue, which needs ${needed}` }]);
}
