/** Blocks of prompts that a provider or a server keeps, so that prompts which begin alike are not computed again. */

/** Tokens of a block: prompts are cached in whole blocks only. */
export const BLOCK_TOKENS = 512;

/** Keeps the blocks that were used last, each for a time after its last use. */
export class BlockCache {
  readonly #lifeMs: number;
  /** When each was used last; that which was not used for the longest time comes first. */
  readonly #usedAt = new Map<string, number>();

  constructor(lifeMs: number) {
    this.#lifeMs = lifeMs;
  }

  /** Tokens at the beginning of a prompt that need not be computed: at least its last one always is. */
  tokens(blocks: readonly string[], promptTokens: number, nowMs: number): number {
    let found = 0;
    for (const block of blocks) {
      const usedAt = this.#usedAt.get(block);
      if (usedAt === undefined || nowMs - usedAt > this.#lifeMs) break;
      found += 1;
    }
    return Math.max(0, Math.min(found * BLOCK_TOKENS, promptTokens - 1));
  }

  /** Notes that blocks were used. Of one prompt, the last ones are the first to make room: they are of use to the fewest. */
  use(blocks: readonly string[], nowMs: number): void {
    for (const block of blocks.toReversed()) {
      this.#usedAt.delete(block);
      this.#usedAt.set(block, nowMs);
    }
  }

  /** Makes room: keeps no more than so many blocks. */
  shrink(most: number): void {
    for (const block of this.#usedAt.keys()) {
      if (this.#usedAt.size <= most) return;
      this.#usedAt.delete(block);
    }
  }
}

/** Names of the whole blocks of a prompt of which nothing is known but what it continues. */
export function blocksOfSession(session: string, promptTokens: number): readonly string[] {
  return Array.from({ length: Math.floor(promptTokens / BLOCK_TOKENS) }, (_, index) => `${session}.${index}`);
}
