/** Requests that are remembered at a time; the oldest are forgotten first. */
const MAX_REQUESTS = 10_000;

/**
 * Counts the results that all searches of one request gave together, also when several run at the same time: a search
 * takes its share before it begins and gives back what it did not need.
 */
export class ResultBudget {
  readonly #taken = new Map<string, number>();

  /**
   * Takes up to so many results for a request.
   *
   * @returns How many it may have; 0 when nothing is left.
   */
  take(requestId: string, wanted: number, limit: number): number {
    const taken = this.#taken.get(requestId) ?? 0;
    const granted = Math.max(0, Math.min(wanted, limit - taken));
    this.#taken.delete(requestId);
    this.#taken.set(requestId, taken + granted);
    if (this.#taken.size > MAX_REQUESTS) {
      for (const oldest of this.#taken.keys()) {
        this.#taken.delete(oldest);
        break;
      }
    }
    return granted;
  }

  /** Gives back what a search did not need. */
  giveBack(requestId: string, unused: number): void {
    const taken = this.#taken.get(requestId);
    if (taken !== undefined) this.#taken.set(requestId, Math.max(0, taken - unused));
  }
}
