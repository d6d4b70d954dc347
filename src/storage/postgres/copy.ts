import type { NewItem } from '../../contracts/batch-store.ts';
import { sha256 } from '../../platform/hash.ts';
import { storable } from '../stored-rows.ts';
import type { PostgresClient } from './driver.ts';

/** Runs a `COPY` with these bytes, and gives those that came back. */
export type Copy = (text: string, bytes?: readonly Uint8Array[]) => Promise<readonly Uint8Array[]>;

/** A connection of the package `pg`, below its client. */
interface Wire {
  readonly stream: {
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
  return (text, bytes = []) =>
    new Promise((resolve, reject) => {
      const copying = new Copying(text, bytes, (error) => (error ? reject(error) : resolve(copying.received)));
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
  readonly received: Uint8Array[] = [];

  constructor(text: string, bytes: readonly Uint8Array[], settle: (error?: Error) => void) {
    this.#text = text;
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

  /** What came belongs to the driver, which writes over it. */
  handleCopyData({ chunk }: { readonly chunk: Uint8Array }): void {
    this.received.push(new Uint8Array(chunk));
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
    for (let next = this.#bytes.next(); next.done !== true; next = this.#bytes.next()) {
      const { value } = next;
      const frame = Buffer.alloc(5);
      frame.write('d', 'latin1');
      frame.writeInt32BE(value.byteLength + 4, 1);
      wire.stream.write(frame);
      if (!wire.stream.write(value)) {
        wire.stream.once('drain', () => this.#write());
        return;
      }
    }
    wire.endCopyFrom();
  }
}

const COLUMNS = ['account', 'batch_id', 'position', 'custom_id', 'custom_key', 'body'];

/** The statement that takes {@link copyRows}. */
export function copyItems(schema: string): string {
  return `COPY ${schema}.items (${COLUMNS.join(', ')}) FROM STDIN (FORMAT binary)`;
}

/** Bytes of a row that comes back: the driver puts together what is longer than it reads at a time, again and again. */
const ROW_BYTES = 32_768;

/** The statement that gives one piece of a file, in rows. A `COPY` takes no values, so they are written in digits. */
export function copyPiece(
  schema: string,
  { account, fileId, piece }: { readonly account: string; readonly fileId: string; readonly piece: number },
): string {
  const [owner, file] = [account, fileId].map((text) => {
    return `convert_from(decode('${Buffer.from(text).toString('hex')}', 'hex'), 'UTF8')`;
  });
  return `COPY (SELECT substr(content, start, ${ROW_BYTES})
    FROM ${schema}.file_pieces, generate_series(1, length(content), ${ROW_BYTES}) AS start
    WHERE account = ${owner} AND file_id = ${file} AND piece = ${Math.trunc(piece)}
      AND EXISTS (SELECT 1 FROM ${schema}.files WHERE account = ${owner} AND id = ${file} AND stage = 'file')
    ORDER BY start) TO STDOUT (FORMAT binary)`;
}

/** The values that came in PostgreSQL's binary format, in rows of one value, put together; undefined without a row. */
export function copiedValue(received: readonly Uint8Array[]): Uint8Array | undefined {
  const values: Uint8Array[] = [];
  for (const [place, message] of received.entries()) {
    const bytes = Buffer.from(message.buffer);
    // Each row is a message; the first one has the header before it, and the end is one of its own.
    const row = place === 0 ? HEADER.byteLength : 0;
    if (bytes.byteLength < row + 6) continue;
    values.push(bytes.subarray(row + 6, row + 6 + bytes.readInt32BE(row + 2)));
  }
  return values.length === 0 ? undefined : Buffer.concat(values);
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
  const pieces: Uint8Array[] = [HEADER];
  let frame: Uint8Array[] = [];
  for (const { index, customId, body } of items) {
    const name = storable(customId);
    const position = Buffer.alloc(8);
    position.writeInt32BE(4, 0);
    position.writeInt32BE(index, 4);
    const bytes = typeof body === 'string' ? Buffer.from(body) : body;
    frame.push(COUNT, account, batch, position, field(name));
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

const COUNT = Buffer.from([0, COLUMNS.length]);

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
