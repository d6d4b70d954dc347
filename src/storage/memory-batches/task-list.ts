import type { BatchTask, ClaimedTask } from '../batch-store.ts';
import { type Lease, holds } from './lease.ts';

/** A task and who holds it. */
export type Task = { -readonly [Name in keyof BatchTask]: BatchTask[Name] } & Lease & {
    attempts: number;
    memo?: ClaimedTask['memo'];
  };

/** Tasks of all batches; of each kind a batch has one. */
export class TaskList {
  readonly #tasks = new Map<string, Task>();

  /** Adds tasks. One of a kind that is there already loses its place, and whoever holds it has lost it. */
  put(tasks: readonly BatchTask[]): void {
    for (const task of tasks) this.#tasks.set(taskName(task), { ...task, attempts: 0, leaseUntil: 0 });
  }

  /** All of them, in no order. */
  all(): readonly Task[] {
    return [...this.#tasks.values()];
  }

  /** A task that was claimed, while the claim holds. */
  held(claimed: ClaimedTask, now: number): Task | undefined {
    const task = this.#tasks.get(taskName(claimed));
    return task !== undefined && holds(task, claimed.token, now) ? task : undefined;
  }

  delete(task: BatchTask): void {
    this.#tasks.delete(taskName(task));
  }

  /** Forgets the tasks of a batch. */
  deleteOf(account: string, batchId: string): void {
    for (const task of this.#tasks.values()) {
      if (task.account === account && task.batchId === batchId) this.delete(task);
    }
  }
}

function taskName({ account, batchId, effect }: Pick<BatchTask, 'account' | 'batchId' | 'effect'>): string {
  return JSON.stringify([account, batchId, effect]);
}
