/** What a stream has shown, for one that may have to go on with it. */
import type { Delta } from '../../protocol/chunk.ts';
import { unescapeText } from './pieces.ts';
import type { DeltaPiece, StreamPiece } from '../../contracts/stream-piece.ts';

/** Notes what a stream has shown, and whether another one can go on with it. */
export class SentText {
  readonly #parts: string[] = [];
  #isPlain = true;
  #hasEnded = false;

  /** Notes a piece that was shown. */
  note(piece: StreamPiece): void {
    if (typeof piece === 'string') this.#parts.push(unescapeText(piece));
    else if (piece.type === 'finish') this.#hasEnded = true;
    else if (piece.type === 'delta') this.#delta(piece);
  }

  /** True while nothing but text and reasoning was shown, and no end. */
  get canGoOn(): boolean {
    return this.#isPlain && !this.#hasEnded;
  }

  /** The text so far. */
  get text(): string {
    return this.#parts.join('');
  }

  #delta({ index, delta, logprobs }: DeltaPiece): void {
    if (delta.content) this.#parts.push(delta.content);
    if (index !== 0 || logprobs !== undefined || hasMore(delta)) this.#isPlain = false;
  }
}

/** Whether a delta holds something that is neither text nor reasoning, and that cannot be said twice. */
export function hasMore({ tool_calls: calls, images, audio, refusal }: Delta): boolean {
  return Boolean(calls?.length) || Boolean(images?.length) || audio !== undefined || Boolean(refusal);
}
