/** Decides which account's batch runs next, and what part of it one process claims. */

/** Accounts that are remembered after they had their turn. */
const REMEMBERED = 1_000;

/**
 * Whose turn it is, of accounts that wait for places: each gets as many as its weight says, in relation to the others
 * that wait. One that did not wait for a while comes back without a claim to what it did not use.
 */
export class Turns {
  /** Places that each has had, divided by its weight. */
  readonly #had = new Map<string, number>();
  /** What whoever was served last had had before: nobody who waits begins below it. */
  #level = 0;

  /** Nobody waits: nothing is owed to anybody. */
  clear(): void {
    this.#had.clear();
  }

  /** An account begins to wait. */
  join(account: string): void {
    if (this.#had.size > REMEMBERED) this.#forget();
    this.#had.set(account, Math.max(this.had(account), this.#level));
  }

  /** What an account has had; it is the turn of the one that has had least. */
  had(account: string): number {
    return this.#had.get(account) ?? this.#level;
  }

  /** An account got a place. */
  served(account: string, weight: number): void {
    const had = this.had(account);
    this.#level = Math.max(this.#level, had);
    this.#had.set(account, had + 1 / weight);
  }

  #forget(): void {
    for (const [account, had] of this.#had) if (had <= this.#level) this.#had.delete(account);
  }
}

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
