import type { BatchStore } from '../batch-store.ts';
import { firstOutcomes, outcomeText, storable, wholeMs } from '../stored-rows.ts';
import type { SqliteConnection } from './connection.ts';
import { ownerOf, textOf } from './rows.ts';

/** Requests that are being run. */
export type Items = Pick<BatchStore, 'claimItems' | 'renewItems' | 'releaseItems' | 'storeOutcomes' | 'failRemaining'>;

/** Requests that are looked up at once when the rest is failed. */
const PAGE = 100;

/** Makes {@link Items} over a file. */
export function itemsOf(connection: SqliteConnection, now: () => number): Items {
  return {
    async claimItems(account, batchId, { limit, leaseMs, token, indexes }) {
      const owner = ownerOf(account, batchId);
      const values = { ...owner, limit, leaseMs: wholeMs(leaseMs), token: storable(token) };
      const claimed = await connection.write(() =>
        (indexes === undefined
          ? connection.all('claimItems', { ...values, now: now() })
          : connection.all('claimNamed', { ...values, positions: JSON.stringify(indexes), now: now() })
        ).map((row) => ({
          index: Number(row['position']),
          customId: textOf(row, 'custom_id'),
          body: String(connection.first('readBody', { ...owner, position: Number(row['position']) })?.['body']),
          attempts: Number(row['attempts']),
        })),
      );
      return claimed.sort((left, right) => left.index - right.index);
    },

    renewItems(account, batchId, token, leaseMs) {
      const values = { ...ownerOf(account, batchId), token: storable(token), leaseMs: wholeMs(leaseMs) };
      return connection.write(() => connection.run('renewItems', { ...values, now: now() }));
    },

    async releaseItems(account, batchId, token) {
      const values = { ...ownerOf(account, batchId), token: storable(token) };
      await connection.write(() => connection.run('releaseItems', { ...values, now: now() }));
    },

    storeOutcomes(account, batchId, token, outcomes) {
      const owner = ownerOf(account, batchId);
      return connection.write(() => {
        if (connection.first('mayStore', owner) === undefined) return [];
        const held = { ...owner, token: storable(token), now: now() };
        const stored = firstOutcomes(outcomes).filter((outcome) => {
          const item = { position: outcome.index, failed: outcome.error === undefined ? 0 : 1 };
          if (connection.run('settleHeld', { ...held, ...item }) === 0) return false;
          connection.run('insertOutcome', { ...owner, position: outcome.index, outcome: outcomeText(outcome) });
          return true;
        });
        const failed = stored.filter(({ error }) => error !== undefined).length;
        if (stored.length > 0) connection.run('addCounts', { ...owner, completed: stored.length - failed, failed });
        return stored.map(({ index }) => index);
      });
    },

    async failRemaining(account, batchId, error, resultIdOf) {
      const owner = ownerOf(account, batchId);
      let total = 0;
      await connection.writeInSlices((hasTime) => {
        let failed = 0;
        let open: number;
        do {
          const page = connection.all('pageOpen', { ...owner, limit: PAGE });
          open = page.length;
          for (const row of page) {
            const index = Number(row['position']);
            const outcome = outcomeText({ index, resultId: resultIdOf(index), error });
            connection.run('settleOpen', { ...owner, position: index });
            connection.run('insertOutcome', { ...owner, position: index, outcome });
          }
          failed += open;
        } while (open === PAGE && hasTime());
        if (failed > 0) connection.run('addCounts', { ...owner, completed: 0, failed });
        total += failed;
        return open === PAGE;
      });
      return total;
    },
  };
}
