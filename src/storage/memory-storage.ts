import { callable, checkShape } from '../platform/option-kinds.ts';
import type { BatchStore } from '../contracts/batch-store.ts';
import { Content, recordsOf } from './memory-batches/records.ts';
import { itemsOf } from './memory-batches/items.ts';
import { tasksOf } from './memory-batches/tasks.ts';
import { filesOf } from './memory-batches/files.ts';
import type { BatchRecord } from '../core/batch/batch-record.ts';
import { bodyText } from './stored-rows.ts';

/** Options of {@link memoryStorage}. */
export interface MemoryStorageOptions {
  /** Epoch milliseconds. Default: the system's clock. */
  readonly now?: (() => number) | undefined;
}

/** Batches in the memory of one process. Not durable: for tests and demonstrations. Closing it forgets nothing. */
export function memoryStorage(options: MemoryStorageOptions = {}): BatchStore {
  checkShape<MemoryStorageOptions>({ now: callable }, options, 'memoryStorage');
  const { now = Date.now } = options;
  const content = new Content();
  const files = filesOf(now);
  const tasks = tasksOf(content, now);
  return {
    durable: false,
    files,
    open: () => Promise.resolve(),
    now: () => Promise.resolve(now()),
    ...draftsOf(content, now),
    ...recordsOf(content),
    ...itemsOf(content, now),
    ...tasks,
    sweep: async (limits) => (await tasks.sweep(limits)) + files.sweep(limits.draftMs, limits.limit),
    close: () => Promise.resolve(),
  };
}

/** Batches that are being made. */
type Drafts = Pick<BatchStore, 'openDraft' | 'addItems' | 'publish' | 'discard'>;

/** Makes {@link Drafts} in memory. */
function draftsOf({ entries, tasks, keys }: Content, now: () => number): Drafts {
  return {
    async openDraft(account, batchId) {
      const draft = entries.draft(account, batchId, now());
      if (draft.record !== undefined) throw new RangeError(`there is a batch "${batchId}"`);
      return Promise.resolve();
    },

    async addItems(account, batchId, items) {
      const entry = entries.find(account, batchId);
      if (entry === undefined || entry.record !== undefined) throw new RangeError(`there is no draft "${batchId}"`);
      for (const { body, ...item } of items) entry.items.add({ ...item, body: bodyText(body) });
      entry.touchedAt = now();
      return Promise.resolve();
    },

    async publish(batch, effects, idempotency) {
      const { account, id } = batch;
      const entry = entries.find(account, id);
      if (entry === undefined) throw new RangeError(`there is no draft "${id}"`);
      if (entry.record !== undefined) return { type: 'published', batch: entry.record };
      const time = now();
      const known = idempotency === undefined ? undefined : keys.claim(account, id, idempotency, time);
      if (known !== undefined) {
        entries.delete(account, id);
        const sameContent = known.fingerprint === idempotency?.fingerprint;
        return { type: 'repeated', batchId: known.batchId, sameContent };
      }
      const record: BatchRecord = {
        ...batch,
        createdAt: time,
        deleteAt: time + batch.deleteAt,
        expiresAt: batch.expiresAt === undefined ? undefined : time + batch.expiresAt,
        counts: { total: entry.items.size, completed: 0, failed: 0 },
      };
      entry.record = record;
      tasks.put(effects.map((effect) => ({ account, batchId: id, effect, runAt: time })));
      return Promise.resolve({ type: 'published', batch: record });
    },

    discard(account, batchId) {
      if (entries.find(account, batchId)?.record === undefined) entries.delete(account, batchId);
      return Promise.resolve();
    },
  };
}
