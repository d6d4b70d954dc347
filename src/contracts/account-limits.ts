import type { BudgetTicket, HeldBudget } from '../core/limits/budget.ts';
import type { BrokenRateLimit, ShortBudget } from '../core/limits/limit-errors.ts';
import type { LimitedTag, RateLimits, RateTicket } from '../core/limits/rate-limits.ts';
import type { MaybePromise } from '../platform/wait.ts';

export type { Budget, BudgetHold, BudgetPeriod, BudgetTicket, HeldBudget } from '../core/limits/budget.ts';
export type { ShortBudget } from '../core/limits/limit-errors.ts';

/** An upstream call that wants to be paid for. */
export interface BudgetClaim {
  readonly account: string;
  /** At least one. */
  readonly budgets: readonly HeldBudget[];
  /** What it costs at most, in whole nano-dollars. */
  readonly nanoUsd: number;
}

/** Whether there is enough left. */
export type BudgetDecision =
  | { readonly granted: true; readonly ticket: BudgetTicket }
  | { readonly granted: false; readonly short: ShortBudget };

/**
 * Keeps account of what is spent. All amounts are whole nano-dollars (10⁻⁹ USD), so nothing drifts. The default counts
 * in the router's state store; a program that keeps accounts of its own brings its own.
 */
export interface BudgetKeeper {
  /** Reserves under all budgets, or under none. A reservation that nobody settles must end by itself. */
  reserve(claim: BudgetClaim): MaybePromise<BudgetDecision>;
  /** Puts what was spent in the place of a reservation. Called once for each ticket. */
  settle(ticket: BudgetTicket, nanoUsd: number): MaybePromise<void>;
  /**
   * What was spent under budgets of an account in the turns of their periods that are now, in whole nano-dollars and in
   * their order; what is reserved is not in it. Optional: without it, nobody is told what was spent with a key.
   */
  spentUnder?(account: string, budgets: readonly HeldBudget[]): MaybePromise<readonly number[]>;
}

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
