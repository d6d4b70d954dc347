/** Batch records and drafts in SQLite. */
import { type BatchStore, DuplicateCustomIdError, type PublishOutcome } from '../../contracts/batch-store.ts';
import {
  type BatchOwner,
  itemOf,
  storedOutcome,
  ownerOf,
  publishedRecord,
  storedBatch,
  recordText,
  storable,
  storedNumber,
  storedText,
  wholeMs,
} from '../stored-rows.ts';
import type { SqliteConnection } from './connection.ts';

/** Batches that are there. */
type Records = Pick<BatchStore, 'find' | 'list' | 'items' | 'outcomes' | 'recount' | 'save' | 'remove'>;

/** Makes {@link Records} over a file. */
export function sqliteRecords(connection: SqliteConnection, now: () => number): Records {
  return {
    async find(account, batchId) {
      const row = await connection.read(() => connection.first('findBatch', ownerOf(account, batchId)));
      return row === undefined ? undefined : storedBatch(row);
    },

    async list(account, { limit, after, statuses, createdAfter, createdBefore }) {
      const rows = await connection.read(() =>
        connection.all('listBatches', {
          account: storable(account),
          limit: limit + 1,
          after: after === undefined ? null : storable(after),
          statuses: statuses === undefined ? null : JSON.stringify(statuses),
          createdAfter: createdAfter ?? Number.MIN_SAFE_INTEGER,
          createdBefore: createdBefore ?? Number.MAX_SAFE_INTEGER,
        }),
      );
      const batches = rows.slice(0, limit).map(storedBatch);
      if (batches.length > 0 || after === undefined) return { batches, more: rows.length > limit };
      const was = await connection.read(() =>
        connection.first('wasBatch', { account: storable(account), after: storable(after) }),
      );
      return { batches, more: false, isUnknown: was === undefined };
    },

    async items(account, batchId, after, limit) {
      const values = { ...ownerOf(account, batchId), after, limit };
      const rows = await connection.read(() => connection.all('pageItems', values));
      return rows.map(itemOf);
    },

    async outcomes(account, batchId, after, limit) {
      const values = { ...ownerOf(account, batchId), after, limit };
      const rows = await connection.read(() => connection.all('pageOutcomes', values));
      return rows.map(storedOutcome);
    },

    async recount(account, batchId) {
      const row = await connection.read(() => connection.first('recount', ownerOf(account, batchId)));
      return { completed: storedNumber(row, 'completed'), failed: storedNumber(row, 'failed') };
    },

    save: (next, tasks) => connection.write(() => saveBatch(connection, next, tasks)),

    async remove(account, batchId) {
      const owner = ownerOf(account, batchId);
      const hidden = await connection.write(() => {
        if (connection.run('hideBatch', { ...owner, now: now() }) === 0) return false;
        connection.run('deleteTasks', owner);
        connection.run('deleteKeys', owner);
        return true;
      });
      if (hidden) await purgeSqliteBatch(connection, owner, { keepsPlace: true });
      return hidden;
    },
  };
}

/** Saves the next state of a batch with its tasks; false when another change was saved before. */
function saveBatch(connection: SqliteConnection, ...[next, tasks]: Parameters<BatchStore['save']>): boolean {
  const owner = ownerOf(next.account, next.id);
  const { status, revision } = next;
  const deleteAt = wholeMs(next.deleteAt);
  const saved = connection.run('saveBatch', { ...owner, status, revision, deleteAt, record: recordText(next) });
  if (saved === 0) return false;
  for (const { account, batchId, effect, runAt } of tasks) {
    connection.run('putTask', { ...ownerOf(account, batchId), effect, runAt: wholeMs(runAt) });
  }
  return true;
}

/** Batches that are being made. */
type Drafts = Pick<BatchStore, 'openDraft' | 'addItems' | 'publish' | 'discard'>;

