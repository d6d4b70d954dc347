/** Decides how long to wait before the same endpoint is called again. */

/** How long to wait between tries of the same endpoint. */
export interface BackoffPolicy {
  /** Milliseconds before the first repetition; doubles with each. */
  readonly baseMs: number;
  /** Longest wait in milliseconds. */
  readonly capMs: number;
}

/**
 * Waits of a request: half a second first, as those of clients without a router, and 8 seconds at most, because what
 * takes longer to mend is not mended within its time.
 */
export const REQUEST_BACKOFF: BackoffPolicy = { baseMs: 500, capMs: 8_000 };

/** How much longer a wait may be by chance, as a share of it. */
const SPREAD = 0.01;

/**
 * Milliseconds before a repetition: a time that doubles up to its cap, and up to a hundredth more, so that tries are
 * spread over a time in which something may have changed, and callers do not come back at the same moment. Never less:
 * the last try of a request must not come before that of a client without a router, which waits as long (half a second
 * and a second by default). Nor much more, because then its answer would come later. Never less than the provider
 * requested.
 *
 * @param roll - Random number from 0 to 1.
 */
export function backoffMs(policy: BackoffPolicy, repetition: number, roll: number, retryAfterMs = 0): number {
  const bound = Math.min(policy.capMs / (1 + SPREAD), policy.baseMs * 2 ** Math.min(repetition, 30));
  return Math.max(retryAfterMs, Math.floor((1 + SPREAD * roll) * bound));
}
