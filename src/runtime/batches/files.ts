/** The files of batches: upload, list, content, deletion. */
import { type Account, ANONYMOUS } from '../../contracts/account.ts';
import { batchOfFile, outputFileId, outputLine, unixSeconds } from '../../core/batch/wire-batch.ts';
import type { ResolvedBatchLimits } from '../../options/limits.ts';
import type { BatchFileRecord } from '../../contracts/batch-file-store.ts';
import type { BatchStore, StoredOutcome } from '../../contracts/batch-store.ts';
import type { Environment } from '../../platform/environment.ts';
import { yieldTurn } from '../../platform/wait.ts';
import type { DeletedFile, FileList, FileObject } from '../../protocol/batch.ts';
import { errorOf, type RouterError } from '../../protocol/router-error.ts';
import { faultAt } from '../../protocol/fault.ts';
import { errorOfFault } from '../chat/router-errors.ts';
import { lengthOf, PageSize, unknownAfter } from './page-size.ts';
import type { BatchRecord, OutputKind } from '../../contracts/batch-record.ts';

/** A file to be stored. */
export interface NewFile {
  /** JSON lines in UTF-8, in pieces of any size. Read one after the other and written away while they come. */
  readonly content: Iterable<Uint8Array> | AsyncIterable<Uint8Array>;
  /** Name of the file, for people. */
  readonly filename: string;
  /**
   * Seconds until it is deleted, 3,600 to 2,592,000. Default: `batches.limits.retentionMs`, which is also the most. Read
   * when the content has ended.
   */
  readonly expiresAfterSeconds?: number | undefined;
}

/** Whose files are meant. */
export interface FileOptions {
  /** Default: the anonymous account. The files of others are as if they were not there. */
  readonly account?: Account | undefined;
}

/** Page of a list of files. */
export interface ListFilesOptions extends FileOptions {
  /** 1 to 10,000. Default 100. */
  readonly limit?: number | undefined;
  /** Id of the last file of the page before. */
  readonly after?: string | undefined;
}

/** Files of a router: those that batches are made of, and those that they end in. */
export interface BatchFiles {
  /**
   * Stores a file for `batches.create({ input_file_id })`; resolves when it is stored.
   *
   * @throws {@link RouterError} 400 for what is not UTF-8, is empty or has too many lines, 413 for too many bytes; then
   * nothing is left of it.
   */
  create(file: NewFile, options?: FileOptions): Promise<FileObject>;
  /**
   * A file without its content.
   *
   * @throws {@link RouterError} 404 when there is none of this id.
   */
  retrieve(id: string, options?: FileOptions): Promise<FileObject>;
  /** Files that were uploaded, newest first. Those that batches end in are found by their batches. */
  list(options?: ListFilesOptions): Promise<FileList>;
  /**
   * The content of a file, in pieces, read from the storage as they are requested.
   *
   * @throws {@link RouterError} 404 when there is none of this id.
   */
  content(id: string, options?: FileOptions): AsyncIterable<Uint8Array>;
  /**
   * Deletes an uploaded file. Batches that were made of it keep their requests.
   *
   * @throws {@link RouterError} 404 when there is none of this id, 409 for the file of a batch: that is deleted with it.
   */
  delete(id: string, options?: FileOptions): Promise<DeletedFile>;
}

/** What files depend on. */
interface FilePorts {
  readonly store: BatchStore;
  readonly environment: Pick<Environment, 'randomText'>;
  readonly limits: Pick<ResolvedBatchLimits, 'bytes' | 'fileRequests' | 'retentionMs'>;
  /** Opens the store; cheap when it is open. */
  readonly open: () => Promise<void>;
  /** Refuses what no process would run. */
  readonly checkHost: () => void;
}

/** Bytes that are stored at a time. */
export const PIECE_BYTES = 256 * 1024;
const DEFAULT_PAGE = 100;
const MAX_PAGE = 10_000;
/** Outcomes that are read first. */
const FIRST_OUTCOMES = 20;
const LINE_FEED = 0x0a;
const ENCODER = new TextEncoder();

/** The files of a router. */
export class FileService implements BatchFiles {
  readonly #ports: FilePorts;

  constructor(ports: FilePorts) {
    this.#ports = ports;
  }

