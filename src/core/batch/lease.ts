/** Decides how long leases are and when they are renewed. */

/** Leases are renewed this many times before they end. */
export const RENEWALS = 3;
/** Part of a lease that may pass between two renewals. More is too close to its end. */
const LATEST = 2 / 3;
/** Times as long as the latest renewal took that a lease is at least after it was too short. */
const GROWTH = 2;
/** What one that was long enough becomes shorter by at each renewal, down to what was requested. */
const DECAY = 0.9;
/** Milliseconds of the longest lease: so long a process that dies holds up what it had. */
const LONGEST_MS = 300_000;

/**
 * The length of the leases that a process takes. A process that is slow, because the machine is busy or the store far
 * away, would lose whatever it holds time and again if leases ended before it can renew them, and be taken for one that
 * died. So it takes longer ones as soon as it notices, and shorter ones when it is fast again.
 */
export class LeaseLength {
  readonly #leastMs: number;
  #ms: number;

  /** @param leastMs - Milliseconds of a lease where nothing is slow. */
  constructor(leastMs: number) {
    this.#leastMs = leastMs;
    this.#ms = leastMs;
  }

  /** Milliseconds of the next lease. */
  get ms(): number {
    return this.#ms;
  }

  /**
   * A lease was taken or renewed, in good time or late.
   *
   * @param tookMs - Milliseconds since the last time that it was sure.
   */
  renewed(tookMs: number): void {
    if (tookMs > this.#ms * LATEST) this.#grow(tookMs);
    else this.#ms = Math.max(this.#leastMs, this.#ms * DECAY);
  }

  /**
   * Somebody else has what this process still worked on.
   *
   * @param tookMs - Milliseconds since the last time that it was sure.
   */
  lost(tookMs: number): void {
    this.#grow(tookMs);
  }

  /** Many leases are late for the same reason, so they count as one. */
  #grow(tookMs: number): void {
    const longest = Math.max(LONGEST_MS, this.#leastMs);
    this.#ms = Math.min(longest, Math.max(this.#ms, GROWTH * tookMs));
  }
}
