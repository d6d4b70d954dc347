import type { BatchRecord } from '../core/batch/batch-record.ts';
import type { BatchEffect } from '../core/batch/machine.ts';
import { isTerminal } from '../core/batch/machine.ts';
import { callable, checkShape } from '../core/options/option-kinds.ts';
import {
  type BatchStore,
  type BatchTask,
  type ClaimedTask,
  DuplicateCustomIdError,
  type IdempotencyKey,
  type PublishOutcome,
  type StoredItem,
  type StoredOutcome,
} from './batch-store.ts';

/** A request and who holds it. */
interface Item extends StoredItem {
  attempts: number;
  token?: string | undefined;
  leaseUntil: number;
  outcome?: StoredOutcome | undefined;
}

/** A batch or a draft with its requests. */
interface Entry {
  record: BatchRecord | undefined;
  readonly account: string;
  readonly items: Item[];
  readonly indexes: Map<string, number>;
  touchedAt: number;
}

/** A key that was used. */
interface KnownKey {
  readonly fingerprint: string;
  readonly expiresAt: number;
  readonly account: string;
  readonly batchId: string;
}

type Task = { -readonly [Name in keyof BatchTask]: BatchTask[Name] } & {
  attempts: number;
  token?: string | undefined;
  leaseUntil: number;
  memo?: ClaimedTask['memo'];
};

/** Options of {@link memoryStorage}. */
export interface MemoryStorageOptions {
  /** Epoch milliseconds. Default: the system's clock. */
  readonly now?: (() => number) | undefined;
}

/** Batches in the memory of one process. Not durable: for tests and demonstrations. Closing it forgets nothing. */
export function memoryStorage(options: MemoryStorageOptions = {}): BatchStore {
  checkShape<MemoryStorageOptions>({ now: callable }, options, 'memoryStorage');
  const { now = Date.now } = options;
  return new MemoryStorage(now);
}

class MemoryStorage implements BatchStore {
  readonly durable = false;
  readonly #now: () => number;
  readonly #entries = new Map<string, Entry>();
  readonly #tasks = new Map<string, Task>();
  readonly #keys = new Map<string, KnownKey>();

  constructor(now: () => number) {
    this.#now = now;
  }

  open(): Promise<void> {
    return Promise.resolve();
  }

