import { fill } from '../../config/option.ts';
import { BACKOFF, type BackoffPolicy, RETRY_BUDGET, type RetryBudgetPolicy } from '../../config/tables/fallback.ts';

/**
 * A process-wide bound on repetitions, so that an outage does not multiply traffic: over the last ten seconds at most
 * a fifth of the requests plus a small floor may be repetitions. Fallbacks to other endpoints are not repetitions.
 */
export interface RetryBudget {
  /** One entry per second, newest last. */
  readonly seconds: readonly { readonly second: number; readonly requests: number; readonly repetitions: number }[];
}

export type { RetryBudgetPolicy } from '../../config/tables/fallback.ts';

/** Default {@link RetryBudgetPolicy}. */
export const DEFAULT_RETRY_BUDGET: RetryBudgetPolicy = fill(RETRY_BUDGET);

/** A budget that has seen nothing. */
export const FRESH_BUDGET: RetryBudget = { seconds: [] };

const SPAN_SECONDS = 10;

/** Whether one more repetition fits. */
export function mayRepeat(budget: RetryBudget, policy: RetryBudgetPolicy, now: number): boolean {
  let requests = 0;
  let repetitions = 0;
  const oldest = Math.floor(now / 1_000) - SPAN_SECONDS;
  for (const entry of budget.seconds) {
    if (entry.second > oldest) requests += entry.requests;
    if (entry.second >= oldest) repetitions += entry.repetitions;
  }
  return repetitions + 1 <= requests * policy.ratio + policy.floor;
}

/** Counts a request or a repetition. */
export function spend(budget: RetryBudget, what: 'request' | 'repetition', now: number): RetryBudget {
  const second = Math.floor(now / 1_000);
  const last = budget.seconds.at(-1);
  const isCurrent = last !== undefined && last.second >= second;
  const current = isCurrent ? last : { second, requests: 0, repetitions: 0 };
  const counted =
    what === 'request'
      ? { ...current, requests: current.requests + 1 }
      : { ...current, repetitions: current.repetitions + 1 };
  if (isCurrent) return { seconds: budget.seconds.with(-1, counted) };
  return { seconds: [...budget.seconds.filter((entry) => entry.second >= second - SPAN_SECONDS), counted] };
}

export type { BackoffPolicy } from '../../config/tables/fallback.ts';

/** Default {@link BackoffPolicy}. */
export const DEFAULT_BACKOFF: BackoffPolicy = fill(BACKOFF);

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
