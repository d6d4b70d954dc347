/**
 * Decides whether an endpoint has room for a call: by the rates that it declares or reports, and by how many calls at a
 * time it is found to answer in time.
 */
import type { ReportedLimit } from '../../../contracts/provider.ts';
import { type AdaptivePolicy, type ConcurrencyLimitPolicy, OWN_MS } from './policy.ts';

/** What an endpoint is declared to take. */
export interface DeclaredLimits {
  /** Requests per minute. */
  readonly rpm?: number | undefined;
  /** Tokens per minute, of prompts and answers together. */
  readonly tpm?: number | undefined;
  /** Calls at a time. */
  readonly concurrency?: number | undefined;
}

/** Whether limits have room for a call. */
export interface Room {
  /** 0: now. */
  readonly waitMs: number;
  /** Share of the limits that is free. */
  readonly headroom: number;
  /** True where only too many of our own calls are in the way. */
  readonly crowded?: boolean | undefined;
}

/** What was sent in the last minute, second by second, the oldest first. Only those in which something was. */
export type MinuteUse = readonly SecondUse[];

interface SecondUse {
  readonly second: number;
  readonly calls: number;
  readonly tokens: number;
}

/** Slices that may hold something of the last minute: the oldest only in part, but then it counts as a whole. */
const MINUTE_SECONDS = 61;
/** How soon to look again at an endpoint that is at its limit of calls at a time. */
export const LOOK_AGAIN_MS = 50;

/** Folds in a call of so many tokens. */
export function useAfterSending(use: MinuteUse, tokens: number, now: number): MinuteUse {
  const second = Math.floor(now / 1_000);
  const last = use.at(-1);
  if (last !== undefined && last.second >= second) {
    return use.with(-1, { ...last, calls: last.calls + 1, tokens: last.tokens + tokens });
  }
  return [...use.filter((one) => one.second > second - MINUTE_SECONDS), { second, calls: 1, tokens }];
}

/** Whether anything is declared. */
export function isLimited({ rpm, tpm, concurrency }: DeclaredLimits): boolean {
  return rpm !== undefined || tpm !== undefined || concurrency !== undefined;
}

/** Folds in how many tokens a call had that was counted with another number. */
export function useAfterAnswer(use: MinuteUse, sentAt: number, counted: number, used: number): MinuteUse {
  const second = Math.floor(sentAt / 1_000);
  const index = use.findIndex((one) => one.second === second);
  const found = use[index];
  if (found === undefined) return use;
  return use.with(index, { ...found, tokens: Math.max(0, found.tokens + used - counted) });
}

/** Milliseconds until the declared limits of an endpoint have room for a call of so many tokens; 0 for now. */
export function waitForLimits(
  limits: DeclaredLimits,
  use: MinuteUse,
  call: { readonly tokens: number; readonly running: number },
  now: number,
): number {
  const { rpm = Infinity, tpm = Infinity, concurrency = Infinity } = limits;
  if (call.running >= concurrency) return LOOK_AGAIN_MS;
  const oldest = Math.floor(now / 1_000) - MINUTE_SECONDS;
  let calls = 0;
  let tokens = 0;
  for (const one of use) {
    if (one.second <= oldest) continue;
    calls += one.calls;
    tokens += one.tokens;
  }
  // A call that is larger than the limit by itself has to go through at some time.
  const fits = (): boolean => calls + 1 <= rpm && (tokens === 0 || tokens + call.tokens <= tpm);
  if (fits()) return 0;
  for (const one of use) {
    if (one.second <= oldest) continue;
    calls -= one.calls;
    tokens -= one.tokens;
    if (fits()) return Math.max(1, (one.second + MINUTE_SECONDS) * 1_000 - now);
  }
  return LOOK_AGAIN_MS;
}

