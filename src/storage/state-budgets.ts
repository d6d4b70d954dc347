import { type BudgetHold, type HeldBudget, turnAt } from '../core/limits/budget.ts';
import type { ChangedCounters, CounterChange, StateStore } from '../contracts/state-store.ts';
import { accountKey } from './state-rate-limiter.ts';
import type { BudgetDecision, BudgetKeeper } from '../contracts/budget-keeper.ts';

/** Options of {@link stateBudgets}. */
export interface StateBudgetsOptions {
  /** Milliseconds after which a reservation that nobody settled ends, at the earliest; at the latest after twice that. */
  readonly holdMs: number;
  /** Epoch milliseconds. */
  readonly wallClock: () => number;
}

/** Time that the counter of a turn lives after its end: requests that began in it are still settled. */
const SLACK_MS = 86_400_000;
/** Time that a budget without an end is remembered when nobody uses it. */
const TEN_YEARS_MS = 315_360_000_000;

/**
 * Budgets by counters in a state store: what was spent in a turn of the period, and what is reserved. Reservations are
 * in the counter of the slice of time in which they were made, and two slices count; so what a process that died had
 * reserved is free again when its slice is forgotten. One change reserves, one settles.
 */
export function stateBudgets(state: StateStore, { holdMs, wallClock }: StateBudgetsOptions): BudgetKeeper {
  return {
    reserve({ account, budgets, nanoUsd }) {
      const now = wallClock();
      const slice = Math.floor(now / holdMs);
      const holds = budgets.map((budget) => holdOf(account, budget, slice, now));
      const changed = state.change(
        holds.map(({ heldKey, spentKey, previousKey }, index): CounterChange => ({
          key: heldKey,
          by: nanoUsd,
          ttlMs: 3 * holdMs,
          max: budgets[index]?.limitNanoUsd,
          beside: [spentKey, previousKey],
        })),
      );
      const decide = ({ applied, sums }: ChangedCounters): BudgetDecision => {
        if (applied) return { granted: true, ticket: { account, nanoUsd, holds } };
        const left = budgets.map((budget, index) => ({
          ...budget,
          remainingNanoUsd: budget.limitNanoUsd - (sums[index] ?? 0),
          resetsAt: turnAt(budget.period, now).endsAt,
        }));
        const [short] = left.sort((a, b) => a.remainingNanoUsd - b.remainingNanoUsd);
        if (short === undefined) throw new RangeError('a claim names at least one budget');
        return { granted: false, short };
      };
      return changed instanceof Promise ? changed.then(decide) : decide(changed);
    },
    settle({ nanoUsd: reserved, holds }, nanoUsd) {
      const changed = state.change(
        holds.flatMap(({ heldKey, spentKey, spentTtlMs }) => [
          { key: heldKey, by: -reserved, ttlMs: 3 * holdMs },
          { key: spentKey, by: nanoUsd, ttlMs: spentTtlMs },
        ]),
      );
      return changed instanceof Promise ? changed.then(nothing) : undefined;
    },
    async spentUnder(account, budgets) {
      const now = wallClock();
      const counters = budgets.map(async (budget) => state.get(holdOf(account, budget, 0, now).spentKey));
      return (await Promise.all(counters)).map((counter) => (typeof counter === 'number' ? counter : 0));
    },
  };
}

function holdOf(
  account: string,
  { scope, key = '', tag, period }: HeldBudget,
  slice: number,
  now: number,
): BudgetHold & { readonly previousKey: string } {
  const { id, endsAt } = turnAt(period, now);
  const names = [key, tag?.key ?? '', tag?.value ?? ''].filter((name) => name !== '').map(encodeURIComponent);
  const owner = [scope, ...names].join(' ');
  return {
    heldKey: accountKey('budget', account, `${owner}\nheld ${slice}`),
    previousKey: accountKey('budget', account, `${owner}\nheld ${slice - 1}`),
    spentKey: accountKey('budget', account, `${owner}\nspent in ${id}`),
    spentTtlMs: endsAt === undefined ? TEN_YEARS_MS : endsAt - now + SLACK_MS,
  };
}

function nothing(): void {}
