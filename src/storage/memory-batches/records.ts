import { isTerminal } from '../../core/batch/machine.ts';
import type { BatchStore } from '../batch-store.ts';
import type { Content } from './content.ts';

/** Batches that are there. */
export type Records = Pick<BatchStore, 'find' | 'list' | 'items' | 'outcomes' | 'recount' | 'save' | 'remove'>;

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
