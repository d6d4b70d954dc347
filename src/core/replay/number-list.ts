const CHUNK = 4_096;

/**
 * A list of numbers that only grows. Millions of them are kept in pieces outside of what the collector looks through, and
 * none of them is ever copied to make room.
 */
export class NumberList {
  readonly #chunks: Float64Array[] = [];
  #last = new Float64Array(0);
  #used = 0;

  get length(): number {
    return this.#chunks.length === 0 ? 0 : (this.#chunks.length - 1) * CHUNK + this.#used;
  }

  push(value: number): void {
    if (this.#used === this.#last.length) {
      this.#last = new Float64Array(CHUNK);
      this.#chunks.push(this.#last);
      this.#used = 0;
    }
    this.#last[this.#used] = value;
    this.#used += 1;
  }

  /** The number at a place; 0 beyond the end. */
  at(index: number): number {
    return this.#chunks[Math.floor(index / CHUNK)]?.[index % CHUNK] ?? 0;
  }

  /** All of them, as one array. */
  toArray(): Float64Array {
    const all = new Float64Array(this.length);
    for (const [number, chunk] of this.#chunks.entries()) {
      const start = number * CHUNK;
      all.set(chunk.subarray(0, Math.min(CHUNK, all.length - start)), start);
    }
    return all;
  }
}
