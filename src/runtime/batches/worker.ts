/** Starts and stops what runs batches in this process: when the program says so, or by itself with the first use. */
import type { Environment, Timer } from '../../platform/environment.ts';
import type { TaskHandler, TaskQueue } from '../../contracts/task-queue.ts';
import type { EventHub } from '../events/events.ts';
import { warn } from '../events/events.ts';
import { StorageError } from '../../contracts/storage-error.ts';
import type { BatchRecord } from '../../contracts/batch-record.ts';
import type { BatchStore } from '../../contracts/batch-store.ts';
import { errorOf } from '../../protocol/router-error.ts';

/**
 * Timers that keep the process alive only while the program has started the batches itself: a script that creates a batch
 * ends when it has nothing else to do, a process that does nothing but run batches stays.
 */
export class BackgroundTimers {
  /** Whether timers that are set from now on keep the process alive. */
  keepAlive = false;
  /** The environment with these timers. */
  readonly environment: Environment;

  constructor(environment: Environment) {
    this.environment = {
      ...environment,
      setTimer: (callback, ms) => {
        const timer = environment.setTimer(callback, ms);
        if (!this.keepAlive) (timer as { unref?: () => void } | undefined)?.unref?.();
        return timer;
      },
    };
  }
}

/** What a {@link BatchWorker} starts, and what it tells the operator with. */
interface WorkerPorts {
  readonly store: Pick<BatchStore, 'find' | 'nextTaskIn' | 'now'>;
  readonly events: EventHub;
  readonly timers: BackgroundTimers;
  readonly queue: TaskQueue;
  readonly handler: TaskHandler;
  /** Opens the storage. */
  readonly open: () => Promise<void>;
  /** Starts and stops what runs besides the queue. */
  readonly besides: { readonly start: () => void; readonly stop: (graceMs: number) => Promise<void> };
  /** Whether it may start by itself (`batches.worker`). */
  readonly startsByItself: boolean;
  /** Name of the host where nothing runs between requests; undefined elsewhere. */
  readonly pausingHost: string | undefined;
}

/** The words of other errors may have an address in them. */
function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : typeof error;
}

/** Milliseconds after which a batch that no process has begun to run is reported. */
const UNCLAIMED_MS = 30_000;
/** Milliseconds after a failed start before which the next operation does not try again. */
const RETRY_MS = 5_000;

/**
 * Runs batches in this process. By default it starts by itself with the first operation on batches, and again with the
 * next operation after a start that failed; never once the program has stopped it, or calls `tick` instead.
 */
export class BatchWorker {
  readonly #ports: WorkerPorts;
  #running: Promise<void> | undefined;
  /** Whether the program decides itself from now on when batches run. */
  #isManual = false;
  #retryAt = -Infinity;
  #watched: Timer | undefined;
  #watchedNext: BatchRecord | undefined;

  constructor(ports: WorkerPorts) {
    this.#ports = ports;
  }

  /** Whether this process runs batches. */
  get isRunning(): boolean {
    return this.#running !== undefined;
  }

