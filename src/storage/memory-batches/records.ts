/** Batch records and tasks in memory. */
import { isTerminal } from '../../core/batch/machine.ts';
import type { BatchStore, BatchTask, ClaimedTask, IdempotencyKey } from '../../contracts/batch-store.ts';
import { Entries, free, type Lease, entryName } from './items.ts';

/** What is in lists of an account. */
interface Listed {
  readonly id: string;
  readonly account: string;
  readonly createdAt: number;
}

/** Places of records that were deleted: a list may go on behind them. The last of them are kept. */
export class DeletedPlaces {
  readonly #places = new Map<string, Listed>();

  add({ id, account, createdAt }: Listed): void {
    this.#places.set(entryName(account, id), { id, account, createdAt });
    const [oldest] = this.#places.keys();
    if (this.#places.size > MAX_PLACES && oldest !== undefined) this.#places.delete(oldest);
  }

  find(account: string, id: string): Listed | undefined {
    return this.#places.get(entryName(account, id));
  }
}

const MAX_PLACES = 10_000;

/**
 * Records of an account that come behind one of them in a list, the newest first; undefined behind one that is not there
 * and never was.
 */
export function newestAfter<Found extends Listed>(
  entries: Iterable<{ readonly record: Found | undefined }>,
  account: string,
  after: string | undefined,
  deleted: DeletedPlaces,
): readonly Found[] | undefined {
  const all = [...entries]
    .flatMap(({ record }) => (record?.account === account ? [record] : []))
    .sort((left, right) => compare(left, right));
  if (after === undefined) return all;
  const last = all.find(({ id }) => id === after) ?? deleted.find(account, after);
  return last && all.filter((one) => compare(last, one) < 0);
}

function compare(left: Listed, right: Listed): number {
  return right.createdAt - left.createdAt || (left.id === right.id ? 0 : left.id < right.id ? 1 : -1);
}

/** Batches that are there. */
type Records = Pick<BatchStore, 'find' | 'list' | 'items' | 'outcomes' | 'recount' | 'save' | 'remove'>;

/** Makes {@link Records} in memory. */
export function memoryRecords(content: Content): Records {
  const { entries, tasks } = content;
  const deleted = new DeletedPlaces();
  return {
    find(account, batchId) {
      return Promise.resolve(entries.find(account, batchId)?.record);
    },

    list(account, { limit, after, statuses, createdAfter = -Infinity, createdBefore = Infinity }) {
      const rest = newestAfter(entries.all(), account, after, deleted);
      if (rest === undefined) return Promise.resolve({ batches: [], more: false, isUnknown: true });
      const found = rest.filter(
        ({ status, createdAt }) =>
          (statuses === undefined || statuses.includes(status)) &&
          createdAt > createdAfter &&
          createdAt < createdBefore,
      );
      return Promise.resolve({ batches: found.slice(0, limit), more: found.length > limit });
    },

    items(account, batchId, after, limit) {
      const page = entries.published(account, batchId)?.items.page(after, limit) ?? [];
      return Promise.resolve(page.map(({ index, customId, body }) => ({ index, customId, body })));
    },

    outcomes(account, batchId, after, limit) {
      return Promise.resolve(entries.published(account, batchId)?.items.outcomes(after, limit) ?? []);
    },

    recount(account, batchId) {
      const outcomes = entries.published(account, batchId)?.items.outcomes() ?? [];
      const failed = outcomes.filter(({ error }) => error !== undefined).length;
      return Promise.resolve({ completed: outcomes.length - failed, failed });
    },

    save(next, following) {
      const entry = entries.published(next.account, next.id);
      if (entry === undefined || entry.record.revision !== next.revision - 1) return Promise.resolve(false);
      entry.record = { ...next, counts: entry.record.counts };
      tasks.put(following);
      return Promise.resolve(true);
    },

    remove(account, batchId) {
      const record = entries.find(account, batchId)?.record;
      if (record === undefined || !isTerminal(record.status)) return Promise.resolve(false);
      deleted.add(record);
      content.delete(account, batchId);
      return Promise.resolve(true);
    },
  };
}

/** A key that was used. */
interface KnownKey {
  readonly fingerprint: string;
  /** Epoch milliseconds. */
  readonly expiresAt: number;
  readonly account: string;
  readonly batchId: string;
}

/** Idempotency keys that were used, each with its batch. */
class Keys {
  readonly #keys = new Map<string, KnownKey>();

  /** Keeps a key for a batch, unless it was used before: then it gives what it was used for. */
  claim(account: string, batchId: string, key: IdempotencyKey, now: number): KnownKey | undefined {
    const name = entryName(account, key.key);
    const known = this.#keys.get(name);
    if (known !== undefined && known.expiresAt > now) return known;
    this.#keys.set(name, { fingerprint: key.fingerprint, expiresAt: now + key.ttlMs, account, batchId });
    return undefined;
  }

  /** Forgets keys whose time is over. */
  expire(now: number): void {
    for (const [name, { expiresAt }] of this.#keys) if (expiresAt <= now) this.#keys.delete(name);
  }

  /** Forgets the keys of a batch. */
  deleteOf(account: string, batchId: string): void {
    for (const [name, key] of this.#keys) {
      if (key.account === account && key.batchId === batchId) this.#keys.delete(name);
    }
  }
}

/** Everything that a storage in memory holds. */
export class Content {
  readonly entries = new Entries();
  readonly tasks = new TaskList();
  readonly keys = new Keys();

  /** Deletes a batch or a draft with everything that belongs to it. */
  delete(account: string, batchId: string): void {
    this.entries.delete(account, batchId);
    this.tasks.deleteOf(account, batchId);
    this.keys.deleteOf(account, batchId);
  }
}

/** What is to be done, and what is over. */
type Tasks = Pick<BatchStore, 'claimTasks' | 'renewTask' | 'finishTask' | 'rescheduleTask' | 'nextTaskIn' | 'sweep'>;

/** Makes {@link Tasks} in memory. */
export function memoryTasks(content: Content, now: () => number): Tasks {
  const { tasks } = content;
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

    sweep: (limits) => Promise.resolve(deleteOver(content, now(), limits)),
  };
}

/** Deletes batches and drafts whose time is over; gives their number. */
function deleteOver(content: Content, now: number, { draftMs, limit }: Parameters<Tasks['sweep']>[0]): number {
  content.keys.expire(now);
  const over = content.entries
    .all()
    .filter(({ record, touchedAt }) =>
      record === undefined ? touchedAt <= now - draftMs : isTerminal(record.status) && record.deleteAt <= now,
    )
    .slice(0, limit);
  for (const { account, batchId } of over) content.delete(account, batchId);
  return over.length;
}

/** A task and who holds it. */
type Task = { -readonly [Name in keyof BatchTask]: BatchTask[Name] } & Lease & {
    attempts: number;
    memo?: ClaimedTask['memo'];
  };

/** Tasks of all batches; of each kind a batch has one. */
class TaskList {
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
