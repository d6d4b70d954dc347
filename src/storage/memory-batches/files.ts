import type { BatchFileRecord, BatchFileStore } from '../../contracts/batch-file-store.ts';
import { nameOf } from './items.ts';

interface Entry {
  /** Undefined until it is published. */
  record: BatchFileRecord | undefined;
  readonly pieces: Uint8Array[];
  /** Epoch milliseconds of the last change before that. */
  touchedAt: number;
}

/** Files in memory, and how they are deleted when their time is over. */
export interface MemoryFiles extends BatchFileStore {
  sweep(draftMs: number, limit: number): number;
}

/** Makes {@link MemoryFiles}. */
export function filesOf(now: () => number): MemoryFiles {
  const entries = new Map<string, Entry>();
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
      const all = [...entries.values()]
        .flatMap(({ record }) => (record?.account === account ? [record] : []))
        .sort((left, right) => right.createdAt - left.createdAt || (left.id < right.id ? 1 : -1));
      const start = after === undefined ? 0 : all.findIndex(({ id }) => id === after) + 1;
      const rest = after !== undefined && start === 0 ? [] : all.slice(start);
      return Promise.resolve({ files: rest.slice(0, limit), more: rest.length > limit });
    },

    read(account, fileId, piece) {
      return Promise.resolve(published(account, fileId)?.pieces[piece]);
    },

    remove(account, fileId) {
      const entry = published(account, fileId);
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
