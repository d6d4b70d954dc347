/** Runs due tasks, within limits. */
import type { ClaimedTask } from '../contracts/batch-store.ts';
import type { QueuePorts, TaskHandler, TaskResult } from '../contracts/task-queue.ts';
import { LeaseLength, RENEWALS } from '../core/batch/lease.ts';
import { backoffMs } from '../core/fallback/backoff.ts';
import type { Timer } from '../platform/environment.ts';
import { type OptionShape, wholeNumber } from '../options/values.ts';

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
const DEFAULT_CONCURRENCY = 50;
const DEFAULT_LEASE_MS = 30_000;

/** Takes tasks that are due from the store, runs them, and holds their leases meanwhile. What queues have in common. */
export class TaskPump {
  readonly #ports: QueuePorts;
  readonly #handler: TaskHandler;
  readonly #concurrency: number;
  readonly #lease: LeaseLength;
  readonly #stopping = new AbortController();
  readonly #running = new Map<Promise<void>, AbortController>();
  readonly #held = new Set<HeldTask>();
  /** Called after each task, with the milliseconds after which it wants to run again, if it does. */
  onSettled: (againAfterMs: number | undefined) => void = () => {};

  constructor(ports: QueuePorts, handler: TaskHandler, options: TaskPumpOptions = {}) {
    this.#ports = ports;
    this.#handler = handler;
    this.#concurrency = options.concurrency ?? DEFAULT_CONCURRENCY;
    this.#lease = new LeaseLength(options.leaseMs ?? DEFAULT_LEASE_MS);
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
    // What this process holds itself and was too slow to renew is not for it to take away.
    await Promise.all([...this.#held].map((held) => held.renewIfDue()));
    const token = environment.randomText(24);
    const requestedAt = environment.now();
    const leaseMs = this.#lease.ms;
    const tasks = await store.claimTasks({ limit, leaseMs, token });
    if (tasks.length > 0) this.#lease.renewed(environment.now() - requestedAt);
    for (const task of tasks) this.#begin(task, { from: requestedAt, to: requestedAt + leaseMs });
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

  #begin(task: ClaimedTask, sure: Span): void {
    const controller = new AbortController();
    const run = this.#run(task, controller, sure).then((again) => {
      this.#running.delete(run);
      this.onSettled(again);
    });
    this.#running.set(run, controller);
  }

  async #run(task: ClaimedTask, controller: AbortController, sure: Span): Promise<number | undefined> {
    const { signal } = controller;
    const held = new HeldTask(this.#ports, { task, lease: this.#lease, sure, onLost: () => controller.abort() });
    this.#held.add(held);
    let result: TaskResult;
    try {
      result = await this.#handler(task, { signal, stopping: this.#stopping.signal });
    } catch (error) {
      if (!signal.aborted) this.#complain(`A task to ${task.effect} a batch failed`, error);
      const roll = this.#ports.environment.random();
      const afterMs = signal.aborted ? 0 : backoffMs(AFTER_FAILURE, task.attempts, 0.5 + roll / 2);
      result = { type: 'again', afterMs };
    } finally {
      this.#held.delete(held);
      held.release();
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
      return this.#lease.ms;
    }
  }

  #complain(what: string, error: unknown): void {
    this.#ports.onProblem(`${what} (${problemName(error)})`);
  }
}

/** Time in which a lease does not end: from when it was requested. Monotonic milliseconds. */
interface Span {
  readonly from: number;
  readonly to: number;
}

/** A task that this process has claimed. */
interface LeasedTask {
  readonly task: ClaimedTask;
  readonly lease: LeaseLength;
  /** Time in which the lease that it was claimed with does not end. */
  readonly sure: Span;
  /** Called when others may have the task. */
  readonly onLost: () => void;
}

/**
 * The lease of a task that runs. It is renewed until it is let go; one that is lost aborts its task. A lease that ended
 * before this process came to renew it is still its own as long as nobody else has the task.
 */
class HeldTask {
  readonly #ports: QueuePorts;
  readonly #task: ClaimedTask;
  readonly #lease: LeaseLength;
  readonly #onLost: () => void;
  #sure: Span;
  #renewing: Promise<void> | undefined;
  #timer: Timer | undefined;
  #over = false;

