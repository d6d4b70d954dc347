import { LOOK_AGAIN_MS, type Room } from './endpoint-limits.ts';
import type { AdaptivePolicy, CrowdPolicy } from './policy.ts';

/**
 * How many calls at a time an endpoint answers in time, found out from its answers. More than these make it slow by our
 * own doing: then calls that began among many are late, and calls that began among few are not. In an outage both are.
 */
export interface Crowd {
  /** Calls at a time that are known, or taken, to be answered in time. */
  readonly limit: number;
  /** Whether the endpoint was ever seen to get slow by as many calls as it had. */
  readonly isFound: boolean;
  /** Means of how much later than usual calls were, in natural logarithms: those that began among few, and the others. */
  readonly few: number;
  readonly many: number;
  /** Monotonic time at which the limit was last lowered. */
  readonly loweredAt: number;
}

/** What the fold below needs to know. */
export type CrowdPolicies = Pick<AdaptivePolicy, 'toleratedSlowness' | 'crowd'>;

/** A call that does not wait for its answer any more. */
export interface CrowdedCall {
  /** Calls that the endpoint had when it began, itself counted. */
  readonly calls: number;
  readonly startedAt: number;
  /** By how much it was later than usual, in natural logarithms. */
  readonly late: number;
  /** False when it was given up, or failed: it would have been later still. */
  readonly isAnswered: boolean;
}

/** Weight of a new time in the mean of calls that began among many, which says that it is too much … */
const MANY_GAIN = 0.2;
/** … and in that of the others, which says what is usual at the moment. */
const FEW_GAIN = 0.1;
/** Times have long tails: no call counts for more than one that is late by this power of what is tolerated. */
const MOST_LATE = 2;
/** Where less slowness is tolerated, this is still no overload: it could not be told from chance. */
const LEAST_TOLERATED = 1.2;
const NOTHING_KNOWN: Partial<Crowd> = {};
/** An endpoint that answers within a second is not overloaded, however fast it usually is: it may be us who are slow. */
const IN_TIME_MS = 1_000;

/**
 * By how much a time is later than usual, in natural logarithms.
 *
 * @param usual - Mean of the logarithms of usual times in milliseconds.
 */
export function lateness(ms: number, usual: number): number {
  return Math.log(Math.max(IN_TIME_MS, ms)) - Math.max(Math.log(IN_TIME_MS), usual);
}

/** Folds in a call that was answered, or given up before it was; nothing is known before the first one. */
export function crowdAfter(
  crowd: Crowd | undefined,
  policies: CrowdPolicies,
  call: CrowdedCall,
  now: number,
): Crowd | undefined {
  const { firstLimit, afterOverload, perSuccess } = policies.crowd;
  const { limit = firstLimit, isFound = false, few = 0, many = 0, loweredAt = -Infinity } = crowd ?? NOTHING_KNOWN;
  const { calls, isAnswered } = call;
  const tolerated = Math.log(Math.max(LEAST_TOLERATED, policies.toleratedSlowness));
  const late = Math.max(-MOST_LATE * tolerated, Math.min(MOST_LATE * tolerated, call.late));
  if (calls <= 1 || 2 * calls <= limit) {
    if (!isAnswered && late <= few) return crowd;
    const raised = limit < firstLimit && isAnswered ? limit + perSuccess : limit;
    return { limit: raised, isFound, few: few + FEW_GAIN * (late - few), many, loweredAt };
  }
  // What began before the limit was lowered tells what was known then.
  if (call.startedAt < loweredAt || (!isAnswered && late <= many)) return crowd;
  const later = many + MANY_GAIN * (late - many);
  if (later - few > tolerated) {
    const lowered = Math.max(1, afterOverload * Math.min(limit, calls));
    return { limit: lowered, isFound: true, few, many: few, loweredAt: now };
  }
  const isInTime = isAnswered && late <= tolerated;
  const raised = !isInTime ? limit : isFound ? limit + perSuccess : Math.max(limit, 2 * calls);
  return { limit: raised, isFound, few, many: later, loweredAt };
}

/**
 * Whether an endpoint has room for one more call. The headroom is below 0 where it would be one too many, and 1 otherwise;
 * far beyond the limit there is none at all, because nobody is served sooner by one more.
 */
export function crowdRoom(crowd: Crowd | undefined, { firstLimit, mostOver }: CrowdPolicy, calls: number): Room {
  const crowding = (calls + 1) / (crowd?.limit ?? firstLimit);
  if (crowding <= 1) return FREE;
  return { waitMs: crowd?.isFound === true && crowding > mostOver ? LOOK_AGAIN_MS : 0, headroom: 1 - crowding };
}

const FREE: Room = { waitMs: 0, headroom: 1 };
