import { type BatchStore, DuplicateCustomIdError, type PublishOutcome } from '../batch-store.ts';
import { publishedRecord, recordOf, recordText, storable, wholeMs } from '../stored-rows.ts';
import type { SqliteConnection } from './connection.ts';
import { purge } from './purge.ts';
import { ownerOf, recordColumns, textOf } from './rows.ts';

/** Batches that are being made. */
export type Drafts = Pick<BatchStore, 'openDraft' | 'addItems' | 'publish' | 'discard'>;

/** Makes {@link Drafts} over a file. */
export function draftsOf(connection: SqliteConnection, now: () => number): Drafts {
  return {
    async openDraft(account, batchId) {
      const begun = await connection.write(() =>
        connection.run('insertDraft', { ...ownerOf(account, batchId), now: now() }),
      );
      if (begun === 0) throw new RangeError(`there is a batch "${batchId}"`);
    },

    async addItems(account, batchId, items) {
      const batch = ownerOf(account, batchId);
      let added = 0;
      await connection.writeInSlices((hasTime) => {
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
        // A draft that a power cut takes is none that anybody was told of; its publication waits for all of it.
      }, false);
    },

    async publish(batch, effects, idempotency) {
      const owner = ownerOf(batch.account, batch.id);
      const outcome = await connection.write((): PublishOutcome => {
        const at = now();
        const row = connection.first('findRow', owner);
        if (row?.['stage'] === 'batch') return { type: 'published', batch: recordOf(recordColumns(row)) };
        if (row?.['stage'] !== 'draft') throw new RangeError(`there is no draft "${batch.id}"`);
        if (idempotency !== undefined) {
          const { fingerprint, ttlMs } = idempotency;
          const name = { account: owner.account, key: storable(idempotency.key) };
          const known = connection.first('findKey', name);
          if (known !== undefined && Number(known['expires_at']) > at) {
            connection.run('hideDraft', owner);
            const sameContent = known['fingerprint'] === storable(fingerprint);
            return { type: 'repeated', batchId: textOf(known, 'batch_id'), sameContent };
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
      });
      if (outcome.type === 'repeated') await purge(connection, owner);
      return outcome;
    },

    async discard(account, batchId) {
      const owner = ownerOf(account, batchId);
      const hidden = await connection.write(() => connection.run('hideDraft', owner));
      if (hidden > 0) await purge(connection, owner);
    },
  };
}
