import { failure } from '../core/fallback/failure.ts';
import type { StreamPiece } from '../core/stream/pieces.ts';
import type { PieceStream } from './provider.ts';
import { type SseEvent, SseReader } from './sse.ts';
import { TransportError, type TransportResponse } from './transport/transport.ts';

/** Turns the events of one wire into pieces. Holds the state of one stream. */
export interface StreamDecoder {
  /** Appends the pieces of one event. */
  event(event: SseEvent, pieces: StreamPiece[]): void;
  /** The body was no event stream after all: appends what a plain body means. */
  body(text: string, pieces: StreamPiece[]): void;
  /** The stream is over: appends what was held back. */
  end(pieces: StreamPiece[]): void;
}

/** Reads the pieces of a streamed response. Every failure of the connection becomes a piece. */
export class ResponsePieceStream implements PieceStream {
  readonly #response: TransportResponse;
  readonly #decoder: StreamDecoder;
  readonly #reader: SseReader;
  /** Text of a body that turned out not to be an event stream. */
  #plain: string[] | undefined;
  #started = false;
  #done = false;
  #pieces: StreamPiece[] = [];

  constructor(response: TransportResponse, decoder: StreamDecoder) {
    this.#response = response;
    this.#decoder = decoder;
    this.#reader = new SseReader((event) => decoder.event(event, this.#pieces));
  }

  async read(): Promise<readonly StreamPiece[] | undefined> {
    if (this.#done) return undefined;
    try {
      const chunks = await this.#response.read();
      if (chunks === undefined) this.#end();
      else for (const chunk of chunks) this.#push(chunk);
    } catch (error) {
      this.#fail(error);
    }
    const pieces = this.#pieces;
    this.#pieces = [];
    return pieces;
  }

  cancel(): void {
    this.#done = true;
    this.#response.cancel();
  }

  #push(bytes: Uint8Array): void {
    if (!this.#started) this.#start(bytes);
    if (this.#plain !== undefined) {
      this.#plain.push(new TextDecoder().decode(bytes));
      return;
    }
    if (this.#reader.push(bytes)) return;
    this.#pieces.push({ type: 'failure', failure: failure('bad_response', 'The provider sent an endless event') });
    this.cancel();
  }

  /** JSON or HTML in place of events shows in the first byte that is not a space. */
  #start(bytes: Uint8Array): void {
    for (const byte of bytes) {
      if (byte <= SPACE) continue;
      this.#started = true;
      if (byte === BRACE || byte === BRACKET || byte === ANGLE) this.#plain = [];
      return;
    }
  }

  #end(): void {
    this.#done = true;
    if (this.#plain === undefined) this.#reader.end();
    else this.#decoder.body(this.#plain.join(''), this.#pieces);
    this.#decoder.end(this.#pieces);
  }

  #fail(error: unknown): void {
    this.#done = true;
    const known = error instanceof TransportError ? error.failure : failure('adapter', 'The stream could not be read');
    this.#pieces.push({ type: 'failure', failure: known });
    this.#response.cancel();
  }
}

const SPACE = 0x20;
const BRACE = 0x7b;
const BRACKET = 0x5b;
const ANGLE = 0x3c;
