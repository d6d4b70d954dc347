import type { BrokenRateLimit } from '../core/limits/limit-errors.ts';
import type { LimitedTag, RateLimits, RateTicket } from '../core/limits/rate-limits.ts';
import type { MaybePromise } from '../platform/wait.ts';

export type { BrokenRateLimit } from '../core/limits/limit-errors.ts';
export type { FreeModelLimits, LimitedTag, RateLimitName, RateLimits, RateTicket } from '../core/limits/rate-limits.ts';

/** A request that wants to begin. */
export interface RateClaim {
  readonly account: string;
  readonly limits: RateLimits;
  /** Values of the request that have limits of their own. Default: none. */
  readonly tags?: readonly LimitedTag[] | undefined;
  /** Likely tokens of prompt and answer. Estimated when it is read. */
  readonly tokens: number;
  /** True for a model that costs nothing. */
  readonly isFree: boolean;
}

/** Whether a request may begin. Only the ticket of one that took tokens has to be settled. */
export type RateDecision =
  | { readonly granted: true; readonly ticket?: RateTicket | undefined }
  | { readonly granted: false; readonly broken: BrokenRateLimit };

/** Counts what accounts use by the minute. The default counts in the router's state store. */
export interface RateLimiter {
  /** Takes what a request needs of all limits, or nothing. */
  take(claim: RateClaim): MaybePromise<RateDecision>;
  /** Puts what a request used in the place of what it took. Called once for each ticket. */
  settle(ticket: RateTicket, tokens: number): MaybePromise<void>;
}