/** Makes {@link Drafts} over a file. */
export function sqliteDrafts(connection: SqliteConnection, now: () => number): Drafts {
  return {
    async openDraft(account, batchId) {
      const owner = ownerOf(account, batchId);
      const begun = await connection.write(() => {
        // Of a batch that was removed only its place in lists is left.
        connection.run('deleteRow', owner);
        return connection.run('insertDraft', { ...owner, now: now() });
      });
      if (begun === 0) throw new RangeError(`there is a batch "${batchId}"`);
    },

    async addItems(account, batchId, items) {
      const batch = ownerOf(account, batchId);
      let added = 0;
      // A draft that a power cut takes was announced to no client; its publication waits for all of it.
      await connection.writeDraftInSlices((hasTime) => {
        if (connection.run('touchDraft', { ...batch, now: now() }) === 0) {
          throw new RangeError(`there is no draft "${batchId}"`);
        }
        for (let item = items[added]; item !== undefined && hasTime(); item = items[added]) {
          const customId = storable(item.customId);
          if (connection.run('insertItem', { ...batch, position: item.index, customId }) === 0) {
            const first = Number(connection.first('findCustomId', { ...batch, customId })?.['position']);
            throw new DuplicateCustomIdError(first, item.index);
          }
          connection.run('insertBody', { ...batch, position: item.index, body: item.body });
          added += 1;
        }
        return added < items.length;
      });
    },

    async publish(...publication) {
      const outcome = await connection.write(() => publishDraft(connection, now(), ...publication));
      const [{ account, id }] = publication;
      if (outcome.type === 'repeated') await purgeSqliteBatch(connection, ownerOf(account, id));
      return outcome;
    },

    async discard(account, batchId) {
      const owner = ownerOf(account, batchId);
      const hidden = await connection.write(() => connection.run('hideDraft', owner));
      if (hidden > 0) await purgeSqliteBatch(connection, owner);
    },
  };
}

/** Makes a batch of a draft, unless its idempotency key is that of another one. */
function publishDraft(
  connection: SqliteConnection,
  at: number,
  ...[batch, effects, idempotency]: Parameters<BatchStore['publish']>
): PublishOutcome {
  const owner = ownerOf(batch.account, batch.id);
  const row = connection.first('findRow', owner);
  if (row?.['stage'] === 'batch') return { type: 'published', batch: storedBatch(row) };
  if (row?.['stage'] !== 'draft') throw new RangeError(`there is no draft "${batch.id}"`);
  if (idempotency !== undefined) {
    const { fingerprint, ttlMs } = idempotency;
    const name = { account: owner.account, key: storable(idempotency.key) };
    const known = connection.first('findKey', name);
    if (known !== undefined && Number(known['expires_at']) > at) {
      connection.run('hideDraft', owner);
      const sameContent = known['fingerprint'] === storable(fingerprint);
      return { type: 'repeated', batchId: storedText(known, 'batch_id'), sameContent };
    }
    const expiresAt = at + wholeMs(ttlMs);
    connection.run('upsertKey', {
      ...name,
      batchId: owner.batchId,
      fingerprint: storable(fingerprint),
      expiresAt,
    });
  }
  const total = Number(connection.first('countItems', owner)?.['total']);
  const record = publishedRecord(batch, at, total);
  const { status, revision, createdAt, deleteAt } = record;
  const text = recordText(record);
  connection.run('publish', { ...owner, status, revision, createdAt, deleteAt, total, record: text });
  for (const effect of effects) connection.run('putTask', { ...owner, effect, runAt: at });
  return { type: 'published', batch: record };
}

/**
 * Deletes everything of a batch that was hidden before, a slice at a time. When it is interrupted, `sweep` goes on.
 *
 * @param keepsPlace - Whether its row stays for a while: a list may go on behind it.
 * @returns True when it was this call that deleted the last of it.
 */
export async function purgeSqliteBatch(
  connection: SqliteConnection,
  owner: BatchOwner,
  { keepsPlace = false }: { readonly keepsPlace?: boolean | undefined } = {},
): Promise<boolean> {
  let deleted = false;
  await connection.writeInSlices((hasTime) => {
    do {
      const position = connection.first('firstItem', owner)?.['position'];
      if (position === undefined) {
        connection.run('deleteTasks', owner);
        connection.run('deleteKeys', owner);
        deleted = keepsPlace || connection.run('deleteRow', owner) > 0;
        return false;
      }
      const item = { ...owner, position };
      connection.run('deleteOutcome', item);
      connection.run('deleteBody', item);
      connection.run('deleteItem', item);
    } while (hasTime());
    return true;
  });
  return deleted;
}
