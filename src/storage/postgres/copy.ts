import type { NewItem } from '../../contracts/batch-store.ts';
import { ByteBuffer } from '../../platform/byte-buffer.ts';
import { sha256 } from '../../platform/hash.ts';
import { storable } from '../stored-rows.ts';
import type { PostgresClient } from './driver.ts';

/** Runs a `COPY` with these bytes, and gives what came back, in this memory where it fits. */
export type Copy = (text: string, bytes?: readonly Uint8Array[], memory?: Uint8Array) => Promise<CopiedValues>;

/** A connection of the package `pg`, below its client. */
interface Wire {
  readonly stream: {
    cork(): void;
    uncork(): void;
    write(bytes: Uint8Array): boolean;
    once(event: 'drain', listener: () => void): unknown;
  };
  query(text: string): void;
  endCopyFrom(): void;
}

/** A client of the package `pg` itself, which takes statements that do their own writing. */
interface CopyingClient {
  readonly connection: Wire;
  query(statement: Copying): unknown;
}

/** How rows are copied over a connection; undefined for one that is not of the package `pg` itself. */
export function copyOver(client: PostgresClient | CopyingClient): Copy | undefined {
  if (!('connection' in client)) return undefined;
  return (text, bytes = [], memory) =>
    new Promise((resolve, reject) => {
      const copying = new Copying(text, bytes, new CopiedValues(memory), (error) =>
        error ? reject(error) : resolve(copying.received),
      );
      client.query(copying);
    });
}

/**
 * A statement of `pg` that copies rows. Bytes go to the socket as they are: values of a statement are copied by the
 * driver, into memory that the collector is slow to give back, and a body of a megabyte is written in one piece.
 */
class Copying {
  readonly #text: string;
  readonly #bytes: Iterator<Uint8Array>;
  readonly #settle: (error?: Error) => void;
  #wire: Wire | undefined;
  readonly received: CopiedValues;

  constructor(text: string, bytes: readonly Uint8Array[], received: CopiedValues, settle: (error?: Error) => void) {
    this.#text = text;
    this.received = received;
    this.#bytes = bytes.values();
    this.#settle = settle;
  }

  submit(wire: Wire): void {
    this.#wire = wire;
    wire.query(this.#text);
  }

  handleCopyInResponse(): void {
    this.#write();
  }

  handleCopyData({ chunk }: { readonly chunk: Uint8Array }): void {
    this.received.add(chunk);
  }

  handleCommandComplete(): void {
    // What counts is that the server is ready for the next one.
  }

  handleReadyForQuery(): void {
    this.#settle();
  }

  /** The server drops what is still on its way to it. */
  handleError(error: Error): void {
    this.#wire = undefined;
    this.#settle(error);
  }

  #write(): void {
    const wire = this.#wire;
    if (wire === undefined) return;
    const { stream } = wire;
    // What is short goes to the system together with what is around it.
    stream.cork();
    let isTaken = true;
    while (isTaken) {
      const { done, value } = this.#bytes.next();
      if (done === true) break;
      const frame = Buffer.allocUnsafe(5);
      frame.write('d', 'latin1');
      frame.writeInt32BE(value.byteLength + 4, 1);
      stream.write(frame);
      isTaken = stream.write(value);
    }
    if (isTaken) wire.endCopyFrom();
    else stream.once('drain', () => this.#write());
    stream.uncork();
  }
}

/** Values that come in PostgreSQL's binary format, in rows of one value, put together. */
export class CopiedValues {
  readonly #bytes: ByteBuffer;
  #hasBegun = false;
  #hasRows = false;

  constructor(memory?: Uint8Array) {
    this.#bytes = new ByteBuffer(memory);
  }

  /** Undefined where no row came. */
  get bytes(): Uint8Array | undefined {
    return this.#hasRows ? this.#bytes.all() : undefined;
  }

