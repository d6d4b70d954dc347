/** Characters that are read at a time. */
const PAGE_LENGTH = 256 * 1024;
const MOST = 256;

/**
 * How many requests or outcomes are read at a time: few at first, because each may be large, and then as many as make a
 * page of some length, going by those that came.
 */
export class PageSize {
  #limit: number;

  constructor(first: number) {
    this.#limit = first;
  }

  get limit(): number {
    return this.#limit;
  }

  /** A page of so many came, and they were so long together. */
  came(count: number, length: number): void {
    if (count > 0) this.#limit = Math.max(1, Math.min(MOST, Math.floor((PAGE_LENGTH * count) / Math.max(1, length))));
  }
}
