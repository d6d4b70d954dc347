import { isTerminal } from '../../core/batch/machine.ts';
import type { BatchStore, IdempotencyKey } from '../../contracts/batch-store.ts';
import { Entries, nameOf } from './items.ts';
import { TaskList } from './tasks.ts';

/** Batches that are there. */
type Records = Pick<BatchStore, 'find' | 'list' | 'items' | 'outcomes' | 'recount' | 'save' | 'remove'>;

/** Makes {@link Records} in memory. */
export function recordsOf(content: Content): Records {
  const { entries, tasks } = content;
  return {
    find(account, batchId) {
      return Promise.resolve(entries.find(account, batchId)?.record);
    },

    list(account, { limit, after, statuses, createdAfter = -Infinity, createdBefore = Infinity }) {
      const all = entries
        .all()
        .flatMap(({ record }) => (record?.account === account ? [record] : []))
        .sort((left, right) => right.createdAt - left.createdAt || (left.id < right.id ? 1 : -1));
      const start = after === undefined ? 0 : all.findIndex(({ id }) => id === after) + 1;
      // A batch that is no longer there cannot say where its page ended.
      const rest = after !== undefined && start === 0 ? [] : all.slice(start);
      const found = rest.filter(
        ({ status, createdAt }) =>
          (statuses === undefined || statuses.includes(status)) &&
          createdAt > createdAfter &&
          createdAt < createdBefore,
      );
      return Promise.resolve({ batches: found.slice(0, limit), more: found.length > limit });
    },

    items(account, batchId, after, limit) {
      const page = entries.published(account, batchId)?.items.page(after, limit) ?? [];
      return Promise.resolve(page.map(({ index, customId, body }) => ({ index, customId, body })));
    },

    outcomes(account, batchId, after, limit) {
      return Promise.resolve(entries.published(account, batchId)?.items.outcomes(after, limit) ?? []);
    },

    recount(account, batchId) {
      const outcomes = entries.published(account, batchId)?.items.outcomes() ?? [];
      const failed = outcomes.filter(({ error }) => error !== undefined).length;
      return Promise.resolve({ completed: outcomes.length - failed, failed });
    },

    save(next, following) {
      const entry = entries.published(next.account, next.id);
      if (entry === undefined || entry.record.revision !== next.revision - 1) return Promise.resolve(false);
      entry.record = { ...next, counts: entry.record.counts };
      tasks.put(following);
      return Promise.resolve(true);
    },

    remove(account, batchId) {
      const record = entries.find(account, batchId)?.record;
      if (record === undefined || !isTerminal(record.status)) return Promise.resolve(false);
      content.delete(account, batchId);
      return Promise.resolve(true);
    },
  };
}

/** A key that was used. */
interface KnownKey {
  readonly fingerprint: string;
  /** Epoch milliseconds. */
  readonly expiresAt: number;
  readonly account: string;
  readonly batchId: string;
}

/** Idempotency keys that were used, each with its batch. */
class Keys {
  readonly #keys = new Map<string, KnownKey>();

  /** Keeps a key for a batch, unless it was used before: then it gives what it was used for. */
  claim(account: string, batchId: string, key: IdempotencyKey, now: number): KnownKey | undefined {
    const name = nameOf(account, key.key);
    const known = this.#keys.get(name);
    if (known !== undefined && known.expiresAt > now) return known;
    this.#keys.set(name, { fingerprint: key.fingerprint, expiresAt: now + key.ttlMs, account, batchId });
    return undefined;
  }

  /** Forgets keys whose time is over. */
  expire(now: number): void {
    for (const [name, { expiresAt }] of this.#keys) if (expiresAt <= now) this.#keys.delete(name);
  }

  /** Forgets the keys of a batch. */
  deleteOf(account: string, batchId: string): void {
    for (const [name, key] of this.#keys) {
      if (key.account === account && key.batchId === batchId) this.#keys.delete(name);
    }
  }
}

/** Everything that a storage in memory holds. */
export class Content {
  readonly entries = new Entries();
  readonly tasks = new TaskList();
  readonly keys = new Keys();

  /** Deletes a batch or a draft with everything that belongs to it. */
  delete(account: string, batchId: string): void {
    this.entries.delete(account, batchId);
    this.tasks.deleteOf(account, batchId);
    this.keys.deleteOf(account, batchId);
  }
}
