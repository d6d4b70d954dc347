/**
 * What part of a batch one process has claimed since it began, and so how many run it. Requests are claimed in the order
 * of their indexes: those between that are not its own are with others.
 */
export class ClaimedShare {
  #from: number | undefined;
  #to = 0;
  #own = 0;
  /** Requests that others claimed between the last two claims, and by now most likely as many again. */
  #others = 0;

  /** @param indexes - Of the requests that were claimed together. */
  claimed(indexes: readonly number[]): void {
    const [isFirst, before] = [this.#from === undefined, this.#to];
    for (const index of indexes) {
      this.#from ??= index;
      this.#to = Math.max(this.#to, index + 1);
    }
    this.#own += indexes.length;
    this.#others = isFirst ? 0 : Math.max(0, this.#to - before - indexes.length);
  }

  /**
   * So many of those left that all who run the batch end together: all of them for one process, and less than a part for
   * each of many.
   */
  ofRest(total: number): number {
    if (this.#from === undefined) return total;
    const share = Math.min(1, this.#own / (this.#to - this.#from));
    return Math.max(0, Math.ceil(((total - this.#to - this.#others) * share) / (2 - share)));
  }
}
