/** A source of numbers from 0 (included) to 1 (excluded) that gives the same ones for the same seed, everywhere. */
export function seededRandom(seed: number): () => number {
  // Mulberry32: one word of state is plenty where nothing has to be unguessable.
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