  constructor(ports: QueuePorts, { task, lease, sure, onLost }: LeasedTask) {
    this.#ports = ports;
    this.#task = task;
    this.#lease = lease;
    this.#sure = sure;
    this.#onLost = onLost;
    this.#renewAt(sure.from + this.#interval());
  }

  release(): void {
    this.#over = true;
    this.#ports.environment.clearTimer(this.#timer);
  }

  /** Renews a lease that may soon have ended. */
  async renewIfDue(): Promise<void> {
    if (this.#ports.environment.now() >= this.#sure.from + this.#interval()) await this.#renew();
  }

  #interval(): number {
    return (this.#sure.to - this.#sure.from) / RENEWALS;
  }

  #renewAt(at: number): void {
    this.#setTimer(at, () => void this.#renew());
  }

  #renew(): Promise<void> {
    // A store that does not answer says nothing about the lease; its own time does, and then others may have the task.
    this.#setTimer(this.#sure.to + this.#interval(), () => this.#giveUp());
    this.#renewing ??= this.#ask().finally(() => (this.#renewing = undefined));
    return this.#renewing;
  }

  async #ask(): Promise<void> {
    const { store, environment } = this.#ports;
    const from = environment.now();
    const leaseMs = this.#lease.ms;
    const held = await store.renewTask(this.#task, leaseMs).catch(() => undefined);
    if (this.#over) return;
    const now = environment.now();
    const tookMs = now - this.#sure.from;
    if (held === false) this.#lease.lost(tookMs);
    if (held === false || (held === undefined && now >= this.#sure.to)) return this.#giveUp();
    if (held === true) {
      this.#lease.renewed(tookMs);
      this.#sure = { from, to: from + leaseMs };
    }
    this.#renewAt((held === true ? from : now) + this.#interval());
  }

  #giveUp(): void {
    this.release();
    this.#onLost();
  }

  #setTimer(at: number, then: () => void): void {
    const { environment } = this.#ports;
    environment.clearTimer(this.#timer);
    this.#timer = environment.setTimer(then, Math.max(0, at - environment.now()));
  }
}

/** What a name or a code looks like. Anything longer might be a sentence, with an address in it. */
const PLAIN = /^\w{1,60}$/;
/** Words of drivers about connections that have no code. Only these words are told, not what stands around them. */
const CONNECTION = /connection terminated|connection timeout|timeout expired|query read timeout|not queryable/i;

/**
 * What may be shown of an error: its name, its code, and a few words that are known to hold nothing else. Its message
 * may hold the address and the password of a database. Also for errors that somebody has copied into a plain object,
 * and for several in one.
 *
 * @returns For example `AggregateError, ECONNREFUSED`.
 */
export function problemName(error: unknown): string {
  const known = [nameOf(error), codeOf(error), wordsOf(error)].filter((part) => part !== undefined);
  return known.length === 0 ? `${typeof error} without a name or a code` : [...new Set(known)].join(', ');
}

function nameOf(error: unknown): string | undefined {
  // A copy has lost the name, which its class had; the stack begins with it.
  return plain(field(error, 'name')) ?? /^\w{1,60}(?=: |\n|$)/.exec(textField(error, 'stack'))?.[0];
}

function codeOf(error: unknown): string | undefined {
  const several = field(error, 'errors');
  const all = [error, ...(Array.isArray(several) ? (several as readonly unknown[]) : []), field(error, 'cause')];
  for (const one of all) {
    const code = plain(field(one, 'code')) ?? plain(field(one, 'reason'));
    if (code !== undefined) return code;
  }
  return undefined;
}

function wordsOf(error: unknown): string | undefined {
  return CONNECTION.exec(textField(error, 'message'))?.[0].toLowerCase();
}

function plain(value: unknown): string | undefined {
  return typeof value === 'string' && PLAIN.test(value) ? value : undefined;
}

function textField(error: unknown, name: string): string {
  const value = field(error, name);
  return typeof value === 'string' ? value : '';
}

function field(error: unknown, name: string): unknown {
  return typeof error === 'object' && error !== null ? (Reflect.get(error, name) as unknown) : undefined;
}
