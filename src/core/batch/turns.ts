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

  /**
   * An account begins to wait.
   *
   * @param alone - True when nobody else waits: then nothing is owed to anybody.
   */
  join(account: string, alone = false): void {
    if (alone) this.#had.clear();
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
