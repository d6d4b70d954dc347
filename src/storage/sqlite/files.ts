import type { BatchFileStore } from '../../contracts/batch-file-store.ts';
import {
  type FileOwner,
  fileOf,
  fileOwnerOf,
  fileText,
  noFile,
  publishedFile,
  storable,
  wholeMs,
} from '../stored-rows.ts';
import type { SqliteConnection } from './connection.ts';

/** Files over a file of SQLite, and how they are deleted when their time is over. */
interface SqliteFiles extends BatchFileStore {
  sweep(draftMs: number, limit: number): Promise<number>;
}

/** Makes {@link SqliteFiles}. */
export function filesOf(connection: SqliteConnection, now: () => number): SqliteFiles {
  return {
    async open(account, fileId) {
      await connection.write(() => connection.run('openFile', { ...fileOwnerOf(account, fileId), now: now() }));
    },

    async add(account, fileId, piece, content) {
      const owner = fileOwnerOf(account, fileId);
      // A draft that a power cut takes is none that anybody was told of; its publication waits for all of it.
      await connection.writeInSlices(() => {
        if (connection.run('touchFile', { ...owner, now: now() }) === 0) throw noFile(fileId);
        connection.run('addPiece', { ...owner, piece, content });
        return false;
      }, false);
    },

    publish(file) {
      const owner = fileOwnerOf(file.account, file.id);
      return connection.write(() => {
        const known = connection.first('findFile', owner);
        if (known !== undefined) return fileOf(known);
        const record = publishedFile(file, now());
        const { createdAt, deleteAt } = record;
        const values = { ...owner, createdAt, deleteAt, record: fileText(record) };
        if (connection.run('publishFile', values) === 0) throw noFile(file.id);
        return record;
      });
    },

    async discard(account, fileId) {
      await remove(connection, fileOwnerOf(account, fileId), 'draft');
    },

    async find(account, fileId) {
      const row = await connection.read(() => connection.first('findFile', fileOwnerOf(account, fileId)));
      return row === undefined ? undefined : fileOf(row);
    },

    async list(account, { limit, after }) {
      const rows = await connection.read(() =>
        connection.all('listFiles', {
          account: storable(account),
          limit: limit + 1,
          after: after === undefined ? null : storable(after),
        }),
      );
      return {
        files: rows.slice(0, limit).map(fileOf),
        more: rows.length > limit,
      };
    },

    async read(account, fileId, piece) {
      const values = { ...fileOwnerOf(account, fileId), piece };
      const content = await connection.read(() => connection.first('readPiece', values)?.['content']);
      return content instanceof Uint8Array ? content : undefined;
    },

    remove: (account, fileId) => remove(connection, fileOwnerOf(account, fileId), 'file'),

    async sweep(draftMs, limit) {
      const times = { now: now(), draftsBefore: now() - wholeMs(draftMs), limit };
      const over = await connection.read(() => connection.all('findOverFiles', times));
      for (const { account, id, stage } of over) {
        await remove(connection, { account: String(account), fileId: String(id) }, String(stage));
      }
      return over.length;
    },
  };
}

/** Hides a file of a stage and deletes it piece by piece. When that is interrupted, the next sweep goes on. */
async function remove(connection: SqliteConnection, owner: FileOwner, stage: string): Promise<boolean> {
  const hidden = await connection.write(() => connection.run('hideFile', { ...owner, stage }));
  if (hidden === 0) return false;
  await connection.writeInSlices((hasTime) => {
    while (connection.run('deletePieces', owner) > 0) if (!hasTime()) return true;
    connection.run('deleteFile', owner);
    return false;
  });
  return true;
}
