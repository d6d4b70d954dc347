/** Sends a body while it is read from a store. */
import type { Frames, HttpHeaders, HttpReply } from '../contracts/exchange.ts';
import { yieldTurn } from '../platform/wait.ts';

/** The pieces of a body. The last one is returned instead of yielded, so that the end is known together with it. */
export type Pieces = AsyncGenerator<string, string>;

/** When the last piece that somebody waits for may be made. */
let lastTurn = Promise.resolve();

/**
 * Waits until it is one's turn to make a piece: one in each turn of the event loop, whoever reads. However many clients
 * read large bodies at once, they share the time between them and hold up nobody for longer than one piece takes.
 */
function ownTurn(): Promise<void> {
  lastTurn = lastTurn.then(yieldTurn);
  return lastTurn;
}

/**
 * Whether a client has a body already, by its tag (RFC 9110, 13.1.2).
 *
 * @param known - The header `If-None-Match`.
 */
export function isKnown(known: string | undefined, tag: string): boolean {
  return (known?.split(',') ?? []).some((one) => ['*', tag].includes(one.trim().replace(/^W\//, '')));
}

/** Says that a client has the body already. */
export function notModified(headers: HttpHeaders): HttpReply {
  return { type: 'whole', status: 304, headers, body: '' };
}

/**
 * A body that is sent while it is read from a store. The first piece is read before the status is sent, so that a store
 * that fails at once is told by it; a body of one piece is sent whole.
 */
export async function replyInPieces(pieces: Pieces, headers: HttpHeaders, stallMs: number): Promise<HttpReply> {
  await ownTurn();
  const { done, value: first } = await pieces.next();
  if (done === true) return { type: 'whole', status: 200, headers, body: first };
  return { type: 'stream', status: 200, headers, frames: new PieceFrames(first, pieces), stallMs };
}

/** Frames of which each is a piece. */
class PieceFrames implements Frames {
  readonly #pieces: Pieces;
  #first: string | undefined;
  #over = false;

  constructor(first: string, pieces: Pieces) {
    this.#first = first;
    this.#pieces = pieces;
  }

  get ended(): boolean {
    return this.#over && this.#first === undefined;
  }

  async next(): Promise<IteratorResult<string, undefined>> {
    if (this.ended) return { done: true, value: undefined };
    const value = this.#first ?? (await this.#read());
    this.#first = undefined;
    return { done: false, value };
  }

  async return(): Promise<IteratorResult<string, undefined>> {
    this.#over = true;
    this.#first = undefined;
    await this.#pieces.return('');
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async #read(): Promise<string> {
    await ownTurn();
    const { done, value } = await this.#pieces.next();
    if (done === true) this.#over = true;
    return value;
  }
}
