import type { BatchStore } from '../batch-store.ts';
import { firstOutcomes, outcomeText, storable, wholeMs } from '../stored-rows.ts';
import type { PostgresDatabase } from './database.ts';
import { columnOf, numberOf, ownerOf, textOf } from './rows.ts';

/** Requests that are being run. */
export type Items = Pick<BatchStore, 'claimItems' | 'renewItems' | 'releaseItems' | 'storeOutcomes' | 'failRemaining'>;

/** Requests that are failed in one transaction. */
const PAGE = 500;

/** Makes {@link Items} over a database. */
export function itemsOf(database: PostgresDatabase): Items {
  return {
    async claimItems(account, batchId, { limit, leaseMs, token, indexes }) {
      const values = { ...ownerOf(account, batchId), limit, leaseMs: wholeMs(leaseMs), token: storable(token) };
      const rows =
        indexes === undefined
          ? await database.all('claimItems', values)
          : await database.all('claimNamed', { ...values, positions: indexes });
      const claimed = rows.map((row) => ({
        index: numberOf(row, 'position'),
        customId: textOf(row, 'custom_id'),
        body: columnOf(row, 'body'),
        attempts: numberOf(row, 'attempts'),
      }));
      return claimed.sort((left, right) => left.index - right.index);
    },

    renewItems(account, batchId, token, leaseMs) {
      const values = { ...ownerOf(account, batchId), token: storable(token), leaseMs: wholeMs(leaseMs) };
      return database.run('renewItems', values);
    },

    async releaseItems(account, batchId, token) {
      await database.run('releaseItems', { ...ownerOf(account, batchId), token: storable(token) });
    },

    async storeOutcomes(account, batchId, token, outcomes) {
      if (outcomes.length === 0) return [];
      const owner = ownerOf(account, batchId);
      const given = firstOutcomes(outcomes);
      const values = {
        ...owner,
        token: storable(token),
        positions: given.map(({ index }) => index),
        failures: given.map(({ error }) => error !== undefined),
        outcomes: given.map(outcomeText),
      };
      return database.transaction(async (session) => {
        if ((await session.first('lockRunning', owner)) === undefined) return [];
        return (await session.all('settleHeld', values)).map((row) => numberOf(row, 'position'));
      });
    },

    async failRemaining(account, batchId, error, resultIdOf) {
      const owner = ownerOf(account, batchId);
      const failPage = (): Promise<number> =>
        database.transaction(async (session) => {
          if ((await session.first('lockBatch', owner)) === undefined) return 0;
          const rows = await session.all('pageOpen', { ...owner, limit: PAGE });
          const positions = rows.map((row) => numberOf(row, 'position'));
          const settled = await session.all('settleOpen', {
            ...owner,
            positions,
            failures: positions.map(() => true),
            outcomes: positions.map((index) => outcomeText({ index, resultId: resultIdOf(index), error })),
          });
          return settled.length;
        });
      let total = 0;
      for (let failed = PAGE; failed === PAGE; total += failed) failed = await failPage();
      return total;
    },
  };
}
