import type { FactsPiece, StreamPiece } from '../../core/stream/pieces.ts';
import { StreamTracker } from '../../core/stream/stream-tracker.ts';
import type { AnswerCall } from '../execution.ts';

/** What a looped call reads from. */
interface Loop {
  next(): Promise<readonly StreamPiece[] | undefined>;
  close(): void;
}

/** All turns of a loop as the stream of one call. */
export class LoopedCall implements AnswerCall {
  readonly tracker = new StreamTracker();
  readonly #loop: Loop;
  #first: readonly StreamPiece[] | undefined;

  /**
   * @param first - Pieces that were read already.
   * @param facts - What the first turn said of itself before them.
   */
  constructor(loop: Loop, first: readonly StreamPiece[] | undefined, facts: FactsPiece) {
    this.#loop = loop;
    this.#first = first;
    this.tracker.observe(facts);
  }

  read(): Promise<readonly StreamPiece[] | undefined> {
    const first = this.#first;
    this.#first = undefined;
    return first === undefined ? this.#loop.next() : Promise.resolve(first);
  }

  close(): void {
    this.#loop.close();
  }
}
