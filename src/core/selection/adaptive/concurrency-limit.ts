import { LOOK_AGAIN_MS, type Room } from './endpoint-limits.ts';
import { type AdaptivePolicy, type ConcurrencyLimitPolicy, OWN_MS } from './policy.ts';

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
