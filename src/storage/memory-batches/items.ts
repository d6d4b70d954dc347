/** Requests, outcomes and leases of batches in memory. */
import {
  type BatchStore,
  DuplicateCustomIdError,
  type StoredItem,
  type StoredOutcome,
} from '../../contracts/batch-store.ts';
import type { BatchRecord } from '../../contracts/batch-record.ts';

/** A request, who holds it, and what became of it. */
interface Item extends StoredItem, Lease {
  attempts: number;
  outcome?: StoredOutcome | undefined;
}

/**
 * The requests of one batch. What a worker looks up again and again costs as much as there are requests under way, not
 * as many as the batch has: those that nobody ever claimed lie behind a mark, and those that somebody did are kept
 * apart until they have their outcome.
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

  /** The first requests that nobody has claimed. */
  fresh(limit: number): readonly Item[] {
    return this.#neverClaimed(limit).filter(({ attempts }) => attempts === 0);
  }

  /** The first requests that have no outcome and that nobody holds. */
  idle(limit: number, now: number): readonly Item[] {
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
  held(token: string): readonly Item[] {
    return [...this.#begun].filter((item) => item.token === token);
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
type Published = Entry & { record: BatchRecord };

/** Drafts and batches of all accounts. */
export class Entries {
  readonly #entries = new Map<string, Entry>();

  /** All of them, in no order. */
  all(): readonly Entry[] {
    return [...this.#entries.values()];
  }

  find(account: string, batchId: string): Entry | undefined {
    return this.#entries.get(entryName(account, batchId));
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
    this.#entries.set(entryName(account, batchId), draft);
    return draft;
  }

  delete(account: string, batchId: string): void {
    this.#entries.delete(entryName(account, batchId));
  }
}

/** A name of an account as one text. */
export function entryName(account: string, name: string): string {
  return JSON.stringify([account, name]);
}

function isPublished(entry: Entry): entry is Published {
  return entry.record !== undefined;
}

/** Who holds something, and until when nobody else may take it. */
export interface Lease {
  token?: string | undefined;
  /** Epoch milliseconds; 0 when nobody holds it. */
  leaseUntil: number;
}

/** Gives it back. */
export function free(lease: Lease): void {
  lease.token = undefined;
  lease.leaseUntil = 0;
}

/** Requests that are being run. */
type Items = Pick<
  BatchStore,
  'claimItems' | 'renewItems' | 'releaseItems' | 'storeOutcomes' | 'failRemaining' | 'findShared'
>;

/** Makes {@link Items} in memory. */
export function memoryItems({ entries }: { readonly entries: Entries }, now: () => number): Items {
  return { ...memoryClaims(entries, now), ...memoryOutcomes(entries) };
}

/** Requests that are claimed and given back. */
function memoryClaims(
  entries: Entries,
  now: () => number,
): Pick<Items, 'claimItems' | 'renewItems' | 'releaseItems' | 'findShared'> {
  function held(account: string, batchId: string, token: string): readonly Item[] {
    return entries.find(account, batchId)?.items.held(token) ?? [];
  }

  return {
    claimItems(account, batchId, { limit, leaseMs, token, indexes, fresh = false }) {
      const entry = entries.published(account, batchId);
      const status = entry?.record.status;
      const mayRun = status === 'in_progress' || (status === 'cancelling' && indexes !== undefined);
      if (entry === undefined || !mayRun) return Promise.resolve([]);
      const { items } = entry;
      const time = now();
      const idle = fresh ? items.fresh(limit) : items.idle(limit, time);
      const claimed = indexes === undefined ? idle : items.idleOf(indexes, limit, time);
      for (const item of claimed) items.claim(item, token, time + leaseMs);
      return Promise.resolve(
        claimed.map(({ index, customId, body, attempts }) => ({ index, customId, body, attempts })),
      );
    },

    findShared(limit) {
      const waiting = entries
        .all()
        .filter(({ record, items }) => record?.status === 'in_progress' && record.shared === true && items.hasFresh());
      return Promise.resolve(waiting.slice(0, limit).map(({ account, batchId }) => ({ account, batchId })));
    },

    renewItems(account, batchId, token, leaseMs) {
      const renewed = held(account, batchId, token);
      for (const item of renewed) item.leaseUntil = now() + leaseMs;
      return Promise.resolve(renewed.length);
    },

    releaseItems(account, batchId, token) {
      for (const item of held(account, batchId, token)) {
        item.attempts -= 1;
        free(item);
      }
      return Promise.resolve();
    },
  };
}

/** Outcomes of requests. */
function memoryOutcomes(entries: Entries): Pick<Items, 'storeOutcomes' | 'failRemaining'> {
  return {
    storeOutcomes(account, batchId, token, outcomes) {
      const entry = entries.published(account, batchId);
      const status = entry?.record.status;
      const stored: number[] = [];
      if (entry === undefined || (status !== 'in_progress' && status !== 'cancelling')) return Promise.resolve(stored);
      for (const outcome of outcomes) {
        const item = entry.items.at(outcome.index);
        if (item === undefined || item.outcome !== undefined || item.token !== token) continue;
        settle(entry, item, { ...outcome, customId: item.customId });
        stored.push(outcome.index);
      }
      return Promise.resolve(stored);
    },

    failRemaining(account, batchId, error, resultIdOf) {
      const entry = entries.published(account, batchId);
      if (entry === undefined) return Promise.resolve(0);
      const left = entry.items.open();
      for (const item of left) {
        const { index, customId } = item;
        settle(entry, item, { index, customId, resultId: resultIdOf(index), error });
      }
      return Promise.resolve(left.length);
    },
  };
}

/** Stores an outcome and counts it. */
function settle(entry: Published, item: Item, outcome: StoredOutcome): void {
  entry.items.settle(item, outcome);
  const { counts } = entry.record;
  const count = outcome.error === undefined ? 'completed' : 'failed';
  entry.record = { ...entry.record, counts: { ...counts, [count]: counts[count] + 1 } };
}
