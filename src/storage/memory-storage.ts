/** The batch store in memory. */
import { callable, checkShape } from '../platform/option-kinds.ts';
import type { BatchStore } from '../contracts/batch-store.ts';
import { Content, DeletedPlaces, newestAfter, recordsOf, tasksOf } from './memory-batches/records.ts';
import { itemsOf, nameOf } from './memory-batches/items.ts';
import type { BatchFileRecord, BatchFileStore } from '../contracts/batch-file-store.ts';
import type { BatchRecord } from '../contracts/batch-record.ts';

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
  const decoder = new TextDecoder();
  return {
    async openDraft(account, batchId) {
      const draft = entries.draft(account, batchId, now());
      if (draft.record !== undefined) throw new RangeError(`there is a batch "${batchId}"`);
      return Promise.resolve();
    },

    async addItems(account, batchId, items) {
      const entry = entries.find(account, batchId);
      if (entry === undefined || entry.record !== undefined) throw new RangeError(`there is no draft "${batchId}"`);
      for (const { body, ...item } of items) {
        entry.items.add({ ...item, body: typeof body === 'string' ? body : decoder.decode(body) });
      }
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

interface Entry {
  /** Undefined until it is published. */
  record: BatchFileRecord | undefined;
  readonly pieces: Uint8Array[];
  /** Epoch milliseconds of the last change before that. */
  touchedAt: number;
}

/** Files in memory, and how they are deleted when their time is over. */
interface MemoryFiles extends BatchFileStore {
  sweep(draftMs: number, limit: number): number;
}

/** Makes {@link MemoryFiles}. */
function filesOf(now: () => number): MemoryFiles {
  const entries = new Map<string, Entry>();
  const deleted = new DeletedPlaces();
  const published = (account: string, fileId: string): Entry | undefined => {
    const entry = entries.get(nameOf(account, fileId));
    return entry?.record === undefined ? undefined : entry;
  };
  const begun = (account: string, fileId: string): Entry => {
    const entry = entries.get(nameOf(account, fileId));
    if (entry === undefined) throw new RangeError(`there is no file "${fileId}"`);
    return entry;
  };

  return {
    open(account, fileId) {
      const name = nameOf(account, fileId);
      const entry = entries.get(name);
      if (entry === undefined) entries.set(name, { record: undefined, pieces: [], touchedAt: now() });
      else entry.touchedAt = now();
      return Promise.resolve();
    },

    async add(account, fileId, piece, content) {
      const entry = begun(account, fileId);
      if (entry.record !== undefined) throw new RangeError(`the file "${fileId}" is complete`);
      // The bytes belong to whoever gave them.
      entry.pieces[piece] ??= content.slice();
      entry.touchedAt = now();
      return Promise.resolve();
    },

    async publish(file) {
      const entry = begun(file.account, file.id);
      const at = now();
      entry.record ??= { ...file, createdAt: at, deleteAt: at + file.deleteAt };
      return Promise.resolve(entry.record);
    },

    discard(account, fileId) {
      const name = nameOf(account, fileId);
      if (entries.get(name)?.record === undefined) entries.delete(name);
      return Promise.resolve();
    },

    find(account, fileId) {
      return Promise.resolve(published(account, fileId)?.record);
    },

    list(account, { limit, after }) {
      const rest = newestAfter(entries.values(), account, after, deleted);
      if (rest === undefined) return Promise.resolve({ files: [], more: false, isUnknown: true });
      return Promise.resolve({ files: rest.slice(0, limit), more: rest.length > limit });
    },

    read(account, fileId, piece) {
      return Promise.resolve(published(account, fileId)?.pieces[piece]);
    },

    remove(account, fileId) {
      const entry = published(account, fileId);
      if (entry?.record !== undefined) deleted.add(entry.record);
      if (entry !== undefined) entries.delete(nameOf(account, fileId));
      return Promise.resolve(entry !== undefined);
    },

    sweep(draftMs, limit) {
      const time = now();
      const over = [...entries].filter(([, { record, touchedAt }]) =>
        record === undefined ? touchedAt <= time - draftMs : record.deleteAt <= time,
      );
      for (const [name] of over.slice(0, limit)) entries.delete(name);
      return Math.min(over.length, limit);
    },
  };
}
