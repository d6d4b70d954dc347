import { checkShape, kind, type OptionShape, text, wholeNumber } from '../../platform/option-kinds.ts';
import type { Timer } from '../../platform/environment.ts';
import { problemName } from '../problem-name.ts';
import { runDueTasks, TASK_PUMP_OPTIONS, TaskPump, type TaskPumpOptions } from '../task-pump.ts';
import type { QueuePorts, TaskHandler, TaskQueue, TaskQueueFactory } from '../../contracts/task-queue.ts';
import { openWakeCalls, type WakeCalls } from './boss.ts';

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
  connectionString: kind(
    'an address that begins with postgres://',
    (value) => typeof value === 'string' && /^postgres(?:ql)?:\/\//.test(value),
  ),
  schema: text,
  queue: text,
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
