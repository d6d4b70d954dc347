import type { StreamPiece } from '../../core/stream/pieces.ts';
import type { PieceStream } from '../provider-reply.ts';
import type { LinkedAbort } from './linked-abort.ts';
import { type DecodingContext, PartDecoder } from './part-decoder.ts';
import { failureOfThrown } from './thrown-failure.ts';

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
