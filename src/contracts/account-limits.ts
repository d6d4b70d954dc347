/** The contracts of rate limiters and budget keepers, and what passes between them and the runtime. */
import type { RateLimits } from '../options/spending.ts';
import type { MaybePromise } from '../platform/wait.ts';
import type { BudgetPeriod } from '../options/spending.ts';

export type { Budget, BudgetPeriod } from '../options/spending.ts';

/** An upstream call to be reserved. */
export interface BudgetClaim {
  readonly account: string;
  /** At least one. */
  readonly budgets: readonly HeldBudget[];
  /** What it costs at most, in whole nano-dollars. */
  readonly nanoUsd: number;
}

/** Whether there is enough left. */
export type BudgetDecision =
  | {
      readonly granted: true;
      readonly ticket: BudgetTicket;
      /**
       * The budget that has the least left after this reservation. Without it, nobody is told what is left, and a dry
       * run takes every endpoint for affordable.
       */
      readonly left?: ShortBudget | undefined;
    }
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

export type { FreeModelLimits, RateLimits } from '../options/spending.ts';

/** A request that is about to begin. */
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

/** A budget that applies to a request. */
export interface HeldBudget {
  /** Whose it is: the account's, that of one of its keys, of a value of the request's metadata, or of its session. */
  readonly scope: 'account' | 'key' | 'tag' | 'session';
  /** The value that it belongs to, for the scopes `tag` and `session`. */
  readonly tag?: { readonly key: string | undefined; readonly value: string } | undefined;
  /** Id of the key. Absent for the budget of the account. */
  readonly key?: string | undefined;
  /** Whole nano-dollars. */
  readonly limitNanoUsd: number;
  readonly period: BudgetPeriod;
}

/** What was reserved for one upstream call. Plain data. */
export interface BudgetTicket {
  readonly account: string;
  readonly nanoUsd: number;
  readonly holds: readonly BudgetHold[];
}

/** The counters of one budget that a reservation is in. */
export interface BudgetHold {
  readonly heldKey: string;
  readonly spentKey: string;
  /** Milliseconds that the counter of what was spent lives. */
  readonly spentTtlMs: number;
}

/** A limit that a request would break. */
export interface BrokenRateLimit {
  readonly name: RateLimitName;
  /** Requests or tokens, as its name says. */
  readonly limit: number;
  /** What is left of it. */
  readonly remaining: number;
  /** Epoch milliseconds at which enough of it is free again. */
  readonly resetsAt: number;
  /** The value of the request that it belongs to; absent for a limit of the account. */
  readonly tag?: LimitOwner | undefined;
  /** True: the account has used as many different values as may have counters of their own, and this one is new. */
  readonly isOfNames?: boolean | undefined;
}

/** A value of a request that has limits of its own. */
export interface LimitOwner {
  /** The key of the metadata; undefined for the session. */
  readonly key: string | undefined;
  readonly value: string;
}

/** A budget that has not enough left for a request. */
export interface ShortBudget extends HeldBudget {
  readonly remainingNanoUsd: number;
  /**
   * What other calls have reserved of it, in nano-dollars: most of that comes back when they end. Default 0: all that is
   * missing has been spent.
   */
  readonly heldNanoUsd?: number | undefined;
  /** Epoch milliseconds at which it begins anew; undefined for one that does not. */
  readonly resetsAt?: number | undefined;
  /** The account has used so many different values, and this one is new: nothing can be counted for it. Default: not so. */
  readonly mostNames?: number | undefined;
}

/** Which limit it is. Those of free models have the names that clients look for (gaps 7.6). */
export type RateLimitName = 'requests-per-min' | 'tokens-per-min' | 'free-models-per-min' | 'free-models-per-day';

/** A value of the request that has limits of its own: a declared key of its `metadata`, or its session. */
export interface LimitedTag<Limits = RateLimits> {
  /** The key of the metadata; undefined for the session. */
  readonly key: string | undefined;
  readonly value: string;
  readonly limits: Limits;
}

/** What a request takes of one limit. */
export interface RateShare {
  readonly name: RateLimitName;
  /** Whose limit it is; undefined for the account's. */
  readonly tag: LimitedTag | undefined;
  readonly limit: number;
  readonly by: number;
  /** Milliseconds of one slot. A window is as many slots as make up its length, and the one that has begun. */
  readonly slotMs: number;
  /** Number of the slot, counted from 1970. */
  readonly slot: number;
  /** Slots before this one that belong to the same window. */
  readonly slotsBefore: number;
}

/** What a request took of the tokens of a minute, until it is known what it used. Plain data. */
export interface RateTicket {
  readonly account: string;
  /** Number of the slot in which it was taken. */
  readonly slot: number;
  readonly tokens: readonly { readonly tag: LimitedTag | undefined; readonly taken: number }[];
}
