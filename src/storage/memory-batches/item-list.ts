import { DuplicateCustomIdError, type StoredItem, type StoredOutcome } from '../../contracts/batch-store.ts';
import type { BatchRecord } from '../../core/batch/batch-record.ts';

/** A request, who holds it, and what became of it. */
export interface Item extends StoredItem, Lease {
  attempts: number;
  outcome?: StoredOutcome | undefined;
}

/**
 * The requests of one batch. What a worker asks for again and again costs as much as there are requests under way, not
 * as many as the batch has: those that nobody ever claimed lie behind a mark, and those that somebody did are kept apart
 * until they have their outcome.
 */
class ItemList {
  readonly #items: Item[] = [];
  readonly #indexes = new Map<string, number>();
  /** Requests that were claimed and have no outcome. */
  readonly #begun = new Set<Item>();
  /** Every request before this place was claimed, or has an outcome. */
  #fresh = 0;

  get size(): number {
    return this.#items.length;
  }

  /** @throws {@link DuplicateCustomIdError} */
  add({ index, customId, body }: StoredItem): void {
    const first = this.#indexes.get(customId);
    if (first !== undefined) throw new DuplicateCustomIdError(first, index);
    this.#indexes.set(customId, index);
    this.#items.push({ index, customId, body, attempts: 0, leaseUntil: 0 });
  }

  at(index: number): Item | undefined {
    return this.#items[index];
  }

  /** Requests after an index, in their order. */
  page(after: number, limit: number): readonly Item[] {
    return this.#items.slice(after + 1, after + 1 + limit);
  }

  /** Outcomes after an index, in their order. */
  outcomes(after = -1, limit = Infinity): readonly StoredOutcome[] {
    const found: StoredOutcome[] = [];
    for (let index = after + 1; index < this.#items.length && found.length < limit; index += 1) {
      const outcome = this.#items[index]?.outcome;
      if (outcome !== undefined) found.push(outcome);
    }
    return found;
  }

  /** Requests that have no outcome. */
  open(): readonly Item[] {
    return this.#items.filter(({ outcome }) => outcome === undefined);
  }

  /** The first requests that have no outcome and that nobody holds. */
  idle(limit: number, now: number, fresh: boolean): readonly Item[] {
    if (fresh) return this.#neverClaimed(limit).filter(({ attempts }) => attempts === 0);
    const given = [...this.#begun].filter(({ leaseUntil }) => leaseUntil <= now);
    const all = [...given, ...this.#neverClaimed(limit)];
    return all.sort((left, right) => left.index - right.index).slice(0, limit);
  }

  /** Those of the named requests that have no outcome and that nobody holds. */
  idleOf(indexes: readonly number[], limit: number, now: number): readonly Item[] {
    const named = [...new Set(indexes)].sort((left, right) => left - right).flatMap((index) => this.at(index) ?? []);
    return named.filter(({ outcome, leaseUntil }) => outcome === undefined && leaseUntil <= now).slice(0, limit);
  }

  /** True while there are requests that nobody has claimed. */
  hasFresh(): boolean {
    return this.#neverClaimed(1).length > 0;
  }

  claim(item: Item, token: string, leaseUntil: number): void {
    item.attempts += 1;
    item.token = token;
    item.leaseUntil = leaseUntil;
    this.#begun.add(item);
  }

  /** Requests that a token holds. */
  held(token: string, now: number): readonly Item[] {
    return [...this.#begun].filter((item) => holds(item, token, now));
  }

  settle(item: Item, outcome: StoredOutcome): void {
    item.outcome = outcome;
    free(item);
    this.#begun.delete(item);
  }

  #neverClaimed(limit: number): readonly Item[] {
    const found: Item[] = [];
    for (let place = this.#fresh; place < this.#items.length && found.length < limit; place += 1) {
      const item = this.#items[place];
      if (item !== undefined && item.outcome === undefined && !this.#begun.has(item)) found.push(item);
      else if (found.length === 0) this.#fresh = place + 1;
    }
    return found;
  }
}

/** A draft or a batch with its requests. */
interface Entry {
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

/** Who holds something, and until when. */
export interface Lease {
  token?: string | undefined;
  /** Epoch milliseconds; 0 when nobody holds it. */
  leaseUntil: number;
}

/** True while a token holds it. */
export function holds({ token: held, leaseUntil }: Lease, token: string, now: number): boolean {
  return held === token && leaseUntil > now;
}

/** Gives it back. */
export function free(lease: Lease): void {
  lease.token = undefined;
  lease.leaseUntil = 0;
}
