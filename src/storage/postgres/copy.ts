import type { NewItem } from '../../contracts/batch-store.ts';
import { sha256 } from '../../platform/hash.ts';
import { storable } from '../stored-rows.ts';
import type { PostgresClient } from './driver.ts';

/** Runs a `COPY … FROM STDIN` with these bytes. */
export type CopyIn = (text: string, bytes: readonly Uint8Array[]) => Promise<void>;

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
export function copyOver(client: PostgresClient | CopyingClient): CopyIn | undefined {
  if (!('connection' in client)) return undefined;
  return (text, bytes) =>
    new Promise((resolve, reject) =>
      client.query(new Copying(text, bytes, (error) => (error ? reject(error) : resolve()))),
    );
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
