/** Requests and tasks of batches in PostgreSQL. */
import type { BatchStore } from '../../contracts/batch-store.ts';
import {
  claimedItems,
  claimedTask,
  columnOf,
  firstOutcomes,
  heldTask,
  outcomeText,
  ownerOf,
  storable,
  storedNumber,
  storedText,
  wholeMs,
} from '../stored-rows.ts';
import type { PostgresDatabase } from './database.ts';
import { purgePostgresBatch } from './records.ts';

/** Requests that are being run. */
type Items = Pick<
  BatchStore,
  'claimItems' | 'renewItems' | 'releaseItems' | 'storeOutcomes' | 'failRemaining' | 'findShared'
>;

/** Requests that are failed in one transaction. */
const PAGE = 500;

/** Makes {@link Items} over a database. */
export function postgresItems(database: PostgresDatabase): Items {
  return {
    async claimItems(account, batchId, { limit, leaseMs, token, indexes, fresh = false }) {
      const values = { ...ownerOf(account, batchId), limit, leaseMs: wholeMs(leaseMs), token: storable(token) };
      const rows =
        indexes === undefined
          ? await database.all(fresh ? 'claimFresh' : 'claimItems', values)
          : await database.all('claimNamed', { ...values, positions: indexes });
      return claimedItems(rows);
    },

    async findShared(limit) {
      const rows = await database.all('findShared', { limit });
      return rows.map((row) => ({ account: storedText(row, 'account'), batchId: storedText(row, 'id') }));
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
      const given = firstOutcomes(outcomes);
      const values = {
        ...ownerOf(account, batchId),
        token: storable(token),
        positions: given.map(({ index }) => index),
        failures: given.map(({ error }) => error !== undefined),
        outcomes: given.map(outcomeText),
      };
      return (await database.all('settleHeld', values)).map((row) => storedNumber(row, 'position'));
    },

    async failRemaining(account, batchId, error, resultIdOf) {
      const owner = ownerOf(account, batchId);
      const failPage = (): Promise<number> =>
        database.transaction(async (session) => {
          if ((await session.first('lockBatch', owner)) === undefined) return 0;
          const rows = await session.all('pageOpen', { ...owner, limit: PAGE });
          const positions = rows.map((row) => storedNumber(row, 'position'));
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

/** What is to be done, by whoever comes first. */
type Tasks = Pick<BatchStore, 'claimTasks' | 'renewTask' | 'finishTask' | 'rescheduleTask' | 'nextTaskIn' | 'sweep'>;

/** Makes {@link Tasks} over a database. */
export function postgresTasks(database: PostgresDatabase): Tasks {
  return {
    async claimTasks({ limit, leaseMs, token }) {
      const rows = await database.all('claimTasks', { limit, leaseMs: wholeMs(leaseMs), token: storable(token) });
      return rows.map((row) => claimedTask(row, token)).sort((left, right) => left.runAt - right.runAt);
    },

    async renewTask(task, leaseMs) {
      return (await database.run('renewTask', { ...heldTask(task), leaseMs: wholeMs(leaseMs) })) > 0;
    },

    async finishTask(task) {
      return (await database.run('finishTask', heldTask(task))) > 0;
    },

    async rescheduleTask(task, { afterMs, memo, reset = false }) {
      const next = { afterMs: wholeMs(afterMs), memo: memo === undefined ? null : JSON.stringify(memo), reset };
      return (await database.run('rescheduleTask', { ...heldTask(task), ...next })) > 0;
    },

    async nextTaskIn() {
      const row = await database.first('nextTask');
      return row?.['left'] === null ? undefined : Math.max(0, storedNumber(row, 'left'));
    },

    async sweep({ draftMs, limit }) {
      await database.run('deleteOldKeys');
      const over = await database.transaction(async (session) => {
        const rows = await session.all('hideOver', { draftMs: wholeMs(draftMs), limit });
        const owners = rows.map((row) => ({ account: columnOf(row, 'account'), batchId: columnOf(row, 'id') }));
        for (const owner of owners) {
          await session.run('deleteTasks', owner);
          await session.run('deleteKeys', owner);
        }
        return owners;
      });
      let deleted = 0;
      for (const owner of over) if (await purgePostgresBatch(database, owner)) deleted += 1;
      return deleted;
    },
  };
}
