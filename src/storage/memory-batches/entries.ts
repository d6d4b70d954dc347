import type { BatchRecord } from '../../core/batch/batch-record.ts';
import { ItemList } from './item-list.ts';

/** A draft or a batch with its requests. */
export interface Entry {
  /** Undefined while it is a draft. */
  record: BatchRecord | undefined;
  readonly account: string;
  readonly batchId: string;
  readonly items: ItemList;
  /** Epoch milliseconds of the last change of the draft. */
  touchedAt: number;
}

/** A batch with its requests. */
export type Published = Entry & { record: BatchRecord };

/** Drafts and batches of all accounts. */
export class Entries {
  readonly #entries = new Map<string, Entry>();

  /** All of them, in no order. */
  all(): readonly Entry[] {
    return [...this.#entries.values()];
  }

  find(account: string, batchId: string): Entry | undefined {
    return this.#entries.get(nameOf(account, batchId));
  }

  published(account: string, batchId: string): Published | undefined {
    const entry = this.find(account, batchId);
    return entry !== undefined && isPublished(entry) ? entry : undefined;
  }

  /** The draft of this name, as it is or empty. */
  draft(account: string, batchId: string, now: number): Entry {
    const known = this.find(account, batchId);
    if (known !== undefined) return known;
    const draft: Entry = { record: undefined, account, batchId, items: new ItemList(), touchedAt: now };
    this.#entries.set(nameOf(account, batchId), draft);
    return draft;
  }

  delete(account: string, batchId: string): void {
    this.#entries.delete(nameOf(account, batchId));
  }
}

/** A name of an account as one text. */
export function nameOf(account: string, name: string): string {
  return JSON.stringify([account, name]);
}

function isPublished(entry: Entry): entry is Published {
  return entry.record !== undefined;
}