  now(): Promise<number> {
    return Promise.resolve(this.#now());
  }

  async openDraft(account: string, batchId: string): Promise<void> {
    const known = this.#entry(account, batchId);
    if (known?.record !== undefined) throw new RangeError(`there is a batch "${batchId}"`);
    const draft = { record: undefined, account, items: [], indexes: new Map<string, number>(), touchedAt: this.#now() };
    this.#entries.set(nameOf(account, batchId), known ?? draft);
    return Promise.resolve();
  }

  async addItems(account: string, batchId: string, items: readonly StoredItem[]): Promise<void> {
    const entry = this.#entry(account, batchId);
    if (entry === undefined || entry.record !== undefined) throw new RangeError(`there is no draft "${batchId}"`);
    for (const { index, customId, body } of items) {
      const first = entry.indexes.get(customId);
      if (first !== undefined) throw new DuplicateCustomIdError(first, index);
      entry.indexes.set(customId, index);
      entry.items.push({ index, customId, body, attempts: 0, leaseUntil: 0 });
    }
    entry.touchedAt = this.#now();
    return Promise.resolve();
  }

  async publish(
    batch: BatchRecord,
    effects: readonly BatchEffect[],
    idempotency?: IdempotencyKey,
  ): Promise<PublishOutcome> {
    const now = this.#now();
    const { account, id } = batch;
    const entry = this.#entry(account, id);
    if (entry === undefined) throw new RangeError(`there is no draft "${id}"`);
    if (entry.record !== undefined) return { type: 'published', batch: entry.record };
    if (idempotency !== undefined) {
      const { key, fingerprint, ttlMs } = idempotency;
      const known = this.#keys.get(nameOf(account, key));
      if (known !== undefined && known.expiresAt > now) {
        this.#entries.delete(nameOf(account, id));
        return { type: 'repeated', batchId: known.batchId, sameContent: known.fingerprint === fingerprint };
      }
      this.#keys.set(nameOf(account, key), { fingerprint, expiresAt: now + ttlMs, account, batchId: id });
    }
    const record: BatchRecord = {
      ...batch,
      createdAt: now,
      deleteAt: now + batch.deleteAt,
      expiresAt: batch.expiresAt === undefined ? undefined : now + batch.expiresAt,
      counts: { total: entry.items.length, completed: 0, failed: 0 },
    };
    entry.record = record;
    this.#addTasks(effects.map((effect) => ({ account, batchId: id, effect, runAt: now })));
    return Promise.resolve({ type: 'published', batch: record });
  }

  discard(account: string, batchId: string): Promise<void> {
    const entry = this.#entry(account, batchId);
    if (entry !== undefined && entry.record === undefined) this.#entries.delete(nameOf(account, batchId));
    return Promise.resolve();
  }

  find(account: string, batchId: string): Promise<BatchRecord | undefined> {
    return Promise.resolve(this.#entry(account, batchId)?.record);
  }

  list(account: string, query: Parameters<BatchStore['list']>[1]): ReturnType<BatchStore['list']> {
    const { limit, after, statuses, createdAfter = -Infinity, createdBefore = Infinity } = query;
    const all = [...this.#entries.values()]
      .flatMap(({ record }) => (record?.account === account ? [record] : []))
      .sort((left, right) => right.createdAt - left.createdAt || (left.id < right.id ? 1 : -1));
    const start = after === undefined ? 0 : all.findIndex(({ id }) => id === after) + 1;
    // A batch that is no longer there cannot say where its page ended.
    const rest = after !== undefined && start === 0 ? [] : all.slice(start);
    const found = rest.filter(
      ({ status, createdAt }) =>
        (statuses === undefined || statuses.includes(status)) && createdAt > createdAfter && createdAt < createdBefore,
    );
    return Promise.resolve({ batches: found.slice(0, limit), more: found.length > limit });
  }

  items(account: string, batchId: string, after: number, limit: number): Promise<readonly StoredItem[]> {
    const items = this.#published(account, batchId)?.items ?? [];
    const page = items.filter(({ index }) => index > after).slice(0, limit);
    return Promise.resolve(page.map(({ index, customId, body }) => ({ index, customId, body })));
  }

  outcomes(account: string, batchId: string, after: number, limit: number): Promise<readonly StoredOutcome[]> {
    const items = this.#published(account, batchId)?.items ?? [];
    const found = items.flatMap(({ outcome }) => (outcome !== undefined && outcome.index > after ? [outcome] : []));
    return Promise.resolve(found.slice(0, limit));
  }

  recount(account: string, batchId: string): Promise<{ completed: number; failed: number }> {
    const outcomes = (this.#published(account, batchId)?.items ?? []).flatMap(({ outcome }) => outcome ?? []);
    const failed = outcomes.filter(({ error }) => error !== undefined).length;
    return Promise.resolve({ completed: outcomes.length - failed, failed });
  }

  save(next: BatchRecord, tasks: readonly BatchTask[]): Promise<boolean> {
    const entry = this.#entry(next.account, next.id);
    if (entry?.record === undefined || entry.record.revision !== next.revision - 1) return Promise.resolve(false);
    entry.record = { ...next, counts: entry.record.counts };
    this.#addTasks(tasks);
    return Promise.resolve(true);
  }

  remove(account: string, batchId: string): Promise<boolean> {
    const record = this.#entry(account, batchId)?.record;
    if (record === undefined || !isTerminal(record.status)) return Promise.resolve(false);
    this.#delete(account, batchId);
    return Promise.resolve(true);
  }

  claimItems(
    account: string,
    batchId: string,
    { limit, leaseMs, token, indexes }: Parameters<BatchStore['claimItems']>[2],
  ): ReturnType<BatchStore['claimItems']> {
    const entry = this.#entry(account, batchId);
    const status = entry?.record?.status;
    const open = status === 'in_progress' || (status === 'cancelling' && indexes !== undefined);
    if (entry === undefined || !open) return Promise.resolve([]);
    const now = this.#now();
    const named = indexes === undefined ? entry.items : entry.items.filter(({ index }) => indexes.includes(index));
    const idle = named.filter(({ outcome, leaseUntil }) => outcome === undefined && leaseUntil <= now);
    const claimed = idle.slice(0, limit);
    for (const item of claimed) {
      item.attempts += 1;
      item.token = token;
      item.leaseUntil = now + leaseMs;
    }
    return Promise.resolve(claimed.map(({ index, customId, body, attempts }) => ({ index, customId, body, attempts })));
  }

  renewItems(account: string, batchId: string, token: string, leaseMs: number): Promise<number> {
    const held = this.#held(account, batchId, token);
    for (const item of held) item.leaseUntil = this.#now() + leaseMs;
    return Promise.resolve(held.length);
  }

  releaseItems(account: string, batchId: string, token: string): Promise<void> {
    for (const item of this.#held(account, batchId, token)) {
      item.attempts -= 1;
      free(item);
    }
    return Promise.resolve();
  }

  storeOutcomes(
    account: string,
    batchId: string,
    token: string,
    outcomes: Parameters<BatchStore['storeOutcomes']>[3],
  ): Promise<readonly number[]> {
    const entry = this.#entry(account, batchId);
    const status = entry?.record?.status;
    if (entry === undefined || (status !== 'in_progress' && status !== 'cancelling')) return Promise.resolve([]);
    const held = new Map(this.#held(account, batchId, token).map((item) => [item.index, item]));
    const stored: number[] = [];
    for (const outcome of outcomes) {
      const item = held.get(outcome.index);
      if (item === undefined || item.outcome !== undefined) continue;
      this.#settle(entry, item, { ...outcome, customId: item.customId });
      stored.push(outcome.index);
    }
    return Promise.resolve(stored);
  }

  failRemaining(
    account: string,
    batchId: string,
    error: Parameters<BatchStore['failRemaining']>[2],
    resultIdOf: (index: number) => string,
  ): Promise<number> {
    const entry = this.#published(account, batchId);
    const left = entry?.items.filter(({ outcome }) => outcome === undefined) ?? [];
    if (entry === undefined) return Promise.resolve(0);
    for (const item of left) {
      const { index, customId } = item;
      this.#settle(entry, item, { index, customId, resultId: resultIdOf(index), error });
    }
    return Promise.resolve(left.length);
  }

  claimTasks({ limit, leaseMs, token }: Parameters<BatchStore['claimTasks']>[0]): Promise<readonly ClaimedTask[]> {
    const now = this.#now();
    const due = [...this.#tasks.values()]
      .filter(({ runAt, leaseUntil }) => runAt <= now && leaseUntil <= now)
      .sort((left, right) => left.runAt - right.runAt)
      .slice(0, limit);
    return Promise.resolve(
      due.map((task) => {
        task.attempts += 1;
        task.token = token;
        task.leaseUntil = now + leaseMs;
        const { leaseUntil: _, ...claimed } = task;
        return { ...claimed, token };
      }),
    );
  }

  renewTask(claimed: ClaimedTask, leaseMs: number): Promise<boolean> {
    const task = this.#heldTask(claimed);
    if (task !== undefined) task.leaseUntil = this.#now() + leaseMs;
    return Promise.resolve(task !== undefined);
  }

  finishTask(claimed: ClaimedTask): Promise<boolean> {
    const held = this.#heldTask(claimed) !== undefined;
    if (held) this.#tasks.delete(taskName(claimed));
    return Promise.resolve(held);
  }

  rescheduleTask(
    claimed: ClaimedTask,
    { afterMs, memo, reset = false }: Parameters<BatchStore['rescheduleTask']>[1],
  ): Promise<boolean> {
    const task = this.#heldTask(claimed);
    if (task === undefined) return Promise.resolve(false);
    task.runAt = this.#now() + afterMs;
    task.memo = memo ?? task.memo;
    if (reset) task.attempts = 0;
    free(task);
    return Promise.resolve(true);
  }

  nextTaskIn(): Promise<number | undefined> {
    const times = [...this.#tasks.values()].map(({ runAt, leaseUntil }) => Math.max(runAt, leaseUntil));
    return Promise.resolve(times.length === 0 ? undefined : Math.max(0, Math.min(...times) - this.#now()));
  }

  sweep({ draftMs, limit }: { readonly draftMs: number; readonly limit: number }): Promise<number> {
    const now = this.#now();
    for (const [name, { expiresAt }] of this.#keys) if (expiresAt <= now) this.#keys.delete(name);
    const old = [...this.#entries].filter(([, { record, touchedAt }]) =>
      record === undefined ? touchedAt <= now - draftMs : isTerminal(record.status) && record.deleteAt <= now,
    );
    for (const [name, { account, record }] of old.slice(0, limit)) {
      if (record === undefined) this.#entries.delete(name);
      else this.#delete(account, record.id);
    }
    return Promise.resolve(Math.min(old.length, limit));
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  #entry(account: string, batchId: string): Entry | undefined {
    return this.#entries.get(nameOf(account, batchId));
  }

  #published(account: string, batchId: string): Entry | undefined {
    const entry = this.#entry(account, batchId);
    return entry?.record === undefined ? undefined : entry;
  }

  #held(account: string, batchId: string, token: string): readonly Item[] {
    const now = this.#now();
    const items = this.#entry(account, batchId)?.items ?? [];
    return items.filter((item) => item.token === token && item.leaseUntil > now);
  }

  #heldTask(claimed: ClaimedTask): Task | undefined {
    const task = this.#tasks.get(taskName(claimed));
    return task?.token === claimed.token && task.leaseUntil > this.#now() ? task : undefined;
  }

  #settle(entry: Entry, item: Item, outcome: StoredOutcome): void {
    item.outcome = outcome;
    free(item);
    const { record } = entry;
    if (record === undefined) return;
    const { completed, failed } = record.counts;
    const counts =
      outcome.error === undefined ? { completed: completed + 1, failed } : { completed, failed: failed + 1 };
    entry.record = { ...record, counts: { ...record.counts, ...counts } };
  }

  #addTasks(tasks: readonly BatchTask[]): void {
    for (const task of tasks) this.#tasks.set(taskName(task), { ...task, attempts: 0, leaseUntil: 0 });
  }

  #delete(account: string, batchId: string): void {
    this.#entries.delete(nameOf(account, batchId));
    for (const map of [this.#tasks, this.#keys]) {
      for (const [name, held] of map) if (held.account === account && held.batchId === batchId) map.delete(name);
    }
  }
}

function free(held: { token?: string | undefined; leaseUntil: number }): void {
  held.token = undefined;
  held.leaseUntil = 0;
}

function taskName({ account, batchId, effect }: Pick<BatchTask, 'account' | 'batchId' | 'effect'>): string {
  return JSON.stringify([account, batchId, effect]);
}

function nameOf(account: string, name: string): string {
  return JSON.stringify([account, name]);
}