  /** Takes a message, which belongs to the driver: it writes over it. */
  add(message: Uint8Array): void {
    // Each row is a message; the first one has the header before it, and the end is one of its own.
    const row = this.#hasBegun ? 0 : HEADER.byteLength;
    this.#hasBegun = true;
    if (message.byteLength < row + 6) return;
    this.#hasRows = true;
    this.#bytes.add(message.subarray(row + 6));
  }
}

const COLUMNS = ['account', 'batch_id', 'position', 'custom_id', 'custom_key', 'body'];

/** The statement that takes {@link copyRows}. */
export function copyItems(schema: string): string {
  return `COPY ${schema}.items (${COLUMNS.join(', ')}) FROM STDIN (FORMAT binary)`;
}

const PART_COLUMNS = ['account', 'file_id', 'piece', 'part', 'content'];
/** Bytes of a row: the driver puts together what is longer than it reads at a time, again and again. */
const PART_BYTES = 32_768;

/** The statement that takes {@link copyParts}. */
export function copyPiece(schema: string): string {
  return `COPY ${schema}.file_pieces (${PART_COLUMNS.join(', ')}) FROM STDIN (FORMAT binary)`;
}

/** A piece of a file in PostgreSQL's binary format, in rows that are parts of the caller's memory. */
export function copyParts(
  { account, fileId, piece }: { readonly account: string; readonly fileId: string; readonly piece: number },
  content: Uint8Array,
): readonly Uint8Array[] {
  const owner = Buffer.concat([countOf(PART_COLUMNS), field(account), field(fileId), integer(piece)]);
  const pieces: Uint8Array[] = [HEADER];
  for (let part = 0; part === 0 || part * PART_BYTES < content.byteLength; part += 1) {
    const bytes = content.subarray(part * PART_BYTES, (part + 1) * PART_BYTES);
    pieces.push(Buffer.concat([owner, integer(part), lengthOf(bytes)]), bytes);
  }
  pieces.push(TRAILER);
  return pieces;
}

/** The statement that gives one piece of a file, in rows. A `COPY` takes no values, so they are written in digits. */
export function copyPieceOut(
  schema: string,
  { account, fileId, piece }: { readonly account: string; readonly fileId: string; readonly piece: number },
): string {
  const [owner, file] = [account, fileId].map((text) => {
    return `convert_from(decode('${Buffer.from(text).toString('hex')}', 'hex'), 'UTF8')`;
  });
  return `COPY (SELECT content FROM ${schema}.file_pieces
    WHERE account = ${owner} AND file_id = ${file} AND piece = ${Math.trunc(piece)}
      AND EXISTS (SELECT 1 FROM ${schema}.files WHERE account = ${owner} AND id = ${file} AND stage = 'file')
    ORDER BY part) TO STDOUT (FORMAT binary)`;
}

/** What PostgreSQL's binary format begins with, and the flags and the extension that it has none of. */
const HEADER = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1');
const TRAILER = Buffer.from([0xff, 0xff]);
/** Bytes of a body up to which it is written together with what is around it. */
const SHORT = 4_096;

/** New requests in PostgreSQL's binary format. Long bodies are parts of the caller's memory. */
export async function copyRows(
  owner: { readonly account: string; readonly batchId: string },
  items: readonly NewItem[],
): Promise<readonly Uint8Array[]> {
  const account = field(owner.account);
  const batch = field(owner.batchId);
  const count = countOf(COLUMNS);
  const pieces: Uint8Array[] = [HEADER];
  let frame: Uint8Array[] = [];
  for (const { index, customId, body } of items) {
    const name = storable(customId);
    const bytes = typeof body === 'string' ? Buffer.from(body) : body;
    frame.push(count, account, batch, integer(index), field(name));
    frame.push(field(Buffer.from(await sha256(name), 'hex')), lengthOf(bytes));
    if (bytes.byteLength <= SHORT) {
      frame.push(bytes);
      continue;
    }
    pieces.push(Buffer.concat(frame), bytes);
    frame = [];
  }
  pieces.push(Buffer.concat([...frame, TRAILER]));
  return pieces;
}

/** What a row begins with. */
function countOf(columns: readonly string[]): Buffer {
  return Buffer.from([0, columns.length]);
}

function integer(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeInt32BE(4, 0);
  bytes.writeInt32BE(value, 4);
  return bytes;
}

/** A value with its length before it. */
function field(value: string | Buffer): Buffer {
  const bytes = typeof value === 'string' ? Buffer.from(value) : value;
  return Buffer.concat([lengthOf(bytes), bytes]);
}

function lengthOf(bytes: Uint8Array): Buffer {
  const length = Buffer.alloc(4);
  length.writeInt32BE(bytes.byteLength);
  return length;
}
