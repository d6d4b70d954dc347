import type { CountedMessage } from './count-message.ts';
import { fairShare } from './share.ts';

/** Some messages of a prompt, and how long they are together. */
export class Measured {
  readonly indexes: readonly number[];
  readonly #sizes: readonly CountedMessage[];

  constructor(indexes: readonly number[], sizes: readonly CountedMessage[]) {
    this.indexes = indexes;
    this.#sizes = sizes;
  }

  get count(): number {
    return this.indexes.length;
  }

  get tokens(): number {
    return this.cappedAt(Infinity);
  }

  /** Tokens when no text has more than a certain number. */
  cappedAt(cap: number): number {
    return this.indexes.reduce((sum, index) => sum + cappedTokens(this.#sizes[index], cap), 0);
  }

  /** How long each text may be so that all fit; negative when the rest is too much already. */
  shareOf(room: number): number {
    const texts = this.indexes.flatMap((index) => this.#sizes[index]?.texts.map((text) => text.tokens) ?? []);
    const fixed = this.cappedAt(0);
    return fixed > room ? -1 : fairShare(texts, room - fixed);
  }
}

function cappedTokens(size: CountedMessage | undefined, cap: number): number {
  if (size === undefined) return 0;
  return size.texts.reduce((sum, text) => sum - Math.max(0, text.tokens - cap), size.tokens);
}
