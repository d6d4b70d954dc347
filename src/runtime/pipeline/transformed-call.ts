import type { StreamPiece } from '../../core/stream/pieces.ts';
import { StreamTracker } from '../../core/stream/stream-tracker.ts';
import type { AnswerCall } from '../execution.ts';
import type { ActiveChain } from './plugin-run.ts';

/** A stream whose content goes through the transforms of plugins. */
export class TransformedCall implements AnswerCall {
  readonly tracker = new StreamTracker();
  readonly #inner: AnswerCall;
  readonly #chain: ActiveChain;
  readonly #onEnd: (thrown: unknown) => void;
  #flushed = false;

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

  async read(): Promise<readonly StreamPiece[] | undefined> {
    if (this.#flushed) return undefined;
    const pieces = await this.#inner.read();
    try {
      return pieces === undefined ? this.#flush([]) : this.#forward(pieces);
    } catch (error) {
      this.#flushed = true;
      this.#onEnd(error);
      throw error;
    }
  }

  close(): void {
    this.#inner.close();
  }

  #forward(pieces: readonly StreamPiece[]): readonly StreamPiece[] {
    const forwarded: StreamPiece[] = [];
    for (const piece of pieces) {
      if (typeof piece === 'string') this.#inner.tracker.countText(piece);
      else this.#inner.tracker.observe(piece);
      const isEnd = typeof piece !== 'string' && piece.type === 'end';
      if (isEnd) return [...forwarded, ...this.#flush([piece])];
      forwarded.push(...this.#chain.push(piece));
    }
    return forwarded;
  }

  /** What transforms held back goes out before the end. A stream that was cut off is judged by its reader as always. */
  #flush(end: readonly StreamPiece[]): readonly StreamPiece[] {
    this.#flushed = true;
    const held = this.#chain.end();
    this.#onEnd(undefined);
    return [...held, ...end];
  }
}