  async create(file: NewFile, { account = ANONYMOUS }: FileOptions = {}): Promise<FileObject> {
    const { store, environment, limits, open, checkHost } = this.#ports;
    checkHost();
    await open();
    const id = `file-${environment.randomText(24)}`;
    await store.files.open(account.id, id);
    try {
      const bytes = await this.#write(account.id, id, file.content);
      const { filename, expiresAfterSeconds = Infinity } = file;
      const deleteAt = Math.min(limits.retentionMs, expiresAfterSeconds * 1_000);
      const record: BatchFileRecord = {
        id,
        account: account.id,
        filename,
        purpose: 'batch',
        bytes,
        createdAt: 0,
        deleteAt,
      };
      return wireFile(await store.files.publish(record));
    } catch (error) {
      // What cannot be discarded now is swept later.
      await store.files.discard(account.id, id).catch(() => undefined);
      throw error;
    }
  }

  async retrieve(id: string, { account = ANONYMOUS }: FileOptions = {}): Promise<FileObject> {
    const output = batchOfFile(id);
    if (output === undefined) return wireFile(await this.#find(account, id));
    const batch = await this.#batchOf(account, id, output.batchId, output.kind);
    let bytes = batch.fileBytes?.[output.kind];
    if (bytes === undefined) {
      bytes = 0;
      for await (const piece of this.#lines(batch, output.kind)) bytes += piece.byteLength;
    }
    const { finalizedAt = batch.createdAt, deleteAt } = batch;
    return {
      id,
      object: 'file',
      bytes,
      created_at: unixSeconds(finalizedAt),
      expires_at: unixSeconds(deleteAt),
      filename: `${batch.id}_${output.kind}.jsonl`,
      purpose: 'batch_output',
      status: 'processed',
    };
  }

  async list({ account = ANONYMOUS, limit = DEFAULT_PAGE, after }: ListFilesOptions = {}): Promise<FileList> {
    if (!Number.isInteger(limit) || limit < 1 || limit > MAX_PAGE) {
      throw errorOf(400, `limit must be an integer from 1 to ${MAX_PAGE.toLocaleString('en-US')}`);
    }
    await this.#ports.open();
    const { files, more, isUnknown } = await this.#ports.store.files.list(account.id, { limit, after });
    if (isUnknown === true) throw unknownAfter(after, 'file');
    const data = files.map(wireFile);
    return { object: 'list', data, first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null, has_more: more };
  }

  async *content(id: string, { account = ANONYMOUS }: FileOptions = {}): AsyncGenerator<Uint8Array, void, undefined> {
    const output = batchOfFile(id);
    if (output !== undefined) {
      yield* this.#lines(await this.#batchOf(account, id, output.batchId, output.kind), output.kind);
      return;
    }
    const file = await this.#find(account, id);
    yield* contentPieces(this.#ports.store, file);
  }

  async delete(id: string, { account = ANONYMOUS }: FileOptions = {}): Promise<DeletedFile> {
    const output = batchOfFile(id);
    if (output !== undefined) {
      const { id: batchId } = await this.#batchOf(account, id, output.batchId, output.kind);
      throw errorOf(409, `This file belongs to batch ${batchId} and is deleted with it: DELETE /batches/${batchId}`);
    }
    await this.#ports.open();
    if (!(await this.#ports.store.files.remove(account.id, id))) throw unknownFile();
    return { id, object: 'file', deleted: true };
  }

  async #find(account: Account, id: string): Promise<BatchFileRecord> {
    await this.#ports.open();
    const file = await this.#ports.store.files.find(account.id, id);
    if (file === undefined) throw unknownFile();
    return file;
  }

  /** The batch that a file belongs to, if there is anything in the file. */
  async #batchOf(account: Account, id: string, batchId: string, kind: OutputKind): Promise<BatchRecord> {
    await this.#ports.open();
    const batch = await this.#ports.store.find(account.id, batchId);
    if (batch === undefined || outputFileId(batch, kind) !== id) throw unknownFile();
    return batch;
  }

  async *#lines({ account, id }: BatchRecord, kind: OutputKind): AsyncGenerator<Uint8Array, void, undefined> {
    const { store } = this.#ports;
    const size = new PageSize(FIRST_OUTCOMES);
    for (let after = -1, page; ; after = page.at(-1)?.index ?? after) {
      page = await store.outcomes(account, id, after, size.limit);
      if (page.length === 0) return;
      const lines = page.filter((outcome) => fileOfOutcome(outcome) === kind).map(outputLine);
      if (lines.length > 0) yield ENCODER.encode(lines.join(''));
      size.came(
        page.length,
        page.reduce((length, outcome) => length + lengthOf(outcome), 0),
      );
    }
  }

  /** Writes the content in pieces of one size, and gives its length. */
  async #write(account: string, id: string, content: NewFile['content']): Promise<number> {
    const { store, limits } = this.#ports;
    const check = new ContentCheck(limits);
    let piece = new Uint8Array(PIECE_BYTES);
    let spare = new Uint8Array(PIECE_BYTES);
    let used = 0;
    let pieces = 0;
    let writing = Promise.resolve();
    /** A piece is written while the next one comes, into the memory of the one before. */
    const flush = async (): Promise<void> => {
      await writing;
      writing = store.files.add(account, id, pieces, piece.subarray(0, used));
      // Whoever waits for it hears of it; nobody does while content is waited for.
      writing.catch(() => undefined);
      [piece, spare] = [spare, piece];
      pieces += 1;
      used = 0;
    };
    try {
      for await (const chunk of content) {
        check.add(chunk);
        for (let from = 0; from < chunk.byteLength;) {
          const taken = chunk.subarray(from, from + PIECE_BYTES - used);
          piece.set(taken, used);
          used += taken.byteLength;
          from += taken.byteLength;
          if (used === PIECE_BYTES) await flush();
        }
        await yieldTurn();
      }
      if (used > 0) await flush();
    } catch (error) {
      await writing.catch(() => undefined);
      throw error;
    }
    await writing;
    return check.end();
  }
}

/** Bytes that an outcome takes in its file. */
export function lineBytes(outcome: StoredOutcome): number {
  return ENCODER.encode(outputLine(outcome)).byteLength;
}

/** In which of the two files an outcome is. */
export function fileOfOutcome({ error }: Pick<StoredOutcome, 'error'>): OutputKind {
  return error === undefined ? 'output' : 'errors';
}

/**
 * The content of an uploaded file, as it was stored.
 *
 * @param memory - Two buffers that pieces are put into by turns: then each is valid until the next one is requested.
 */
export async function* contentPieces(
  { files }: Pick<BatchStore, 'files'>,
  { account, id, bytes }: BatchFileRecord,
  memory: readonly Uint8Array[] = [],
): AsyncGenerator<Uint8Array, void, undefined> {
  let read = 0;
  let next = files.read(account, id, 0, memory[0]);
  for (let piece = 1; read < bytes; piece += 1) {
    const content = await next;
    // Somebody may delete it meanwhile: a broken answer is better than a short one.
    if (content === undefined) throw new RangeError('a file was deleted while it was read');
    read += content.byteLength;
    if (read < bytes) {
      // Read while somebody is busy with this one. Who stops there does not hear of what became of it.
      next = files.read(account, id, piece, memory[piece % 2]);
      next.catch(() => undefined);
    }
    yield content;
  }
}

/** Looks at the content of a file while it comes. */
class ContentCheck {
  readonly #limits: FilePorts['limits'];
  readonly #decoder = new TextDecoder('utf-8', { fatal: true });
  #bytes = 0;
  #lines = 0;
  /** True behind the end of a line. */
  #fresh = true;

