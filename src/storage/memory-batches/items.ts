import type { BatchStore, StoredOutcome } from '../../contracts/batch-store.ts';
import type { Content } from './records.ts';
import { free, holds, type Item, type Published } from './item-list.ts';

/** Requests that are being run. */
export type Items = Pick<
  BatchStore,
  'claimItems' | 'renewItems' | 'releaseItems' | 'storeOutcomes' | 'failRemaining' | 'findShared'
>;

/** Makes {@link Items} in memory. */
export function itemsOf({ entries }: Content, now: () => number): Items {
  function held(account: string, batchId: string, token: string): readonly Item[] {
    return entries.find(account, batchId)?.items.held(token, now()) ?? [];
  }

  return {
    claimItems(account, batchId, { limit, leaseMs, token, indexes, fresh = false }) {
      const entry = entries.published(account, batchId);
      const status = entry?.record.status;
      const mayRun = status === 'in_progress' || (status === 'cancelling' && indexes !== undefined);
      if (entry === undefined || !mayRun) return Promise.resolve([]);
      const { items } = entry;
      const time = now();
      const claimed = indexes === undefined ? items.idle(limit, time, fresh) : items.idleOf(indexes, limit, time);
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

    storeOutcomes(account, batchId, token, outcomes) {
      const entry = entries.published(account, batchId);
      const status = entry?.record.status;
      const stored: number[] = [];
      if (entry === undefined || (status !== 'in_progress' && status !== 'cancelling')) return Promise.resolve(stored);
      const time = now();
      for (const outcome of outcomes) {
        const item = entry.items.at(outcome.index);
        if (item === undefined || item.outcome !== undefined || !holds(item, token, time)) continue;
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
