/**
 * A process-wide bound on repetitions, so that an outage does not multiply traffic: over the last ten seconds at most
 * a fifth of the requests plus a small floor may be repetitions. Fallbacks to other endpoints are not repetitions.
 */
export interface RetryBudget {
  /** One entry per second, newest last. */
  readonly seconds: readonly { readonly second: number; readonly requests: number; readonly repetitions: number }[];
}

/** Options of the budget. */
export interface RetryBudgetPolicy {
  /** Repetitions per request. Default 0.2. */
  readonly ratio: number;
  /** Repetitions that are always allowed in ten seconds. Default 5. */
  readonly floor: number;
}

/** Default {@link RetryBudgetPolicy}. */
export const DEFAULT_RETRY_BUDGET: RetryBudgetPolicy = { ratio: 0.2, floor: 5 };

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
