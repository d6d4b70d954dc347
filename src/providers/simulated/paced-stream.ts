import type { StreamPiece } from '../../core/stream/pieces.ts';
import { failure } from '../../core/fallback/failure.ts';
import type { PieceStream } from '../provider-reply.ts';
import type { Pace } from './pace.ts';

/** Pieces that are handed out together when tokens take no time. */
const AT_ONCE = 16;

/** What a stream consists of. */
export interface PacedPieces {
  /** Comes with the first token. */
  readonly opening: readonly StreamPiece[];
  /** One piece per token. */
  readonly tokens: readonly StreamPiece[];
  /** Comes behind the last token and takes no time. */
  readonly closing: readonly StreamPiece[];
}

/**
 * Hands out one token after the other as time goes by. A token is only made when somebody asks for it, so that a slow
 * reader holds the answer back.
 */
export class PacedStream implements PieceStream {
  readonly #pieces: PacedPieces;
  readonly #pace: Pace;
  readonly #onEnd: () => void;
  #position = 0;
  #lastAt: number;
  #over = false;

  /**
   * @param pace - Has waited for the first token already.
   * @param onEnd - Called once when nothing more will be read.
   */
  constructor(pieces: PacedPieces, pace: Pace, onEnd: () => void) {
    this.#pieces = pieces;
    this.#pace = pace;
    this.#onEnd = onEnd;
    this.#lastAt = pace.now();
  }

  async read(): Promise<readonly StreamPiece[] | undefined> {
    if (this.#over) return undefined;
    const { opening, tokens, closing } = this.#pieces;
    const start = this.#position;
    const batch = tokens.slice(start, start + (this.#pace.atOnce ? AT_ONCE : 1));
    const dueAt = this.#lastAt + (start === 0 ? 0 : this.#pace.tokensMs(batch.length));
    const stopped = await this.#pace.wait(dueAt - this.#pace.now());
    if (stopped !== undefined) {
      this.#end();
      return [{ type: 'failure', failure: stopped }];
    }
    this.#lastAt = this.#pace.now();
    this.#position += batch.length;
    const isLast = this.#position >= tokens.length;
    if (isLast) this.#end();
    return [...(start === 0 ? opening : []), ...batch, ...(isLast ? closing : [])];
  }

  cancel(): void {
    this.#pace.stop(failure('aborted', 'The answer is no longer wanted'));
    this.#end();
  }

  #end(): void {
    if (this.#over) return;
    this.#over = true;
    this.#onEnd();
  }
}
