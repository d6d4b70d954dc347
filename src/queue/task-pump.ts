import { type OptionShape, wholeNumber } from '../platform/option-kinds.ts';
import { backoffMs } from '../core/fallback/retry-budget.ts';
import type { ClaimedTask } from '../contracts/batch-store.ts';
import { problemName } from './problem-name.ts';
import type { QueuePorts, TaskHandler, TaskResult } from '../contracts/task-queue.ts';

/** Bounds of a queue. */
export interface TaskPumpOptions {
  /** Tasks that run at the same time in this process. Default 50. */
  readonly concurrency?: number | undefined;
  /** Milliseconds after which a task of a process that died is taken by another one. Default 30,000. */
  readonly leaseMs?: number | undefined;
}

/** Kinds of {@link TaskPumpOptions}. */
export const TASK_PUMP_OPTIONS: OptionShape<TaskPumpOptions> = {
  concurrency: wholeNumber(1),
  leaseMs: wholeNumber(1),
};

/** Runs what is due until nothing is due any more, or until the time is up. */
export async function runDueTasks(
  ports: QueuePorts,
  handler: TaskHandler,
  budgetMs: number,
  options: TaskPumpOptions = {},
): Promise<void> {
  const pump = new TaskPump(ports, handler, options);
  const timer = ports.environment.setTimer(() => pump.wind(), budgetMs);
  try {
    while ((await pump.fill()) > 0) await pump.settled();
  } finally {
    ports.environment.clearTimer(timer);
  }
}

/** How long a task waits after a run that failed. */
const AFTER_FAILURE = { baseMs: 2_000, capMs: 60_000 };
/** Leases are renewed this many times before they end. */
const RENEWALS = 3;
const DEFAULT_CONCURRENCY = 50;
const DEFAULT_LEASE_MS = 30_000;

/** Takes tasks that are due from the store, runs them, and holds their leases meanwhile. What queues have in common. */
export class TaskPump {
  readonly #ports: QueuePorts;
  readonly #handler: TaskHandler;
  readonly #concurrency: number;
  readonly #leaseMs: number;
  readonly #stopping = new AbortController();
  readonly #running = new Map<Promise<void>, AbortController>();
  /** Called after each task, with the milliseconds after which it wants to run again, if it does. */
  onSettled: (againAfterMs: number | undefined) => void = () => {};

  constructor(ports: QueuePorts, handler: TaskHandler, options: TaskPumpOptions = {}) {
    this.#ports = ports;
    this.#handler = handler;
    this.#concurrency = options.concurrency ?? DEFAULT_CONCURRENCY;
    this.#leaseMs = options.leaseMs ?? DEFAULT_LEASE_MS;
  }

  /** Tasks that can be taken now. */
  get room(): number {
    return this.#stopping.signal.aborted ? 0 : this.#concurrency - this.#running.size;
  }

  /** Takes what is due and begins to run it. Gives the number of tasks. */
  async fill(): Promise<number> {
    const { store, environment } = this.#ports;
    const limit = this.room;
    if (limit <= 0) return 0;
    const token = environment.randomText(24);
    const tasks = await store.claimTasks({ limit, leaseMs: this.#leaseMs, token });
    for (const task of tasks) this.#begin(task);
    return tasks.length;
  }

  /** Waits for everything that runs now. */
  async settled(): Promise<void> {
    await Promise.all(this.#running.keys());
  }

  /** Tells the tasks to come to an end, and begins no others. */
  wind(): void {
    this.#stopping.abort();
  }

  /** Ends: tasks that are not over after so many milliseconds are aborted. */
  async stop(graceMs: number): Promise<void> {
    const { environment } = this.#ports;
    const abort = (): void => {
      for (const controller of this.#running.values()) controller.abort();
    };
    this.wind();
    if (graceMs <= 0) abort();
    const timer = environment.setTimer(abort, graceMs);
    await this.settled();
    environment.clearTimer(timer);
  }

  #begin(task: ClaimedTask): void {
    const controller = new AbortController();
    const run = this.#run(task, controller).then((again) => {
      this.#running.delete(run);
      this.onSettled(again);
    });
    this.#running.set(run, controller);
  }

  async #run(task: ClaimedTask, controller: AbortController): Promise<number | undefined> {
    const { signal } = controller;
    const release = this.#holdLease(task, controller);
    let result: TaskResult;
    try {
      result = await this.#handler(task, { signal, stopping: this.#stopping.signal });
    } catch (error) {
      if (!signal.aborted) this.#complain(`A task to ${task.effect} a batch failed`, error);
      const roll = this.#ports.environment.random();
      const afterMs = signal.aborted ? 0 : backoffMs(AFTER_FAILURE, task.attempts, 0.5 + roll / 2);
      result = { type: 'again', afterMs };
    } finally {
      release();
    }
    return this.#settle(task, result);
  }

  /** Writes what a run came to. A lease that was lost meanwhile makes that void. */
  async #settle(task: ClaimedTask, result: TaskResult): Promise<number | undefined> {
    const { store } = this.#ports;
    try {
      if (result.type === 'done') {
        await store.finishTask(task);
        return undefined;
      }
      const { afterMs, memo, reset } = result;
      return (await store.rescheduleTask(task, { afterMs, memo, reset })) ? afterMs : undefined;
    } catch (error) {
      this.#complain('The outcome of a task could not be stored, so it will run again', error);
      return this.#leaseMs;
    }
  }

  /** Renews a lease until it is let go. One that is lost aborts its task. */
  #holdLease(task: ClaimedTask, controller: AbortController): () => void {
    const { store, environment } = this.#ports;
    const everyMs = this.#leaseMs / RENEWALS;
    let goodUntil = environment.now() + this.#leaseMs;
    let over = false;
    const renew = async (): Promise<void> => {
      const askedAt = environment.now();
      // A store that does not answer says nothing about the lease; its own time does.
      const held = await store.renewTask(task, this.#leaseMs).catch(() => undefined);
      if (held === true) goodUntil = Math.max(goodUntil, askedAt + this.#leaseMs);
      if (held === false && !over) controller.abort();
    };
    const beat = (): void => {
      if (environment.now() >= goodUntil) return controller.abort();
      void renew();
      timer = environment.setTimer(beat, everyMs);
    };
    let timer = environment.setTimer(beat, everyMs);
    return () => {
      over = true;
      environment.clearTimer(timer);
    };
  }

  #complain(what: string, error: unknown): void {
    this.#ports.onProblem(`${what} (${problemName(error)})`);
  }
}
