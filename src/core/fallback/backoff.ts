/** How long to wait between tries of the same endpoint. */
export interface BackoffPolicy {
  /** Milliseconds before the first repetition, at most; doubles with each. Default 250. */
  readonly baseMs: number;
  /** Longest wait in milliseconds. Default 8,000. */
  readonly capMs: number;
}

/** Default {@link BackoffPolicy}. */
export const DEFAULT_BACKOFF: BackoffPolicy = { baseMs: 250, capMs: 8_000 };

/**
 * Full jitter: anything between nothing and an exponentially growing bound, so that many callers do not come back at
 * the same moment. Never less than the provider asked for.
 *
 * @param roll - Random number from 0 to 1.
 */
export function backoffMs(policy: BackoffPolicy, repetition: number, roll: number, retryAfterMs = 0): number {
  const bound = Math.min(policy.capMs, policy.baseMs * 2 ** Math.min(repetition, 30));
  return Math.max(retryAfterMs, Math.floor(roll * bound));
}
