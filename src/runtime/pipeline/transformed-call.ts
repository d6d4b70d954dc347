import type { Endpoint } from '../../catalog/endpoint.ts';
import { StreamTracker } from '../../core/stream/stream-tracker.ts';
import type { ActiveChain } from './plugin-run.ts';
import type { StreamPiece } from '../../contracts/stream-piece.ts';
import type { AnswerCall } from '../chat/answer.ts';

/** A stream whose content goes through the transforms of plugins. */
export class TransformedCall implements AnswerCall {
  readonly tracker = new StreamTracker();
  readonly #inner: AnswerCall;
  readonly #chain: ActiveChain;
  readonly #onEnd: (thrown: unknown) => void;
  #flushed = false;
  /** What a plugin threw, until its reader has got what came before. */
  #thrown: { readonly error: unknown } | undefined;

  /**
   * @param onEnd - Called once when nothing more will come, with what a plugin threw, if one did.
   */
  constructor(inner: AnswerCall, chain: ActiveChain, onEnd: (thrown?: unknown) => void) {
    this.#inner = inner;
    this.#chain = chain;
    this.#onEnd = onEnd;
    // What came before the first content has been seen by the inner tracker only.
    this.tracker.observe(inner.tracker.facts);
  }

  get endpoint(): Endpoint | undefined {
    return this.#inner.endpoint;
  }

  async read(): Promise<readonly StreamPiece[] | undefined> {
    if (this.#thrown !== undefined) this.#fail(this.#thrown.error);
    if (this.#flushed) return undefined;
    const pieces = await this.#inner.read();
    const forwarded: StreamPiece[] = [];
    try {
      if (pieces === undefined) this.#over(forwarded);
      for (const piece of pieces ?? []) this.#forward(piece, forwarded);
    } catch (error) {
      this.#flushed = true;
      this.#thrown = { error };
      if (forwarded.length === 0) this.#fail(error);
    }
    return forwarded;
  }

  close(): void {
    this.#inner.close();
  }

  #forward(piece: StreamPiece, forwarded: StreamPiece[]): void {
    if (this.#flushed) return;
    if (typeof piece === 'string') this.#inner.tracker.countText(piece);
    else this.#inner.tracker.observe(piece);
    if (typeof piece !== 'string' && piece.type === 'end') this.#flush(forwarded);
    forwarded.push(...this.#chain.push(piece));
  }

  /** The stream has no end mark. What is flushed would take the end of its choice back, so it is judged here. */
  #over(forwarded: StreamPiece[]): void {
    this.#flush(forwarded);
    const end = this.#inner.tracker.end();
    forwarded.push(end.ok ? { type: 'end' } : { type: 'failure', failure: end.failure });
  }

  /** What transforms held back goes out before the end. */
  #flush(forwarded: StreamPiece[]): void {
    this.#flushed = true;
    forwarded.push(...this.#chain.end());
    this.#onEnd(undefined);
  }

  /** What came before a failure is handed out first; then this is told. */
  #fail(error: unknown): never {
    this.#onEnd(error);
    throw error;
  }
}

/** An answer that is there already, as a stream. */
export function heldCall(pieces: readonly StreamPiece[]): AnswerCall {
  let left: readonly StreamPiece[] | undefined = pieces;
  return {
    tracker: new StreamTracker(),
    read() {
      const next = left;
      left = undefined;
      return Promise.resolve(next);
    },
    close() {
      left = undefined;
    },
  };
}
