import { callable, checkShape } from '../core/options/option-kinds.ts';
import type { BatchStore } from './batch-store.ts';
import { Content } from './memory-batches/content.ts';
import { draftsOf } from './memory-batches/drafts.ts';
import { itemsOf } from './memory-batches/items.ts';
import { recordsOf } from './memory-batches/records.ts';
import { tasksOf } from './memory-batches/tasks.ts';

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
  return {
    durable: false,
    open: () => Promise.resolve(),
    now: () => Promise.resolve(now()),
    ...draftsOf(content, now),
    ...recordsOf(content),
    ...itemsOf(content, now),
    ...tasksOf(content, now),
    close: () => Promise.resolve(),
  };
}
