/** Seeded randomness for simulated providers. */

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

/** Chance that is the same in every run. */
export class Chance {
  readonly #next: () => number;
  readonly #seed: number;

  constructor(seed: number) {
    this.#seed = seed;
    this.#next = seededRandom(seed);
  }

  /** Chance for one part of an answer, so that what happens in the other parts does not change it. */
  fork(part: string): Chance {
    return new Chance(hashText(`${this.#seed} ${part}`));
  }

  /** A number from 0 (included) to 1 (excluded). */
  next(): number {
    return this.#next();
  }

  /** A whole number, both bounds included. */
  integer(lowest: number, highest: number): number {
    return lowest + Math.floor(this.#next() * (highest - lowest + 1));
  }

  /** One of a list. */
  pick<Value>(list: readonly [Value, ...Value[]]): Value {
    return list[Math.floor(this.#next() * list.length)] ?? list[0];
  }

  /** A list in another order. */
  shuffle<Value>(list: readonly Value[]): readonly Value[] {
    return list
      .map((value) => ({ value, order: this.#next() }))
      .sort((left, right) => left.order - right.order)
      .map(({ value }) => value);
  }
}

/** FNV-1a: a number of 32 bits that stands for a text. */
export function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash >>> 0;
}
