import { MINUTE_MS, type RateLimitName, type RateShare, sharesOf } from '../core/limits/rate-limits.ts';
import type { ChangedCounters, StateStore } from '../contracts/state-store.ts';
import type { RateDecision, RateLimiter } from '../contracts/rate-limiter.ts';

/** Time that a counter lives after its window: clocks of instances differ. */
const SLACK_MS = 5_000;

/**
 * Limits by counters in a state store, one for each account, limit and calendar minute: one change for a request, which
 * takes from all its limits or from none.
 *
 * @param wallClock - Epoch milliseconds.
 */
export function stateRateLimiter(state: StateStore, wallClock: () => number): RateLimiter {
  return {
    take({ account, limits, tokens, isFree }) {
      const now = wallClock();
      const shares = sharesOf(limits, { tokens, isFree }, now);
      if (shares.length === 0) return { granted: true };
      const changed = state.change(
        shares.map(({ name, by, limit, window, resetsAt }) => ({
          key: keyOf(account, name, window),
          by,
          max: limit,
          ttlMs: resetsAt - now + SLACK_MS,
        })),
      );
      const decide = (result: ChangedCounters): RateDecision => decisionOf(account, shares, result);
      return changed instanceof Promise ? changed.then(decide) : decide(changed);
    },
    settle(ticket, tokens) {
      const now = wallClock();
      const window = Math.floor(now / MINUTE_MS);
      const by = Math.ceil(tokens) - ticket.tokens;
      // What a request gives back belongs to its own minute; what it used on top is used now.
      if (by === 0 || (by < 0 && window !== ticket.window)) return undefined;
      const ttlMs = (window + 1) * MINUTE_MS - now + SLACK_MS;
      const changed = state.change([{ key: keyOf(ticket.account, 'tokens-per-min', window), by, ttlMs }]);
      return changed instanceof Promise ? changed.then(nothing) : undefined;
    },
  };
}

function keyOf(account: string, name: RateLimitName, window: number): string {
  return accountKey('rate', account, `${name}\n${window}`);
}

function decisionOf(account: string, shares: readonly RateShare[], { applied, sums }: ChangedCounters): RateDecision {
  if (applied) {
    const taken = shares.find(({ name }) => name === 'tokens-per-min');
    return { granted: true, ticket: taken && { account, window: taken.window, tokens: taken.by } };
  }
  const over = shares.map((one, index) => ({ ...one, remaining: Math.max(0, one.limit - (sums[index] ?? 0)) }));
  // Who waits must wait for the last of the limits that are in the way.
  const broken =
    over.filter(({ by, remaining }) => by > remaining).sort((a, b) => b.resetsAt - a.resetsAt)[0] ?? over[0];
  if (broken === undefined) return { granted: true };
  const { name, limit, remaining, resetsAt } = broken;
  return { granted: false, broken: { name, limit, remaining, resetsAt } };
}

function nothing(): void {}

/** A key in the state store that belongs to an account. The braces keep all of an account's in one place of a cluster. */
export function accountKey(purpose: string, account: string, rest: string): string {
  return `${purpose}\n{${encodeURIComponent(account)}}\n${rest}`;
}
