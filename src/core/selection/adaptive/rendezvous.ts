/** A 32-bit number that stands for a session in {@link chanceOf}; the session cannot be read from it. */
export function drawOf(session: string): number {
  // FNV-1a.
  let hash = 0x811c9dc5;
  for (let index = 0; index < session.length; index += 1)
    hash = Math.imul(hash ^ session.charCodeAt(index), 0x01000193);
  return hash >>> 0;
}

/**
 * A number above 0 and at most 1 that a session has at an endpoint: the same in every instance and at any time.
 *
 * @param draw - Of the session; see {@link drawOf}.
 */
export function chanceOf(draw: number, endpoint: string): number {
  let hash = draw;
  for (let index = 0; index < endpoint.length; index += 1) {
    hash = Math.imul(hash ^ endpoint.charCodeAt(index), 0x01000193);
  }
  // A finish that spreads its low bits (Murmur3).
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (((hash ^ (hash >>> 16)) >>> 0) + 1) / 2 ** 32;
}
