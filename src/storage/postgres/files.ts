import type { BatchFileStore } from '../../contracts/batch-file-store.ts';
import {
  columnOf,
  type FileOwner,
  fileOf,
  fileOwnerOf,
  fileText,
  noFile,
  publishedFile,
  storable,
  storedNumber,
  wholeMs,
} from '../stored-rows.ts';
import { copyParts, copyPiece, copyPieceOut } from './copy.ts';
import type { PostgresDatabase } from './database.ts';
import { StorageError } from '../../contracts/storage-error.ts';
import { UNIQUE_VIOLATION } from './records.ts';

/** Files in a database, and how they are deleted when their time is over. */
interface PostgresFiles extends BatchFileStore {
  sweep(draftMs: number, limit: number): Promise<number>;
}

/** Makes {@link PostgresFiles}. */
export function filesOf(database: PostgresDatabase, schema: string): PostgresFiles {
  const copyText = copyPiece(schema);
  return {
    async open(account, fileId) {
      await database.run('openFile', fileOwnerOf(account, fileId));
    },

    async add(account, fileId, piece, content) {
      const values = { ...fileOwnerOf(account, fileId), piece };
      const isDraft = await database
        .copying(async (session, copy) => {
          if (copy === undefined) {
            const row = await session.first('addPiece', { ...values, content: asBuffer(content) });
            return storedNumber(row, 'drafts') > 0;
          }
          if ((await session.run('touchFile', values)) === 0) return false;
          await copy(copyText, copyParts(values, content));
          return true;
        })
        .catch((error: unknown) => {
          // The piece is there.
          if (StorageError.isInstance(error) && error.code === UNIQUE_VIOLATION) return true;
          throw error;
        });
      if (!isDraft) throw noFile(fileId);
    },

    publish(file) {
      const owner = fileOwnerOf(file.account, file.id);
      return database.transaction(async (session) => {
        const row = await session.first('lockFile', owner);
        if (row?.['stage'] === 'file') return fileOf(row);
        if (row?.['stage'] !== 'draft') throw noFile(file.id);
        const record = publishedFile(file, storedNumber(row, 'now'));
        const { createdAt, deleteAt } = record;
        await session.run('publishFile', { ...owner, createdAt, deleteAt, record: fileText(record) });
        return record;
      });
    },

    async discard(account, fileId) {
      await remove(database, fileOwnerOf(account, fileId), 'draft');
    },

    async find(account, fileId) {
      const row = await database.first('findFile', fileOwnerOf(account, fileId));
      return row === undefined ? undefined : fileOf(row);
    },

    async list(account, { limit, after }) {
      const rows = await database.all('listFiles', {
        account: storable(account),
        limit: limit + 1,
        after: after === undefined ? null : storable(after),
      });
      return { files: rows.slice(0, limit).map(fileOf), more: rows.length > limit };
    },

    async read(account, fileId, piece, memory) {
      const values = { ...fileOwnerOf(account, fileId), piece };
      const copied = await database.copyOut(copyPieceOut(schema, values), memory);
      if (copied !== undefined) return copied.bytes;
      const parts = await database.all('readPiece', values);
      if (parts.length === 0) return undefined;
      return Buffer.concat(parts.map((row) => Buffer.from(columnOf(row, 'content'), 'base64')));
    },

    remove: (account, fileId) => remove(database, fileOwnerOf(account, fileId), 'file'),

    async sweep(draftMs, limit) {
      const over = await database.all('findOverFiles', { draftMs: wholeMs(draftMs), limit });
      for (const row of over) {
        const owner = { account: columnOf(row, 'account'), fileId: columnOf(row, 'id') };
        await remove(database, owner, columnOf(row, 'stage'));
      }
      return over.length;
    },
  };
}

/** Hides a file of a stage and deletes it piece by piece. When that is interrupted, the next sweep goes on. */
async function remove(database: PostgresDatabase, owner: FileOwner, stage: string): Promise<boolean> {
  if ((await database.run('hideFile', { ...owner, stage })) === 0) return false;
  while ((await database.run('deletePieces', owner)) > 0);
  await database.run('deleteFile', owner);
  return true;
}

/** The driver takes bytes as a `Buffer` only. */
function asBuffer(content: Uint8Array): Buffer {
  return Buffer.from(content.buffer, content.byteOffset, content.byteLength);
}