/** Share of the declared limits that is free. */
export function headroomOf(
  { rpm = Infinity, tpm = Infinity, concurrency = Infinity }: DeclaredLimits,
  use: MinuteUse,
  running: number,
  now: number,
): number {
  const oldest = Math.floor(now / 1_000) - MINUTE_SECONDS;
  const recent = use.filter((one) => one.second > oldest);
  const calls = recent.reduce((sum, one) => sum + one.calls, 0);
  const tokens = recent.reduce((sum, one) => sum + one.tokens, 0);
  return Math.max(0, 1 - Math.max(calls / rpm, tokens / tpm, running / concurrency));
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
export function allowanceAfterSending(allowance: Allowance, amount: number): Allowance {
  return { ...allowance, remaining: allowance.remaining - amount };
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

/**
 * How many calls at a time an endpoint takes, found out from its answers. Too many make it slow by our own doing: then
 * calls that began among many are late, and calls that began among few are not. In an outage both are.
 */
export interface ConcurrencyLimit {
  /** Calls at a time that are answered in time: beyond these, others are called first. */
  readonly inTime: CallLimit;
  /** Calls at a time with which it gets at least as much done as with fewer: beyond these, one more may serve nobody. */
  readonly useful: CallLimit;
  /** Whether it was found by calls that are judged by their tokens. */
  readonly isScaled?: boolean | undefined;
}

/** Calls at a time from which on something gets worse. */
interface CallLimit {
  /** Calls at a time that are known, or taken, to do no harm. */
  readonly limit: number;
  /** Whether more were ever seen to do harm. */
  readonly isFound: boolean;
  /** Means of the harm seen, in natural logarithms: with calls that began among few, and with the others. */
  readonly few: number;
  readonly many: number;
  /** Monotonic time at which the limit was last lowered. */
  readonly loweredAt: number;
}

/** What the fold below needs to know. */
export type ConcurrencyLimitPolicies = Pick<AdaptivePolicy, 'toleratedSlowness' | 'concurrencyLimit'>;

/** A call that does not wait for its answer any more. */
export interface CrowdedCall {
  /** Calls that the endpoint had when it began, itself counted. */
  readonly calls: number;
  readonly startedAt: number;
  /** By how much it was later than usual, in natural logarithms. */
  readonly late: number;
  /** False when it was given up, or failed: it would have been later still. */
  readonly isAnswered: boolean;
  /** Whether that is judged by its tokens, as soon as it is clear how times grow with them. */
  readonly isScaled?: boolean | undefined;
}

/** Weight of a new time in the mean of calls that began among many, which says that it is too much … */
const MANY_GAIN = 0.2;
/** … and in that of the others, which says what is usual at the moment. */
const FEW_GAIN = 0.1;
/** Times have long tails: no call counts for more than one that is late by this power of what is tolerated. */
const MOST_LATE = 2;
/** Where less slowness is tolerated, this is still no overload: it could not be told from chance. */
const LEAST_TOLERATED = 1.2;
/** An endpoint that answers within a second is not overloaded, however fast it usually is: it may be us who are slow. */
const IN_TIME_MS = 1_000;

/**
 * By how much a time is later than usual, in natural logarithms.
 *
 * @param usual - Mean of the logarithms of usual times in milliseconds.
 * @param calls - Calls that the endpoint had when this one began.
 */
export function lateness(ms: number, usual: number, calls: number): number {
  const inTimeMs = IN_TIME_MS + OWN_MS * calls;
  return Math.log(Math.max(inTimeMs, ms)) - Math.max(Math.log(inTimeMs), usual);
}

/**
 * Folds in a call that was answered, or given up before it was; nothing is known before the first one, nor before the first
 * one that is judged by its tokens: until then long prompts looked like too many calls.
 */
export function concurrencyLimitAfter(
  concurrencyLimit: ConcurrencyLimit | undefined,
  policies: ConcurrencyLimitPolicies,
  call: CrowdedCall,
  now: number,
): ConcurrencyLimit | undefined {
  const { calls, late, isScaled = concurrencyLimit?.isScaled } = call;
  const known = isScaled === concurrencyLimit?.isScaled ? concurrencyLimit : undefined;
  const { inTime, useful } = known ?? unknownConcurrencyLimit(policies.concurrencyLimit);
  const tolerated = Math.log(Math.max(LEAST_TOLERATED, policies.toleratedSlowness));
  const most = MOST_LATE * tolerated;
  const delay: Harm = {
    now,
    harm: between(-most, late, most),
    tolerated,
    isHarmless: late <= tolerated,
    raised: Math.max(inTime.limit, 2 * calls),
  };
  // As late as it is crowded: then the endpoint gets as much done as with one call. How much that is at best depends on
  // the endpoint, so what is seen among few is what the rest is compared with.
  const waste: Harm = {
    now,
    harm: between(useful.few - most, late - Math.log(calls), useful.few + most),
    tolerated: Math.log(LEAST_TOLERATED),
    isHarmless: useful.many <= useful.few,
    raised: useful.limit + 1,
  };
  const inTimeAfter = limitAfter(inTime, policies.concurrencyLimit, call, delay);
  const usefulAfter = limitAfter(useful, policies.concurrencyLimit, call, waste);
  return inTimeAfter === inTime && usefulAfter === useful
    ? known
    : { inTime: inTimeAfter, useful: usefulAfter, isScaled };
}

function unknownConcurrencyLimit({ firstLimit }: ConcurrencyLimitPolicy): ConcurrencyLimit {
  const unknown = { limit: firstLimit, isFound: false, few: 0, many: 0, loweredAt: -Infinity };
  return { inTime: unknown, useful: unknown };
}

function between(least: number, value: number, most: number): number {
  return Math.max(least, Math.min(most, value));
}

/** What a call shows of the harm that many calls at a time do. */
interface Harm {
  /** Monotonic time at which it is seen. */
  readonly now: number;
  /** In natural logarithms. */
  readonly harm: number;
  /** By how much more of it among many than among few lowers the limit. */
  readonly tolerated: number;
  /** Whether a call that began among many shows that so many do none … */
  readonly isHarmless: boolean;
  /** … and the limit that follows, as long as none that does harm was found. */
  readonly raised: number;
}

function limitAfter(
  known: CallLimit,
  { firstLimit, afterOverload, perSuccess }: ConcurrencyLimitPolicy,
  { calls, isAnswered, startedAt }: CrowdedCall,
  { now, harm, tolerated, isHarmless, raised }: Harm,
): CallLimit {
  const { limit, isFound, few, many, loweredAt } = known;
  if (calls <= 1 || 2 * calls <= limit) {
    if (!isAnswered && harm <= few) return known;
    const regained = limit < firstLimit && isAnswered ? limit + perSuccess : limit;
    return { limit: regained, isFound, few: few + FEW_GAIN * (harm - few), many, loweredAt };
  }
  // What began before the limit was lowered tells what was known then.
  if (startedAt < loweredAt || (!isAnswered && harm <= many)) return known;
  const more = many + MANY_GAIN * (harm - many);
  if (more - few > tolerated) {
    const lowered = Math.max(1, afterOverload * Math.min(limit, calls));
    return { limit: lowered, isFound: true, few, many: few, loweredAt: now };
  }
  const next = !isAnswered || !isHarmless ? limit : isFound ? limit + perSuccess : raised;
  return { limit: next, isFound, few, many: more, loweredAt };
}

/**
 * Whether an endpoint has room for one more call. The headroom is below 0 where it would be answered late, and 1
 * otherwise. Far beyond that limit there is none at all, unless it was seen that so many do not keep each other from
 * being answered.
 */
export function concurrencyRoom(
  concurrencyLimit: ConcurrencyLimit | undefined,
  { firstLimit, mostOver }: ConcurrencyLimitPolicy,
  calls: number,
): Room {
  if (concurrencyLimit === undefined)
    return calls < firstLimit ? FREE : { waitMs: 0, headroom: 1 - (calls + 1) / firstLimit };
  const { inTime, useful } = concurrencyLimit;
  const crowding = (calls + 1) / inTime.limit;
  if (crowding <= 1) return FREE;
  const isTooMuch = inTime.isFound && crowding > mostOver && calls >= useful.limit;
  const headroom = 1 - crowding;
  return isTooMuch ? { waitMs: LOOK_AGAIN_MS, headroom, crowded: true } : { waitMs: 0, headroom };
}

const FREE: Room = { waitMs: 0, headroom: 1 };
