/** The batch store in memory. */
import { callable } from '../options/values.ts';
import { checkShape } from '../platform/check-options.ts';
import type { BatchStore } from '../contracts/batch-store.ts';
import { Content, DeletedPlaces, memoryRecords, memoryTasks, newestAfter } from './memory-batches/records.ts';
import { memoryItems, entryName } from './memory-batches/items.ts';
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
  const files = memoryFiles(now);
  const tasks = memoryTasks(content, now);
  return {
    durable: false,
    files,
    open: () => Promise.resolve(),
    now: () => Promise.resolve(now()),
    ...memoryDrafts(content, now),
    ...memoryRecords(content),
    ...memoryItems(content, now),
    ...tasks,
    sweep: async (limits) => (await tasks.sweep(limits)) + files.sweep(limits.draftMs, limits.limit),
    close: () => Promise.resolve(),
  };
}

/** Batches that are being made. */
type Drafts = Pick<BatchStore, 'openDraft' | 'addItems' | 'publish' | 'discard'>;

/** Makes {@link Drafts} in memory. */
function memoryDrafts({ entries, tasks, keys }: Content, now: () => number): Drafts {
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
function memoryFiles(now: () => number): MemoryFiles {
  const entries = new FileEntries();
  return { ...memoryFileDrafts(entries, now), ...publishedMemoryFiles(entries, now) };
}

/** Files by account and id. */
class FileEntries {
  readonly #byName = new Map<string, Entry>();
  /** Files that were deleted, whose places lists may go on behind. */
  readonly #deleted = new DeletedPlaces();

  /** One that is published or begun. */
  find(account: string, fileId: string): Entry | undefined {
    return this.#byName.get(entryName(account, fileId));
  }

  published(account: string, fileId: string): Entry | undefined {
    const entry = this.find(account, fileId);
    return entry?.record === undefined ? undefined : entry;
  }

  /** @throws RangeError when there is none. */
  begun(account: string, fileId: string): Entry {
    const entry = this.find(account, fileId);
    if (entry === undefined) throw new RangeError(`there is no file "${fileId}"`);
    return entry;
  }

  begin(account: string, fileId: string, touchedAt: number): void {
    this.#byName.set(entryName(account, fileId), { record: undefined, pieces: [], touchedAt });
  }

  /** Files of an account behind one, the newest first; undefined when that one is unknown. */
  after(account: string, fileId: string | undefined): readonly BatchFileRecord[] | undefined {
    return newestAfter(this.#byName.values(), account, fileId, this.#deleted);
  }

  delete(account: string, fileId: string): void {
    const name = entryName(account, fileId);
    const record = this.#byName.get(name)?.record;
    if (record !== undefined) this.#deleted.add(record);
    this.#byName.delete(name);
  }

  /** Deletes what is over; gives its number. Whoever lists files does not go on behind these. */
  sweep(isOver: (entry: Entry) => boolean, limit: number): number {
    const over = [...this.#byName].filter(([, entry]) => isOver(entry)).slice(0, limit);
    for (const [name] of over) this.#byName.delete(name);
    return over.length;
  }
}

/** Files that are being uploaded. */
function memoryFileDrafts(
  entries: FileEntries,
  now: () => number,
): Pick<BatchFileStore, 'open' | 'add' | 'publish' | 'discard'> {
  return {
    open(account, fileId) {
      const entry = entries.find(account, fileId);
      if (entry === undefined) entries.begin(account, fileId, now());
      else entry.touchedAt = now();
      return Promise.resolve();
    },

    async add(account, fileId, piece, content) {
      const entry = entries.begun(account, fileId);
      if (entry.record !== undefined) throw new RangeError(`the file "${fileId}" is complete`);
      // The bytes belong to whoever gave them.
      entry.pieces[piece] ??= content.slice();
      entry.touchedAt = now();
      return Promise.resolve();
    },

    async publish(file) {
      const entry = entries.begun(file.account, file.id);
      const at = now();
      entry.record ??= { ...file, createdAt: at, deleteAt: at + file.deleteAt };
      return Promise.resolve(entry.record);
    },

    discard(account, fileId) {
      if (entries.published(account, fileId) === undefined) entries.delete(account, fileId);
      return Promise.resolve();
    },
  };
}

/** Files that are there. */
function publishedMemoryFiles(
  entries: FileEntries,
  now: () => number,
): Pick<MemoryFiles, 'find' | 'list' | 'read' | 'remove' | 'sweep'> {
  return {
    find(account, fileId) {
      return Promise.resolve(entries.published(account, fileId)?.record);
    },

    list(account, { limit, after }) {
      const rest = entries.after(account, after);
      if (rest === undefined) return Promise.resolve({ files: [], more: false, isUnknown: true });
      return Promise.resolve({ files: rest.slice(0, limit), more: rest.length > limit });
    },

    read(account, fileId, piece) {
      return Promise.resolve(entries.published(account, fileId)?.pieces[piece]);
    },

    remove(account, fileId) {
      const isThere = entries.published(account, fileId) !== undefined;
      if (isThere) entries.delete(account, fileId);
      return Promise.resolve(isThere);
    },

    sweep(draftMs, limit) {
      const time = now();
      const isOver = ({ record, touchedAt }: Entry): boolean =>
        record === undefined ? touchedAt <= time - draftMs : record.deleteAt <= time;
      return entries.sweep(isOver, limit);
    },
  };
}
