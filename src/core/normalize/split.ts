/** Chooses the share of a traffic split that a request belongs to. */
import type { Split, SplitShare } from '../../options/rules.ts';

/**
 * Chooses a share by weighted rendezvous hashing: the same key gets the same model in every instance, and a change
 * of the weights moves no more keys than it must.
 *
 * @returns Undefined where every weight is 0.
 */
export function chooseShare(alias: string, { split }: Split, key: string): SplitShare | undefined {
  let chosen: SplitShare | undefined;
  let least = Infinity;
  for (const share of split) {
    if (share.weight === 0) continue;
    const distance = -Math.log(fractionOf(`${alias}\n${share.model}\n${key}`)) / share.weight;
    if (distance < least) {
      least = distance;
      chosen = share;
    }
  }
  return chosen;
}

/** A text as a number above 0 and below 1, spread evenly: two 32-bit lanes, each mixed to the end. */
export function fractionOf(text: string): number {
  let low = 0x9e3779b9;
  let high = 0x85ebca6b;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    low = Math.imul(low ^ code, 0x01000193);
    high = Math.imul((high << 5) ^ (high >>> 27) ^ code, 0x27d4eb2f);
  }
  const mixed = (mixedBits(low ^ mixedBits(high)) >>> 0) * 2 ** 21 + (mixedBits(high + low) >>> 11);
  return (mixed + 0.5) / 2 ** 53;
}

function mixedBits(bits: number): number {
  let mixed = bits;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x7feb352d);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x846ca68b);
  return mixed ^ (mixed >>> 16);
}
