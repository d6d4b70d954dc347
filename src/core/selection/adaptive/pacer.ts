import { fill } from '../../../config/option.ts';
import { PACER, type PacerPolicy } from '../../../config/tables/selection.ts';

export type { PacerPolicy } from '../../../config/tables/selection.ts';

/** Default {@link PacerPolicy}. */
export const DEFAULT_PACER_POLICY: PacerPolicy = fill(PACER);

/** The rate of an endpoint, and what was sent to it. */
export interface Pace {
  /** Calls per second; infinite until the endpoint refuses one. */
  readonly rate: number;
  /** Monotonic times of the calls of the last second and of places that were promised, in order; none without a rate. */
  readonly sent: readonly number[];
  /** As long as there is no rate, calls are only counted, so that a call costs the same however many there are. */
  readonly counted?: Counted | undefined;
}

/** Calls of this second and of the one before. */
interface Counted {
  /** When this second began, monotonic milliseconds. */
  readonly since: number;
  readonly calls: number;
  readonly before: number;
}

/** Whether there is a place for a call, and otherwise when. */
export interface Place {
  /** 0: now. Infinite: never. */
  readonly waitMs: number;
  /** Share of the rate that is free; 1 where there is no limit. */
  readonly headroom: number;
}

/** Pace of an endpoint that never refused a call. */
export const FREE_PACE: Pace = { rate: Infinity, sent: [] };

const SECOND_MS = 1_000;
/** Slowest rate: an endpoint that refuses everything is still asked now and then. */
const SLOWEST = 1;
const ANYTIME: Place = { waitMs: 0, headroom: 1 };

/** Whether an endpoint may be called now. A warm call is one whose prompt is in the endpoint's cache. */
export function placeIn({ rate, sent }: Pace, policy: PacerPolicy, warm: boolean, now: number): Place {
  if (rate === Infinity) return ANYTIME;
  const limit = warm ? rate : rate * policy.coldShare;
  const recent = sentSince(sent, now - SECOND_MS);
  const headroom = Math.max(0, 1 - recent / rate);
  if (recent < limit) return { waitMs: 0, headroom };
  // The first moment at which fewer than the limit lie within the second before it.
  const most = Math.max(1, Math.ceil(limit));
  const leaving = sent[sent.length - most];
  return { waitMs: leaving === undefined ? 0 : Math.max(1, leaving + SECOND_MS - now), headroom };
}

/** Folds in that a call goes out, or that a place is promised for a time to come. */
export function paceAfterSending({ rate, sent, counted }: Pace, at: number, now: number): Pace {
  if (rate === Infinity) return { rate, sent, counted: countedAfter(counted, at) };
  const oldest = now - SECOND_MS;
  const kept = sent.length > 0 && (sent[0] ?? 0) <= oldest ? sent.filter((one) => one > oldest) : sent;
  const last = kept.at(-1);
  if (last === undefined || last <= at) return { rate, sent: [...kept, at] };
  return { rate, sent: [...kept, at].sort((left, right) => left - right) };
}

/** Folds in a refusal. */
export function paceAfterRefusal({ rate, sent, counted }: Pace, policy: PacerPolicy, now: number): Pace {
  if (rate !== Infinity) {
    const known = Math.min(rate, sentSince(sent, now - SECOND_MS));
    return { rate: Math.max(SLOWEST, policy.afterRefusal * known), sent };
  }
  const calls = Math.round(callsOf(counted, now));
  // When each of them went out was not kept; from here on it is.
  const spread = Array.from({ length: calls }, (_, index) => now - SECOND_MS + ((index + 1) * SECOND_MS) / calls);
  return { rate: Math.max(SLOWEST, policy.afterRefusal * calls), sent: spread };
}

function countedAfter(counted: Counted | undefined, at: number): Counted {
  if (counted === undefined || at - counted.since >= 2 * SECOND_MS) return { since: at, calls: 1, before: 0 };
  const { since, calls, before } = counted;
  return at - since < SECOND_MS
    ? { since, calls: calls + 1, before }
    : { since: since + SECOND_MS, calls: 1, before: calls };
}

/** Calls of the last second, as if those of the second before had been spread evenly. */
function callsOf(counted: Counted | undefined, now: number): number {
  if (counted === undefined) return 0;
  const { since, calls, before } = counted;
  const elapsed = now - since;
  if (elapsed >= 2 * SECOND_MS) return 0;
  if (elapsed >= SECOND_MS) return calls * (2 - elapsed / SECOND_MS);
  return calls + before * (1 - elapsed / SECOND_MS);
}

/** Folds in a success. */
export function paceAfterSuccess(pace: Pace, policy: PacerPolicy): Pace {
  return pace.rate === Infinity ? pace : { ...pace, rate: pace.rate + policy.perSuccess };
}

function sentSince(sent: readonly number[], oldest: number): number {
  let count = 0;
  for (let index = sent.length - 1; index >= 0 && (sent[index] ?? 0) > oldest; index -= 1) count += 1;
  return count;
}

/** A bucket of retries after refusals, which every request fills a little. */
export interface RetryBucket {
  readonly retries: number;
}

/** The bucket after one more request. */
export function bucketAfterRequest({ retries }: RetryBucket, policy: PacerPolicy): RetryBucket {
  return { retries: Math.min(policy.mostRetries, retries + policy.retriesPerRequest) };
}