  /** Starts it for the program, which waits until it runs. */
  async start(): Promise<void> {
    const { timers, queue } = this.#ports;
    this.#isManual = true;
    timers.keepAlive = true;
    // One that has started by itself sets its next timer anew, which then keeps the process alive.
    if (this.#running !== undefined) queue.wake();
    await this.#run();
  }

  /** Starts it because batches are used here, unless the program or the host says otherwise. Waits for nothing. */
  startByItself(): void {
    const { startsByItself, pausingHost: host, events, timers } = this.#ports;
    if (this.#running !== undefined || this.#isManual || !startsByItself || host !== undefined) return;
    if (timers.environment.now() < this.#retryAt) return;
    this.#run().catch((error: unknown) => {
      this.#retryAt = timers.environment.now() + RETRY_MS;
      const why =
        error instanceof Error && (StorageError.isInstance(error) || error.name === 'ConfigError')
          ? error.message
          : nameOf(error);
      const message = `Batches do not run in this process, which could not start to run them: ${why}`;
      warn(events, { code: 'batch_worker', message });
    });
  }

  /**
   * Refuses new batches where neither this process can run them nor the configuration says that others do.
   *
   * @throws {@link RouterError} 500 with what to do.
   */
  checkHost(): void {
    const { startsByItself, pausingHost: host } = this.#ports;
    if (!startsByItself || host === undefined || this.#isManual) return;
    throw errorOf(
      500,
      `Batches cannot run here: on ${host} nothing runs between two requests. Run them in another process on the same ` +
        'storage, or with router.batches.tick() from a schedule, and say so with batches: { worker: false }',
    );
  }

  /** From now on batches run while {@link BatchWorker.withTicks} does something, and not by themselves. */
  async withTicks(tick: () => Promise<void>): Promise<void> {
    const { timers } = this.#ports;
    const before = timers.keepAlive;
    this.#isManual = true;
    timers.keepAlive = true;
    // Whoever calls this runs what is due.
    timers.environment.clearTimer(this.#watched);
    this.#watched = undefined;
    try {
      await tick();
    } finally {
      timers.keepAlive = before;
    }
  }

  /** Ends what was started. It does not start by itself again. */
  async stop(graceMs: number): Promise<void> {
    this.#isManual = true;
    await this.#end(graceMs);
  }

  /** Ends what started by itself because nobody has the router any more. The next operation would start it again. */
  async forget(): Promise<void> {
    if (!this.#isManual) await this.#end(UNCLAIMED_MS);
  }

  /** Reports a batch that was accepted here, unless some process begins to run it in time. */
  watch(batch: BatchRecord): void {
    if (this.isRunning) return;
    if (this.#watched !== undefined) {
      this.#watchedNext = batch;
      return;
    }
    this.#watched = this.#ports.timers.environment.setTimer(() => {
      this.#watched = undefined;
      void this.#report(batch).catch(() => undefined);
      const next = this.#watchedNext;
      this.#watchedNext = undefined;
      if (next !== undefined) this.watch(next);
    }, UNCLAIMED_MS);
  }

  /**
   * The age in milliseconds of the oldest of these batches that waits for a worker, when no process takes tasks at all;
   * undefined when none has waited for long.
   */
  async unclaimedMs(batches: readonly BatchRecord[]): Promise<number | undefined> {
    const { store } = this.#ports;
    const waiting = batches.filter(({ status }) => status === 'validating');
    if (waiting.length === 0 || this.isRunning) return undefined;
    const age = (await store.now()) - Math.min(...waiting.map(({ createdAt }) => createdAt));
    if (age < UNCLAIMED_MS) return undefined;
    // A task that is due and that nobody holds: whoever ran batches would have it.
    return ((await store.nextTaskIn()) ?? Infinity) <= 0 ? age : undefined;
  }

  async #report({ account, id }: BatchRecord): Promise<void> {
    const { store, events, startsByItself } = this.#ports;
    const batch = await store.find(account, id);
    if (batch === undefined || (await this.unclaimedMs([batch])) === undefined) return;
    const why = startsByItself
      ? 'this process does not run batches, because it was stopped or could not start'
      : 'batches.worker is false here';
    const message =
      `Batch ${id} was accepted ${UNCLAIMED_MS / 1_000} seconds ago, and no process has begun to run it: ${why}. Call ` +
      'router.batches.start() in a process on the same storage';
    warn(events, { code: 'batch_unclaimed', message });
  }

  #run(): Promise<void> {
    this.#running ??= this.#begin().catch((error: unknown) => {
      this.#running = undefined;
      throw error;
    });
    return this.#running;
  }

  async #begin(): Promise<void> {
    const { open, queue, handler, besides } = this.#ports;
    await open();
    await queue.start(handler);
    besides.start();
  }

  async #end(graceMs: number): Promise<void> {
    const { timers, queue, besides } = this.#ports;
    timers.environment.clearTimer(this.#watched);
    this.#watched = undefined;
    const running = this.#running;
    if (running === undefined) return;
    // What is waited for must not end with the process.
    timers.keepAlive = true;
    try {
      await running.catch(() => undefined);
      await Promise.all([queue.stop(graceMs), besides.stop(graceMs)]);
    } finally {
      if (this.#running === running) this.#running = undefined;
      timers.keepAlive = false;
    }
  }
}
