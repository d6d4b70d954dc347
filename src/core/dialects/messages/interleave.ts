import type { ResultBlock } from '../../../protocol/messages/messages-result.ts';

/** A block of thinking, with its place in the turn where that is known. */
export interface PlacedThinking {
  readonly index: number | undefined;
  readonly block: ResultBlock;
}

/**
 * Puts thinking back between what was said and called. Places count every thinking block and every call, and all text
 * as one; thinking that has dense places or none comes first. The maker of thinking refuses it in another place.
 */
export function interleave(
  thinking: readonly PlacedThinking[],
  others: readonly ResultBlock[],
): readonly ResultBlock[] {
  const blocks: ResultBlock[] = [];
  let taken = 0;
  for (const { block, index = blocks.length } of thinking) {
    while (blocks.length < index && taken < others.length) {
      blocks.push(...others.slice(taken, taken + 1));
      taken += 1;
    }
    blocks.push(block);
  }
  return [...blocks, ...others.slice(taken)];
}
