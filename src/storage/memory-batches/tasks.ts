import { isTerminal } from '../../core/batch/machine.ts';
import type { BatchStore, BatchTask, ClaimedTask } from '../../contracts/batch-store.ts';
import type { Content } from './records.ts';
import { free, type Lease } from './items.ts';

/** What is to be done, and what is over. */
type Tasks = Pick<BatchStore, 'claimTasks' | 'renewTask' | 'finishTask' | 'rescheduleTask' | 'nextTaskIn' | 'sweep'>;

/** Makes {@link Tasks} in memory. */
export function tasksOf(content: Content, now: () => number): Tasks {
  const { entries, tasks, keys } = content;
  return {
    claimTasks({ limit, leaseMs, token }) {
      const time = now();
      const due = tasks
        .all()
        .filter(({ runAt, leaseUntil }) => runAt <= time && leaseUntil <= time)
        .sort((left, right) => left.runAt - right.runAt)
        .slice(0, limit);
      return Promise.resolve(
        due.map((task) => {
          task.attempts += 1;
          task.token = token;
          task.leaseUntil = time + leaseMs;
          const { leaseUntil: _, ...claimed } = task;
          return { ...claimed, token };
        }),
      );
    },

    renewTask(claimed, leaseMs) {
      const task = tasks.held(claimed);
      if (task !== undefined) task.leaseUntil = now() + leaseMs;
      return Promise.resolve(task !== undefined);
    },

    finishTask(claimed) {
      const isHeld = tasks.held(claimed) !== undefined;
      if (isHeld) tasks.delete(claimed);
      return Promise.resolve(isHeld);
    },

    rescheduleTask(claimed, { afterMs, memo, reset = false }) {
      const task = tasks.held(claimed);
      if (task === undefined) return Promise.resolve(false);
      task.runAt = now() + afterMs;
      task.memo = memo ?? task.memo;
      if (reset) task.attempts = 0;
      free(task);
      return Promise.resolve(true);
    },

    nextTaskIn() {
      let next = Infinity;
      for (const { runAt, leaseUntil } of tasks.all()) next = Math.min(next, Math.max(runAt, leaseUntil));
      return Promise.resolve(next === Infinity ? undefined : Math.max(0, next - now()));
    },

    sweep({ draftMs, limit }) {
      const time = now();
      keys.expire(time);
      const over = entries
        .all()
        .filter(({ record, touchedAt }) =>
          record === undefined ? touchedAt <= time - draftMs : isTerminal(record.status) && record.deleteAt <= time,
        )
        .slice(0, limit);
      for (const { account, batchId } of over) content.delete(account, batchId);
      return Promise.resolve(over.length);
    },
  };
}

/** A task and who holds it. */
type Task = { -readonly [Name in keyof BatchTask]: BatchTask[Name] } & Lease & {
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

  /** A task that was claimed, while nobody else has it. */
  held(claimed: ClaimedTask): Task | undefined {
    const task = this.#tasks.get(taskName(claimed));
    return task?.token === claimed.token ? task : undefined;
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
