/** What a provider says of one of its limits. */
export interface ReportedLimit {
  /** What is left of it. */
  readonly remaining: number;
  /** All of it; undefined where the provider does not say. */
  readonly limit?: number | undefined;
  /** Milliseconds until all of it is there again. */
  readonly resetMs: number;
}

/** What a provider says with an answer about what it will still take, as in `x-ratelimit-remaining-requests`. */
export interface ReportedLimits {
  readonly requests?: ReportedLimit | undefined;
  /** Of prompts, or of prompts and answers together, as the provider counts. */
  readonly tokens?: ReportedLimit | undefined;
}

/** What an endpoint will take until it says something new. */
export interface Allowance {
  readonly remaining: number;
  readonly limit: number | undefined;
  /** What comes back in a millisecond: limits are buckets that fill at a constant speed, unless their size is unknown. */
  readonly perMs: number;
  /** Monotonic milliseconds of the report, and of the end of what it says. */
  readonly at: number;
  readonly until: number;
}

/**
 * What follows from a report.
 *
 * @param spent - What was sent after the call that brought the report: the provider may not have counted it yet.
 * @param mostMs - Milliseconds for which a report is believed: one that is wrong must not lock an endpoint for hours.
 */
export function allowanceOf(
  { remaining, limit, resetMs }: ReportedLimit,
  spent: number,
  mostMs: number,
  now: number,
): Allowance {
  const missing = limit === undefined ? 0 : Math.max(0, limit - remaining);
  return {
    remaining: remaining - spent,
    limit,
    perMs: resetMs > 0 ? missing / resetMs : 0,
    at: now,
    until: now + Math.min(resetMs, mostMs),
  };
}

/** Folds in that something was sent. */
export function allowanceAfterSending(allowance: Allowance | undefined, amount: number): Allowance | undefined {
  return allowance && { ...allowance, remaining: allowance.remaining - amount };
}

/** Milliseconds until an endpoint takes so much; 0 for now. What is larger than the whole limit waits for all of it. */
export function waitForAllowance(allowance: Allowance | undefined, amount: number, now: number): number {
  if (allowance === undefined || now >= allowance.until) return 0;
  const { limit = Infinity, perMs, until } = allowance;
  const missing = Math.min(amount, limit) - leftNow(allowance, now);
  if (missing <= 0) return 0;
  return Math.max(1, Math.min(perMs > 0 ? missing / perMs : Infinity, until - now));
}

/** Share of the limit that is left; 1 where nothing is known. */
export function allowanceLeft(allowance: Allowance | undefined, now: number): number {
  if (allowance?.limit === undefined || now >= allowance.until) return 1;
  return Math.max(0, Math.min(1, leftNow(allowance, now) / Math.max(1, allowance.limit)));
}

function leftNow({ remaining, perMs, at }: Allowance, now: number): number {
  return remaining + perMs * Math.max(0, now - at);
}
