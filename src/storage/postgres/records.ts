/** Batch records and drafts in PostgreSQL. */
import {
  type BatchStore,
  DuplicateCustomIdError,
  type NewItem,
  type PublishOutcome,
} from '../../contracts/batch-store.ts';
import {
  type BatchOwner,
  columnOf,
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
import { StorageError } from '../../contracts/storage-error.ts';
import { copyItems, copyRows } from './copy.ts';
import type { PostgresDatabase, DatabaseSession } from './database.ts';

/** Batches that are there. */
type Records = Pick<BatchStore, 'find' | 'list' | 'items' | 'outcomes' | 'recount' | 'save' | 'remove'>;

/** Makes {@link Records} over a database. */
export function postgresRecords(database: PostgresDatabase): Records {
  return {
    async find(account, batchId) {
      const row = await database.first('findBatch', ownerOf(account, batchId));
      return row === undefined ? undefined : storedBatch(row);
    },

    async list(account, { limit, after, statuses, createdAfter, createdBefore }) {
      const rows = await database.all('listBatches', {
        account: storable(account),
        limit: limit + 1,
        after: after === undefined ? null : storable(after),
        statuses: statuses ?? null,
        createdAfter: createdAfter ?? null,
        createdBefore: createdBefore ?? null,
      });
      const batches = rows.slice(0, limit).map(storedBatch);
      if (batches.length > 0 || after === undefined) return { batches, more: rows.length > limit };
      const was = await database.first('wasBatch', { account: storable(account), after: storable(after) });
      return { batches, more: false, isUnknown: was === undefined };
    },

    async items(account, batchId, after, limit) {
      const rows = await database.all('pageItems', { ...ownerOf(account, batchId), after, limit });
      return rows.map(itemOf);
    },

    async outcomes(account, batchId, after, limit) {
      const rows = await database.all('pageOutcomes', { ...ownerOf(account, batchId), after, limit });
      return rows.map(storedOutcome);
    },

    async recount(account, batchId) {
      const row = await database.first('recount', ownerOf(account, batchId));
      return { completed: storedNumber(row, 'completed'), failed: storedNumber(row, 'failed') };
    },

    save: (next, tasks) => database.transaction(async (session) => saveBatch(session, next, tasks)),

    async remove(account, batchId) {
      const owner = ownerOf(account, batchId);
      const hidden = await database.transaction(async (session) => {
        if ((await session.run('hideBatch', owner)) === 0) return false;
        await session.run('deleteTasks', owner);
        await session.run('deleteKeys', owner);
        return true;
      });
      if (hidden) await purgePostgresBatch(database, owner, { keepsPlace: true });
      return hidden;
    },
  };
}

/** Saves the next state of a batch with its tasks; false when another change was saved before. */
async function saveBatch(session: DatabaseSession, ...[next, tasks]: Parameters<BatchStore['save']>): Promise<boolean> {
  const { status, revision } = next;
  const values = { status, revision, deleteAt: wholeMs(next.deleteAt), record: recordText(next) };
  const saved = await session.run('saveBatch', { ...ownerOf(next.account, next.id), ...values });
  if (saved === 0) return false;
  for (const { account, batchId, effect, runAt } of tasks) {
    await session.run('putTask', { ...ownerOf(account, batchId), effect, runAt: wholeMs(runAt) });
  }
  return true;
}

/** Batches that are being made. */
type Drafts = Pick<BatchStore, 'openDraft' | 'addItems' | 'publish' | 'discard'>;

/** Makes {@link Drafts} over a database. */
export function postgresDrafts(database: PostgresDatabase, schema: string): Drafts {
  const copyText = copyItems(schema);
  return {
    async openDraft(account, batchId) {
      const owner = ownerOf(account, batchId);
      const begin = (): Promise<number> => database.run('insertDraft', owner);
      // Of a batch that was removed only its place in lists is left.
      const isBegun = (await begin()) > 0 || ((await database.run('deleteRow', owner)) > 0 && (await begin()) > 0);
      if (!isBegun) throw new RangeError(`there is a batch "${batchId}"`);
    },

    async addItems(account, batchId, items) {
      const owner = ownerOf(account, batchId);
      const rows = await copyRows(owner, items);
      const added = await database
        .copying(async (session, copy) => {
          if (copy === undefined) return insert(session, owner, items);
          if ((await session.run('touchDraft', owner)) === 0) return undefined;
          await copy(copyText, rows);
          return items.length;
        })
        .catch((error: unknown) => {
          if (StorageError.isInstance(error) && error.code === UNIQUE_VIOLATION) return 0;
          throw error;
        });
      if (added === undefined) throw new RangeError(`there is no draft "${batchId}"`);
      if (added !== items.length) throw await duplicate(database, owner, items);
    },

    async publish(...publication) {
      const outcome = await database.transaction(async (session) => publishDraft(session, ...publication));
      const [{ account, id }] = publication;
      if (outcome.type === 'repeated') await purgePostgresBatch(database, ownerOf(account, id));
      return outcome;
    },

    async discard(account, batchId) {
      const owner = ownerOf(account, batchId);
      if ((await database.run('hideDraft', owner)) > 0) await purgePostgresBatch(database, owner);
    },
  };
}

/** Makes a batch of a draft, unless its idempotency key is that of another one. */
async function publishDraft(
  session: DatabaseSession,
  ...[batch, effects, idempotency]: Parameters<BatchStore['publish']>
): Promise<PublishOutcome> {
  const owner = ownerOf(batch.account, batch.id);
  const row = await session.first('lockRow', owner);
  if (row?.['stage'] === 'batch') return { type: 'published', batch: storedBatch(row) };
  if (row?.['stage'] !== 'draft') throw new RangeError(`there is no draft "${batch.id}"`);
  if (idempotency !== undefined) {
    const { ttlMs } = idempotency;
    const [key, fingerprint] = [storable(idempotency.key), storable(idempotency.fingerprint)];
    const claimed = await session.run('claimKey', { ...owner, key, fingerprint, ttlMs: wholeMs(ttlMs) });
    const known = claimed === 0 ? await session.first('findKey', { ...owner, key }) : undefined;
    if (known !== undefined) {
      await session.run('hideDraft', owner);
      const sameContent = columnOf(known, 'fingerprint') === fingerprint;
      return { type: 'repeated', batchId: storedText(known, 'batch_id'), sameContent };
    }
  }
  const at = storedNumber(row, 'now');
  const total = storedNumber(await session.first('countItems', owner), 'total');
  // Adding them did not wait for the disk, and the server may have crashed since.
  if (total < batch.counts.total) {
    const lost = 'PostgreSQL: the server crashed and lost requests of a batch while it was created; send it again.';
    throw new StorageError('unavailable', lost);
  }
  const record = publishedRecord(batch, at, total);
  const { status, revision, createdAt, deleteAt } = record;
  const text = recordText(record);
  await session.run('publish', { ...owner, status, revision, createdAt, deleteAt, total, record: text });
  for (const effect of effects) await session.run('putTask', { ...owner, effect, runAt: at });
  return { type: 'published', batch: record };
}

/** What the server says of a row that is there. */
export const UNIQUE_VIOLATION = '23505';

/** Adds requests by a statement, for connections that cannot copy. Gives their number; undefined without a draft. */
async function insert(
  session: DatabaseSession,
  owner: BatchOwner,
  items: readonly NewItem[],
): Promise<number | undefined> {
  const row = await session.first('addItems', {
    ...owner,
    ...namesOf(items),
    ...together(items.map(({ body }) => body)),
  });
  return storedNumber(row, 'drafts') === 0 ? undefined : storedNumber(row, 'added');
}

function namesOf(items: readonly NewItem[]): Record<'positions' | 'customIds', unknown> {
  return { positions: items.map(({ index }) => index), customIds: items.map(({ customId }) => storable(customId)) };
}

/** The first request whose name was there before it: in the database, or among those that were to be added with it. */
async function duplicate(
  database: PostgresDatabase,
  owner: BatchOwner,
  items: readonly NewItem[],
): Promise<DuplicateCustomIdError> {
  const found = await database.first('findDuplicate', { ...owner, ...namesOf(items) });
  const stored = found && { first: storedNumber(found, 'first'), second: storedNumber(found, 'second') };
  const known = new Map<string, number>();
  for (const { index, customId } of items) {
    const first = known.get(customId);
    if (first === undefined) known.set(customId, index);
    else if (stored === undefined || index < stored.second) return new DuplicateCustomIdError(first, index);
    else break;
  }
  const { first = 0, second = 0 } = stored ?? {};
  return new DuplicateCustomIdError(first, second);
}

/**
 * Bodies as one piece of bytes, and where each is in it, counted from 1. As an array of texts they would be copied four
 * times on their way: each to a text without special characters, and all to one text and to bytes.
 */
function together(given: readonly NewItem['body'][]): Record<'bodies' | 'starts' | 'lengths', unknown> {
  const lengths = given.map((body) => (typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength));
  const bodies = Buffer.allocUnsafe(lengths.reduce((sum, length) => sum + length, 0));
  const starts: number[] = [];
  let next = 0;
  for (const [index, body] of given.entries()) {
    starts.push(next + 1);
    if (typeof body === 'string') bodies.write(body, next);
    else bodies.set(body, next);
    next += lengths[index] ?? 0;
  }
  return { bodies, starts, lengths };
}

/** Requests that are deleted in one transaction. */
const PAGE = 1_000;

/**
 * Deletes everything of a batch that was hidden before, a page at a time. When it is interrupted, `sweep` goes on.
 *
 * @param keepsPlace - Whether its row stays for a while: a list may go on behind it.
 * @returns True when it was this call that deleted the last of it.
 */
export async function purgePostgresBatch(
  database: PostgresDatabase,
  owner: BatchOwner,
  { keepsPlace = false }: { readonly keepsPlace?: boolean | undefined } = {},
): Promise<boolean> {
  await database.run('deleteTasks', owner);
  await database.run('deleteKeys', owner);
  for (;;) {
    const deleted = await database.run('deleteItems', { ...owner, limit: PAGE });
    if (deleted === PAGE) continue;
    if (keepsPlace) return true;
    if ((await database.run('deleteRow', owner)) > 0) return true;
    // Somebody else may be at it as well, and have some pages left.
    if ((await database.first('findDeleted', owner)) === undefined) return false;
  }
}
