import { fill } from '../../config/option.ts';
import { BACKOFF, type BackoffPolicy } from '../../config/tables/fallback.ts';

export type { BackoffPolicy } from '../../config/tables/fallback.ts';

/** Default {@link BackoffPolicy}. */
export const DEFAULT_BACKOFF: BackoffPolicy = fill(BACKOFF);

/** Part of a wait that is the same for all, so that tries are some time apart; the rest is up to chance. */
const CERTAIN = 0.9;

/**
 * Milliseconds before a repetition: from nine tenths of an exponentially growing bound to all of it, so that tries are
 * spread over a time in which something may have changed, and many callers do not come back at the same moment. Never
 * less than the provider asked for.
 *
 * @param roll - Random number from 0 to 1.
 */
export function backoffMs(policy: BackoffPolicy, repetition: number, roll: number, retryAfterMs = 0): number {
  const bound = Math.min(policy.capMs, policy.baseMs * 2 ** Math.min(repetition, 30));
  return Math.max(retryAfterMs, Math.floor((CERTAIN + (1 - CERTAIN) * roll) * bound));
}
