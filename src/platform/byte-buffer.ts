/** Collects bytes in memory that is reused. */

/** Bytes that a buffer keeps for what comes next. More than that is given back, so that one long item costs nobody for long. */
const KEPT_BYTES = 4 * 1024 * 1024;
const FIRST_BYTES = 64 * 1024;

/**
 * Bytes that are put together, in memory that is used again and again: what is allocated anew for every item of a large
 * upload waits for the collector, which does not hurry for what lies outside of its heap.
 */
export class ByteBuffer {
  #bytes: Uint8Array;
  #length = 0;

  /** @param memory - What is used first. */
  constructor(memory: Uint8Array = new Uint8Array(0)) {
    this.#bytes = memory;
  }

  get length(): number {
    return this.#length;
  }

  /** Adds a copy. Gives the place where it begins. */
  add(bytes: Uint8Array): number {
    const start = this.#length;
    const length = start + bytes.byteLength;
    if (length > this.#bytes.byteLength) this.#grow(length);
    this.#bytes.set(bytes, start);
    this.#length = length;
    return start;
  }

  /** A part of the bytes, valid until the buffer is cleared or grows. */
  part(start: number, end: number): Uint8Array {
    return this.#bytes.subarray(start, end);
  }

  /** All bytes, valid until the buffer is cleared or grows. */
  all(): Uint8Array {
    return this.part(0, this.#length);
  }

  clear(): void {
    this.#length = 0;
    if (this.#bytes.byteLength > KEPT_BYTES) this.#bytes = new Uint8Array(0);
  }

  #grow(least: number): void {
    // Doubled whatever its size, or a long item would be copied again for every piece of it. Memory that is not written
    // to costs nothing.
    const grown = new Uint8Array(Math.max(FIRST_BYTES, least, 2 * this.#bytes.byteLength));
    grown.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = grown;
  }
}
