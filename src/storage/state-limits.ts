/** Rate limits and budgets by the counters of a state store. */
import { MINUTE_SLOT_MS, sharesOf } from '../core/limits/rate-limits.ts';
import { sufficesLater } from '../core/limits/limit-errors.ts';
import type { MaybePromise } from '../platform/wait.ts';
import type { ChangedCounters, CounterChange, StateStore } from '../contracts/state-store.ts';
import type {
  BudgetClaim,
  BudgetDecision,
  BudgetKeeper,
  RateDecision,
  RateLimiter,
  BudgetHold,
  HeldBudget,
  BrokenRateLimit,
  ShortBudget,
  LimitedTag,
  RateLimitName,
  RateShare,
} from '../contracts/account-limits.ts';
import { boundedMap } from './memory.ts';
import { countedNames, MOST_NAMES, type NamedCounter } from './made-up-names.ts';
import { turnAt } from '../core/limits/budget.ts';

/** Time that a counter lives after its window: clocks of instances differ. */
const SLACK_MS = 5_000;
/** Accounts, and tags of them, whose keys are kept until the next slot begins: putting them together takes longer than counting. */
const MAX_OWNERS = 4_096;

/** The keys of the counters of one limit, which are the same for all requests of a slot. */
interface Window {
  readonly slot: number;
  readonly key: string;
  readonly beside: readonly string[];
}

type Windows = Partial<Record<RateLimitName, Window>>;

/**
 * Limits by counters in a state store, one for each account, limit and slot of time: one change for a request, which
 * takes from all its limits or from none. The slots of a window are held under the limit together.
 *
 * @param wallClock - Epoch milliseconds.
 */
export function stateRateLimiter(state: StateStore, wallClock: () => number): RateLimiter {
  const ofAccounts = boundedMap<Windows>(MAX_OWNERS);
  const ofTags = boundedMap<Windows>(MAX_OWNERS);
  const crowdedOut = countedNames(state);
  function windowOf(account: string, share: RateShare): Window {
    const { tag } = share;
    const owners = tag === undefined ? ofAccounts : ofTags;
    const owner = tag === undefined ? account : tagKey(account, tag);
    const windows = owners.get(owner) ?? {};
    const known = windows[share.name];
    if (known?.slot === share.slot) return known;
    const limit = accountKey('rate', account, limitKey(share));
    const beside = slotsBefore(share).map((slot) => `${limit}\n${slot}`);
    const window = { slot: share.slot, key: `${limit}\n${share.slot}`, beside };
    windows[share.name] = window;
    owners.set(owner, windows);
    return window;
  }
  function keyAt(account: string, limit: LimitOfAccount, slot: number): string {
    const known = limit.tag === undefined ? ofAccounts.get(account)?.[limit.name] : undefined;
    return known?.slot === slot ? known.key : keyOf(account, limit, slot);
  }

  function take(account: string, shares: readonly RateShare[], now: number): MaybePromise<RateDecision> {
    const changed = state.change(
      shares.map((share) => {
        const { key, beside } = windowOf(account, share);
        return { key, by: share.by, max: share.limit, beside, ttlMs: freeAt(share, share.slot) - now + SLACK_MS };
      }),
    );
    const decide = (result: ChangedCounters): RateDecision | Promise<RateDecision> =>
      result.applied ? granted(account, shares) : refused(state, account, shares, result.sums);
    return changed instanceof Promise ? changed.then(decide) : decide(changed);
  }

  return {
    take(claim) {
      const { account } = claim;
      const now = wallClock();
      const shares = sharesOf(claim, now);
      if (shares.length === 0) return { granted: true };
      // The counters of a minute end by themselves; those of a day need a share.
      const named = shares.filter((share) => share.tag !== undefined && share.slotsBefore === 0);
      if (named.length === 0) return take(account, shares, now);
      const counted = crowdedOut(named.map((share) => namedShare(account, share, now)));
      const decide = (name: NamedCounter | undefined): MaybePromise<RateDecision> => {
        const [share] = name === undefined ? [] : named;
        return share === undefined ? take(account, shares, now) : outOfNames(share);
      };
      return counted instanceof Promise ? counted.then(decide) : decide(counted);
    },
    settle({ account, slot: takenIn, tokens: parts }, tokens) {
      const now = wallClock();
      const slot = Math.floor(now / MINUTE_SLOT_MS);
      const ttlMs = 2 * 60_000 + SLACK_MS;
      const changes: CounterChange[] = [];
      for (const { tag, taken } of parts) {
        const by = Math.ceil(tokens) - taken;
        if (by === 0) continue;
        // What a request gives back belongs to the slot in which it was taken; what it used on top is used now.
        const share = { name: 'tokens-per-min', tag } as const;
        changes.push({ key: keyAt(account, share, by < 0 ? takenIn : slot), by, ttlMs });
      }
      if (changes.length === 0) return undefined;
      const changed = state.change(changes);
      return changed instanceof Promise ? changed.then(nothing) : undefined;
    },
  };
}

