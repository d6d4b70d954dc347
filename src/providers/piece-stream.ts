/** Reads streamed responses piece by piece. */
import { PlainBody } from './upstream-failure.ts';
import { SseReader } from './sse.ts';
import { PENDING, Pollable, pollable, type Polled } from '../platform/wait.ts';
import { TransportError, type TransportResponse } from '../net/transport.ts';
import { ResultCollector } from '../core/stream/collect.ts';
import type { DecodedResult, StreamDecoder } from './codec.ts';
import type { PieceStream } from '../contracts/provider-reply.ts';
import { failure } from '../contracts/failure.ts';
import type { StreamPiece } from '../contracts/stream-piece.ts';

/** Reads the pieces of a streamed response. Every failure of the connection becomes a piece. */
export class ResponsePieceStream extends Pollable<readonly StreamPiece[] | undefined> implements PieceStream {
  readonly #response: TransportResponse;
  readonly #bytes: Pollable<readonly Uint8Array[] | undefined>;
  readonly #decoder: StreamDecoder;
  readonly #reader: SseReader;
  /** The body, when it turned out not to be an event stream. */
  #plain: PlainBody | undefined;
  #started = false;
  #done = false;
  #pieces: StreamPiece[] = [];

  constructor(response: TransportResponse, decoder: StreamDecoder) {
    super();
    this.#response = response;
    this.#bytes = pollable(response);
    this.#decoder = decoder;
    this.#reader = new SseReader(decoder);
  }

  poll(wake: () => void): Polled<readonly StreamPiece[] | undefined> {
    if (this.#done) return undefined;
    try {
      const chunks = this.#bytes.poll(wake);
      if (chunks === PENDING) return PENDING;
      if (chunks === undefined) this.#end();
      else this.#push(joined(chunks));
    } catch (error) {
      // What was read before the failure counts.
      this.#fail(error);
    }
    return this.#handOut();
  }

  override read(): Promise<readonly StreamPiece[] | undefined> {
    return Promise.resolve(super.read());
  }

  #handOut(): readonly StreamPiece[] {
    const pieces = this.#pieces;
    this.#pieces = [];
    if (endsStream(pieces.at(-1)) && !this.#done) this.#finish();
    return pieces;
  }

  cancel(): void {
    if (this.#done) return;
    this.#done = true;
    this.#response.cancel();
  }

  #push(chunk: Uint8Array): void {
    if (this.#done) return;
    const bytes = this.#started ? chunk : this.#start(chunk);
    if (this.#plain === undefined ? this.#reader.push(bytes, this.#pieces) : this.#plain.push(bytes)) return;
    const problem = this.#plain === undefined ? 'an endless event' : 'more than is accepted';
    this.#pieces.push({ type: 'failure', failure: failure('bad_response', `The provider sent ${problem}`) });
    this.cancel();
  }

  /**
   * Leaves out spaces and byte order marks, which some servers begin with. The first byte behind them shows whether
   * JSON or HTML came in place of events.
   */
  #start(bytes: Uint8Array): Uint8Array {
    const begin = bytes.findIndex((byte) => byte > SPACE && !BYTE_ORDER_MARK.has(byte));
    if (begin < 0) return NOTHING;
    this.#started = true;
    const first = bytes[begin];
    if (first === BRACE || first === BRACKET || first === ANGLE) this.#plain = new PlainBody();
    return bytes.subarray(begin);
  }

  #end(): void {
    this.#done = true;
    if (this.#plain === undefined) {
      this.#decoder.closing?.();
      this.#reader.end(this.#pieces);
    } else {
      this.#decoder.body(this.#plain.end(), this.#pieces);
    }
    this.#decoder.end(this.#pieces);
  }

  /** The end mark came: what is left of the body means nothing, but its connection is worth keeping. */
  #finish(): void {
    this.#done = true;
    linger(this.#response);
  }

  #fail(error: unknown): void {
    this.#done = true;
    const known = error instanceof TransportError ? error.failure : undefined;
    const reason = known ?? failure('adapter', 'The stream could not be read', { thrown: error });
    this.#pieces.push({ type: 'failure', failure: reason });
    this.#response.cancel();
  }
}

/** Bytes that are joined in one place, again and again: what comes out of them is a text, which has a place of its own. */
const SHARED_BUFFER_BYTES = 64 * 1024;
let sharedBuffer: Uint8Array | undefined;

/** What arrived together as one: decoding and splitting it costs by the piece. Valid until the next call. */
function joined(chunks: readonly Uint8Array[]): Uint8Array {
  const [only] = chunks;
  if (only !== undefined && chunks.length === 1) return only;
  let length = 0;
  for (const chunk of chunks) length += chunk.byteLength;
  const place =
    length > SHARED_BUFFER_BYTES ? new Uint8Array(length) : (sharedBuffer ??= new Uint8Array(SHARED_BUFFER_BYTES));
  let at = 0;
  for (const chunk of chunks) {
    place.set(chunk, at);
    at += chunk.byteLength;
  }
  return place.subarray(0, length);
}

function endsStream(piece: StreamPiece | undefined): boolean {
  return typeof piece === 'object' && piece.type === 'end';
}

const NOTHING = new Uint8Array();
const SPACE = 0x20;
const BRACE = 0x7b;
const BRACKET = 0x5b;
const ANGLE = 0x3c;
const BYTE_ORDER_MARK = new Set([0xef, 0xbb, 0xbf]);

/** Milliseconds that a response may take to end after its end mark. */
const LINGER_MS = 500;
/** Bytes that may follow an end mark. */
const LINGER_BYTES = 64 * 1024;

/**
 * Waits in the background for the end of a response that has said all it had to say. Its last bytes usually come a
 * moment after the end mark, and cancelling before them would close a connection that the next call can use. A
 * response that does not end soon is cancelled.
 */
function linger(response: TransportResponse): void {
  const read = response.read();
  // Usually the end came together with its mark.
  if (read === undefined) return;
  const timer = setTimeout(() => response.cancel(), LINGER_MS);
  // A program that is done need not wait for this; only Node's timers know how not to be waited for.
  (timer as { readonly unref?: () => void }).unref?.();
  void drain(response, read).finally(() => clearTimeout(timer));
}

async function drain(response: TransportResponse, read: ReturnType<TransportResponse['read']>): Promise<void> {
  let left = LINGER_BYTES;
  try {
    for (let chunks = await read; chunks !== undefined; chunks = await response.read()) {
      for (const chunk of chunks) left -= chunk.byteLength;
      if (left < 0) return response.cancel();
    }
  } catch {
    // The answer is complete, so how its connection ended is of no interest.
  }
}

/**
 * The whole response that pieces add up to, for wires whose non-streaming responses and streams are read by the same
 * code. A failure among the pieces is the failure of the answer, and so is an answer in which nothing was said and
 * nothing ended.
 */
export function collectAnswer(pieces: readonly StreamPiece[]): DecodedResult {
  const collector = new ResultCollector();
  for (const piece of pieces) {
    if (typeof piece === 'object' && piece.type === 'failure') return { ok: false, failure: piece.failure };
    collector.add(piece);
  }
  const result = collector.result();
  if (result.choices.length > 0) return { ok: true, result };
  return { ok: false, failure: failure('bad_response', 'The provider sent an answer with nothing in it') };
}
