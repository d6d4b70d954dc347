import { type BatchStore, DuplicateCustomIdError, type PublishOutcome } from '../batch-store.ts';
import { publishedRecord, recordOf, recordText, storable, wholeMs } from '../stored-rows.ts';
import type { PostgresDatabase } from './database.ts';
import { purge } from './purge.ts';
import { columnOf, numberOf, ownerOf, recordColumns, textOf } from './rows.ts';

/** Batches that are being made. */
export type Drafts = Pick<BatchStore, 'openDraft' | 'addItems' | 'publish' | 'discard'>;

/** Makes {@link Drafts} over a database. */
export function draftsOf(database: PostgresDatabase): Drafts {
  return {
    async openDraft(account, batchId) {
      const begun = await database.run('insertDraft', ownerOf(account, batchId));
      if (begun === 0) throw new RangeError(`there is a batch "${batchId}"`);
    },

    async addItems(account, batchId, items) {
      const values = {
        ...ownerOf(account, batchId),
        positions: items.map(({ index }) => index),
        customIds: items.map(({ customId }) => storable(customId)),
        ...together(items.map(({ body }) => body)),
      };
      const row = await database.first('addItems', values);
      if (numberOf(row, 'drafts') === 0) throw new RangeError(`there is no draft "${batchId}"`);
      if (numberOf(row, 'added') === items.length) return;
      const found = await database.first('findDuplicate', values);
      throw new DuplicateCustomIdError(numberOf(found, 'first'), numberOf(found, 'second'));
    },

    async publish(batch, effects, idempotency) {
      const owner = ownerOf(batch.account, batch.id);
      const outcome = await database.transaction(async (session): Promise<PublishOutcome> => {
        const row = await session.first('lockRow', owner);
        if (row?.['stage'] === 'batch') return { type: 'published', batch: recordOf(recordColumns(row)) };
        if (row?.['stage'] !== 'draft') throw new RangeError(`there is no draft "${batch.id}"`);
        if (idempotency !== undefined) {
          const { ttlMs } = idempotency;
          const [key, fingerprint] = [storable(idempotency.key), storable(idempotency.fingerprint)];
          const claimed = await session.run('claimKey', { ...owner, key, fingerprint, ttlMs: wholeMs(ttlMs) });
          const known = claimed === 0 ? await session.first('findKey', { ...owner, key }) : undefined;
          if (known !== undefined) {
            await session.run('hideDraft', owner);
            const sameContent = columnOf(known, 'fingerprint') === fingerprint;
            return { type: 'repeated', batchId: textOf(known, 'batch_id'), sameContent };
          }
        }
        const at = numberOf(row, 'now');
        const total = numberOf(await session.first('countItems', owner), 'total');
        const record = publishedRecord(batch, at, total);
        const { status, revision, createdAt, deleteAt } = record;
        const text = recordText(record);
        await session.run('publish', { ...owner, status, revision, createdAt, deleteAt, total, record: text });
        for (const effect of effects) await session.run('putTask', { ...owner, effect, runAt: at });
        return { type: 'published', batch: record };
      });
      if (outcome.type === 'repeated') await purge(database, owner);
      return outcome;
    },

    async discard(account, batchId) {
      const owner = ownerOf(account, batchId);
      if ((await database.run('hideDraft', owner)) > 0) await purge(database, owner);
    },
  };
}

/**
 * Bodies as one piece of bytes, and where each stands in it, counted from 1. As an array of texts they would be copied
 * four times on their way: each to a text without special characters, and all to one text and to bytes.
 */
function together(texts: readonly string[]): Record<'bodies' | 'starts' | 'lengths', unknown> {
  const lengths = texts.map((text) => Buffer.byteLength(text));
  const bodies = Buffer.allocUnsafe(lengths.reduce((sum, length) => sum + length, 0));
  const starts: number[] = [];
  let next = 0;
  for (const text of texts) {
    starts.push(next + 1);
    next += bodies.write(text, next);
  }
  return { bodies, starts, lengths };
}