  constructor(limits: FilePorts['limits']) {
    this.#limits = limits;
  }

  add(chunk: Uint8Array): void {
    const { bytes: fileBytes, fileRequests } = this.#limits;
    this.#bytes += chunk.byteLength;
    if (this.#bytes > fileBytes) {
      throw errorOfFault(faultAt('file', `must not be larger than ${fileBytes.toLocaleString('en-US')} bytes`, 413));
    }
    for (let at = 0; at < chunk.byteLength;) {
      if (this.#fresh) this.#lines += 1;
      const end = chunk.indexOf(LINE_FEED, at);
      this.#fresh = end >= 0;
      at = end < 0 ? chunk.byteLength : end + 1;
    }
    if (this.#lines > fileRequests) {
      throw errorOfFault(faultAt('file', `must have at most ${fileRequests.toLocaleString('en-US')} lines`));
    }
    this.#decode(chunk);
  }

  end(): number {
    this.#decode();
    if (this.#bytes === 0) throw errorOfFault(faultAt('file', 'must not be empty'));
    return this.#bytes;
  }

  #decode(chunk?: Uint8Array): void {
    try {
      this.#decoder.decode(chunk, { stream: chunk !== undefined });
    } catch {
      throw errorOfFault(faultAt('file', 'must be text in UTF-8: JSON lines, one request per line'));
    }
  }
}

function wireFile({ id, bytes, createdAt, deleteAt, filename, purpose }: BatchFileRecord): FileObject {
  const times = { created_at: unixSeconds(createdAt), expires_at: unixSeconds(deleteAt) };
  return { id, object: 'file', bytes, ...times, filename, purpose, status: 'processed' };
}

function unknownFile(): RouterError {
  return errorOf(404, 'There is no file of this id; GET /files lists those of the account');
}
