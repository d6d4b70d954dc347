import type { BatchRecord } from '../../core/batch/batch-record.ts';

/** Tells those in this process who work on a batch when it changes, so that they need not find out by asking. */
export class BatchWatchers {
  readonly #watchers = new Map<string, Set<(record: BatchRecord) => void>>();

  /** Watches one batch; gives the function that ends it. */
  watch(batchId: string, watcher: (record: BatchRecord) => void): () => void {
    const known = this.#watchers.get(batchId) ?? new Set();
    this.#watchers.set(batchId, known.add(watcher));
    return () => {
      known.delete(watcher);
      if (known.size === 0) this.#watchers.delete(batchId);
    };
  }

  changed(record: BatchRecord): void {
    for (const watcher of this.#watchers.get(record.id) ?? []) watcher(record);
  }
}