/** The counter of a day that a value has. */
function namedShare(account: string, share: RateShare, now: number): NamedCounter {
  return {
    key: keyOf(account, share, share.slot),
    countKey: accountKey('rate', account, `names\n${share.slot}`),
    ttlMs: freeAt(share, share.slot) - now + SLACK_MS,
  };
}

function outOfNames(share: RateShare): RateDecision {
  const { name, tag, slot } = share;
  const resetsAt = freeAt(share, slot);
  return { granted: false, broken: { name, limit: MOST_NAMES, remaining: 0, resetsAt, tag, isOfNames: true } };
}

type LimitOfAccount = Pick<RateShare, 'name' | 'tag'>;

function keyOf(account: string, limit: LimitOfAccount, slot: number): string {
  return accountKey('rate', account, `${limitKey(limit)}\n${slot}`);
}

function tagKey(account: string, { key, value }: LimitedTag): string {
  return JSON.stringify([account, key ?? null, value]);
}

function limitKey({ name, tag }: LimitOfAccount): string {
  if (tag === undefined) return name;
  const owner = tag.key === undefined ? 'session' : `tag ${encodeURIComponent(tag.key)}`;
  return `${owner} ${encodeURIComponent(tag.value)}\n${name}`;
}

function slotsBefore({ slot, slotsBefore: count }: RateShare): readonly number[] {
  return Array.from({ length: count }, (_, index) => slot - 1 - index);
}

/** Time at which what was used in a slot is in no window any more. */
function freeAt({ slotMs, slotsBefore: count }: RateShare, slot: number): number {
  return (slot + count + 1) * slotMs;
}

function granted(account: string, shares: readonly RateShare[]): RateDecision {
  const taken = shares.filter(({ name }) => name === 'tokens-per-min');
  const [first] = taken;
  if (first === undefined) return { granted: true };
  return {
    granted: true,
    ticket: { account, slot: first.slot, tokens: taken.map(({ tag, by }) => ({ tag, taken: by })) },
  };
}

/** Which limit is in the way, and until when: who waits must wait for the last of them. */
async function refused(
  state: StateStore,
  account: string,
  shares: readonly RateShare[],
  sums: readonly number[],
): Promise<RateDecision> {
  const broken = await Promise.all(
    shares.flatMap((share, index) => {
      const remaining = Math.max(0, share.limit - (sums[index] ?? 0));
      return share.by > remaining ? [brokenBy(state, account, share, remaining)] : [];
    }),
  );
  const [last] = broken.toSorted((left, right) => right.resetsAt - left.resetsAt);
  return last === undefined ? { granted: true } : { granted: false, broken: last };
}

/** When enough of a window will have been forgotten. Only used of requests that are refused. */
async function brokenBy(
  state: StateStore,
  account: string,
  share: RateShare,
  remaining: number,
): Promise<BrokenRateLimit> {
  const { name, limit, tag, by, slot } = share;
  let free = remaining;
  let resetsAt = freeAt(share, slot);
  for (const before of slotsBefore(share).toReversed()) {
    free += Number((await state.get(keyOf(account, share, before))) ?? 0);
    if (free < by) continue;
    resetsAt = freeAt(share, before);
    break;
  }
  return { name, limit, remaining, resetsAt, ...(tag && { tag: { key: tag.key, value: tag.value } }) };
}

/** A key in the state store that belongs to an account. The braces keep all of an account's in one place of a cluster. */
function accountKey(purpose: string, account: string, rest: string): string {
  return `${purpose}\n{${encodeURIComponent(account)}}\n${rest}`;
}

/** Options of {@link stateBudgets}. */
interface StateBudgetsOptions {
  /** Milliseconds after which a reservation that nobody settled ends, at the earliest; at the latest after twice that. */
  readonly holdMs: number;
  /** Epoch milliseconds. */
  readonly wallClock: () => number;
}

/** Time that the counter of a turn lives after its end: requests that began in it are still settled. */
const TURN_SLACK_MS = 86_400_000;
/** Time that a budget without an end is remembered when nobody uses it. */
const TEN_YEARS_MS = 315_360_000_000;
/** Time that a session without an end is remembered: clients make up new ones every day. */
const SESSION_MS = 90 * 86_400_000;

/**
 * Budgets by counters in a state store: what was spent in a turn of the period, and what is reserved. Reservations are
 * in the counter of the slice of time in which they were made, and two slices count; so what a process that died had
 * reserved is free again when its slice is forgotten. One change reserves, one settles.
 */
