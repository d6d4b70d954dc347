import type { PieceStream } from '../../contracts/provider.ts';
import { type DecodingContext, PartDecoder } from './part-decoder.ts';
import { failureOfThrown } from './thrown-failure.ts';
import type { StreamPiece } from '../../core/stream/pieces.ts';

/** What is needed of a readable stream, of whatever realm. */
export interface PartSource {
  getReader(): {
    read(): PromiseLike<{ readonly done: boolean; readonly value?: unknown }>;
    cancel(reason?: unknown): PromiseLike<void>;
  };
}

/**
 * Reads the parts of a model's stream as pieces. Giving it up aborts the call and cancels the stream: some models split
 * their streams inside, so that a cancellation alone does not reach the connection.
 */
export class PartStream implements PieceStream {
  readonly #reader: ReturnType<PartSource['getReader']>;
  readonly #decoder: PartDecoder;
  readonly #context: DecodingContext;
  readonly #abort: LinkedAbort;
  #done = false;

  constructor(source: PartSource, context: DecodingContext, abort: LinkedAbort) {
    this.#reader = source.getReader();
    this.#decoder = new PartDecoder(context);
    this.#context = context;
    this.#abort = abort;
  }

  async read(): Promise<readonly StreamPiece[] | undefined> {
    if (this.#done) return undefined;
    const pieces: StreamPiece[] = [];
    try {
      const { done, value } = await this.#reader.read();
      if (this.#isOver()) return undefined;
      if (done) {
        this.#done = true;
        this.#abort.release();
        this.#decoder.end(pieces);
        return pieces;
      }
      this.#decoder.part(value, pieces);
    } catch (error) {
      if (this.#isOver()) return undefined;
      const { signal } = this.#context;
      pieces.push({ type: 'failure', failure: failureOfThrown(error, this.#context, signal) });
    }
    if (pieces.some((piece) => typeof piece !== 'string' && piece.type === 'failure')) this.cancel();
    return pieces;
  }

  cancel(): void {
    if (this.#done) return;
    this.#done = true;
    this.#abort.abort();
    // It may have broken already, in which case cancelling it fails too.
    this.#reader.cancel().then(ignore, ignore);
  }

  /** May have changed while a read was under way. */
  #isOver(): boolean {
    return this.#done;
  }
}

function ignore(): void {}

/** A signal of one call that is aborted with the caller's, or by itself. Leaves no listener behind. */
export class LinkedAbort {
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal;
  readonly #onAbort = (): void => this.abort();

  constructor(outer: AbortSignal) {
    this.#outer = outer;
    outer.addEventListener('abort', this.#onAbort);
    if (outer.aborted) this.abort();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  abort(): void {
    this.release();
    this.#controller.abort(CALL_OVER);
  }

  /** The call is over: its signal will not be needed any more. */
  release(): void {
    this.#outer.removeEventListener('abort', this.#onAbort);
  }
}

/** Reason of every abort: the SDK lets errors of this name through as they are. */
const CALL_OVER = new DOMException('The call is over', 'AbortError');
