/** The task queue within one process. */
import { checkShape } from '../platform/check-options.ts';
import { type OptionShape, wholeNumber } from '../options/values.ts';
import type { Timer } from '../platform/environment.ts';
import { TASK_PUMP_OPTIONS, TaskPump, type TaskPumpOptions, problemName, runDueTasks } from './task-pump.ts';
import type { QueuePorts, TaskHandler, TaskQueue, TaskQueueFactory } from '../contracts/task-queue.ts';

/** Options of {@link localQueue}. */
export interface LocalQueueOptions extends TaskPumpOptions {
  /**
   * Longest time in milliseconds between two looks into the store, for tasks that other processes put there.
   * Default 5,000.
   */
  readonly pollMs?: number | undefined;
}

const OPTIONS: OptionShape<LocalQueueOptions> = { ...TASK_PUMP_OPTIONS, pollMs: wholeNumber(1) };

const DEFAULT_POLL_MS = 5_000;
/** A store that always sees something due must not keep the process busy. */
const SHORTEST_WAIT_MS = 10;

/**
 * Runs the tasks of a store in this process. It is woken by what happens here and looks by itself for what happens
 * elsewhere. Several processes may do so on the same store: every task is leased to one of them.
 */
export function localQueue(options: LocalQueueOptions = {}): TaskQueueFactory {
  checkShape<LocalQueueOptions>(OPTIONS, options, 'localQueue');
  return (ports) => new LocalQueue(ports, options);
}

class LocalQueue implements TaskQueue {
  readonly #ports: QueuePorts;
  readonly #options: LocalQueueOptions;
  #pump: TaskPump | undefined;
  #timer: Timer | undefined;
  #looking: Promise<void> | undefined;
  #lookAgain = false;

  constructor(ports: QueuePorts, options: LocalQueueOptions) {
    this.#ports = ports;
    this.#options = options;
  }

  start(handler: TaskHandler): Promise<void> {
    if (this.#pump === undefined) {
      this.#pump = new TaskPump(this.#ports, handler, this.#options);
      this.#pump.onSettled = () => this.wake();
      this.wake();
    }
    return Promise.resolve();
  }

  wake(): void {
    if (this.#pump === undefined) return;
    this.#lookAgain = true;
    this.#looking ??= this.#look(this.#pump).finally(() => {
      this.#looking = undefined;
      if (this.#lookAgain) this.wake();
    });
  }

  tick(handler: TaskHandler, budgetMs: number): Promise<void> {
    return runDueTasks(this.#ports, handler, budgetMs, this.#options);
  }

  async stop(graceMs: number): Promise<void> {
    const pump = this.#pump;
    this.#pump = undefined;
    this.#lookAgain = false;
    this.#ports.environment.clearTimer(this.#timer);
    await this.#looking;
    await pump?.stop(graceMs);
  }

  async #look(pump: TaskPump): Promise<void> {
    const { store, environment, onProblem } = this.#ports;
    const { pollMs = DEFAULT_POLL_MS } = this.#options;
    environment.clearTimer(this.#timer);
    let nextMs: number | undefined;
    try {
      while (this.#lookAgain) {
        this.#lookAgain = false;
        await pump.fill();
      }
      nextMs = await store.nextTaskIn();
    } catch (error) {
      onProblem(`Tasks cannot be read from the batch store (${problemName(error)})`);
    }
    if (this.#pump !== pump) return;
    // Without room nothing can be taken before a task ends, which wakes the queue by itself.
    const waitMs = pump.room > 0 ? Math.max(SHORTEST_WAIT_MS, Math.min(nextMs ?? pollMs, pollMs)) : pollMs;
    this.#timer = environment.setTimer(() => this.wake(), waitMs);
  }
}