export function stateBudgets(state: StateStore, { holdMs, wallClock }: StateBudgetsOptions): BudgetKeeper {
  async function count(key: string): Promise<number> {
    const counter = await state.get(key);
    return typeof counter === 'number' ? counter : 0;
  }
  const crowdedOut = countedNames(state);
  function reserve({ account, budgets, nanoUsd }: BudgetClaim, now: number): MaybePromise<BudgetDecision> {
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
    const decide = ({ applied, sums }: ChangedCounters): BudgetDecision | Promise<BudgetDecision> => {
      if (applied) return { granted: true, ticket: { account, nanoUsd, holds }, left: leastLeft(budgets, sums) };
      const left = budgets.map(async (budget, index) => {
        const sum = sums[index] ?? 0;
        return {
          ...budget,
          remainingNanoUsd: budget.limitNanoUsd - sum,
          heldNanoUsd: Math.max(0, sum - (await count(holds[index]?.spentKey ?? ''))),
          resetsAt: turnAt(budget.period, now).endsAt,
        };
      });
      return Promise.all(left).then((all) => ({ granted: false, short: shortestOf(all, nanoUsd) }));
    };
    return changed instanceof Promise ? changed.then(decide) : decide(changed);
  }
  return {
    reserve(claim) {
      const now = wallClock();
      const named = claim.budgets.filter(({ tag }) => tag !== undefined);
      if (named.length === 0) return reserve(claim, now);
      const counted = crowdedOut(named.map((budget) => namedBudget(claim.account, budget, now)));
      const decide = (name: NamedCounter | undefined): MaybePromise<BudgetDecision> => {
        const [budget] = name === undefined ? [] : named;
        return budget === undefined ? reserve(claim, now) : { granted: false, short: outOfBudgets(budget, now) };
      };
      return counted instanceof Promise ? counted.then(decide) : decide(counted);
    },
    settle({ nanoUsd: reserved, holds }, nanoUsd) {
      const changes = holds.flatMap(({ heldKey, spentKey, spentTtlMs }) => [
        { key: heldKey, by: -reserved, ttlMs: 3 * holdMs },
        { key: spentKey, by: nanoUsd, ttlMs: spentTtlMs },
      ]);
      // What changes nothing would still make a counter.
      const changed = state.change(changes.filter(({ by }) => by !== 0));
      return changed instanceof Promise ? changed.then(nothing) : undefined;
    },
    async spentUnder(account, budgets) {
      const now = wallClock();
      return Promise.all(budgets.map((budget) => count(holdOf(account, budget, 0, now).spentKey)));
    },
  };
}

/** What is left of the budget that has the least. */
function leastLeft(budgets: readonly HeldBudget[], sums: readonly number[]): ShortBudget | undefined {
  let least: ShortBudget | undefined;
  for (const [index, budget] of budgets.entries()) {
    const remainingNanoUsd = budget.limitNanoUsd - (sums[index] ?? 0);
    if (least === undefined || remainingNanoUsd < least.remainingNanoUsd) least = { ...budget, remainingNanoUsd };
  }
  return least;
}

/** The budget that is in the way: the first that was spent, because it stays so, and else the one with the least left. */
function shortestOf(all: readonly ShortBudget[], nanoUsd: number): ShortBudget {
  const spent = all.filter((budget) => !sufficesLater(budget, nanoUsd));
  const [short] = (spent.length > 0 ? spent : all).toSorted((a, b) => a.remainingNanoUsd - b.remainingNanoUsd);
  if (short === undefined) throw new RangeError('a claim names at least one budget');
  return short;
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
    spentTtlMs: endsAt === undefined ? endlessMs(scope) : endsAt - now + TURN_SLACK_MS,
  };
}

/** Time that what was spent under a budget without an end is remembered, from the first of it. */
function endlessMs(scope: HeldBudget['scope']): number {
  return scope === 'session' ? SESSION_MS : TEN_YEARS_MS;
}

/** The turn in which values of a budget are counted: those of sessions begin anew where the sessions end too. */
function turnOf(
  { scope, period }: HeldBudget,
  now: number,
): { readonly id: string; readonly endsAt?: number | undefined } {
  if (scope !== 'session' || period !== 'total') return turnAt(period, now);
  const id = Math.floor(now / SESSION_MS);
  return { id: `sessions ${id}`, endsAt: (id + 1) * SESSION_MS };
}

function outOfBudgets(budget: HeldBudget, now: number): ShortBudget {
  return { ...budget, remainingNanoUsd: 0, mostNames: MOST_NAMES, resetsAt: turnOf(budget, now).endsAt };
}

function namedBudget(account: string, budget: HeldBudget, now: number): NamedCounter {
  const { spentKey, spentTtlMs } = holdOf(account, budget, 0, now);
  const turn = turnOf(budget, now).id;
  return {
    key: spentKey,
    countKey: accountKey('budget', account, `names of ${budget.scope} in ${turn}`),
    ttlMs: spentTtlMs,
  };
}

function nothing(): void {}
