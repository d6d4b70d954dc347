/**
 * The largest length that texts may be cut to so that all of them fit together. Short ones stay whole, and what they
 * leave over goes to the long ones. Infinity when they fit as they are.
 *
 * @param lengths - In any order.
 * @param room - What they may take together.
 */
export function fairShare(lengths: readonly number[], room: number): number {
  const sorted = [...lengths].sort((left, right) => left - right);
  let left = room;
  for (const [index, length] of sorted.entries()) {
    const share = Math.floor(left / (sorted.length - index));
    if (length > share) return Math.max(0, share);
    left -= length;
  }
  return Infinity;
}
