/** Decides at which rate an endpoint is called, by how it answered before. */
import { fill } from '../../../options/option.ts';
import { TUNING, type Tuning } from '../../../options/selection.ts';
import type { EndpointHealth } from '../../fallback/health.ts';
import { isExhausted } from '../../fallback/refusal-evidence.ts';

/** How fast an endpoint may be called, found out from its refusals. */
export interface PacerPolicy {
  /** Share of the rate that remains after a refusal. */
  readonly afterRefusal: number;
  /** Slowest rate in calls per second, at which an endpoint that refuses everything is still called. */
  readonly slowestPerSecond: number;
  /** Slowest rate after the first refusal, when what the endpoint takes is only a guess. */
  readonly firstPerSecond: number;
  /** Milliseconds for which an endpoint is not called after a 429 that does not say when to come back. */
  readonly refusalMs: number;
  /** Calls per second by which the rate grows with each success. */
  readonly perSuccess: number;
  /** Share of the rate by which it grows at most, until it is seen to be far below what the endpoint takes. */
  readonly nearLimit: number;
  /** Calls taken one after the other, without a refusal, from which on it is. */
  readonly farAfter: number;
  /** Seconds' worth of the rate that may be sent at once, after a while in which less was sent. */
  readonly burstSeconds: number;
  /** Milliseconds that a request waits at most for a free endpoint; 0 refuses at once. */
  readonly maxWaitMs: number;
  /**
   * Milliseconds that a request waits at most for a place where its prompt is cached, although another endpoint is free;
   * as much shorter as it saves less than all of the cost there.
   */
  readonly warmWaitMs: number;
  /** Seconds' worth of the rates of all endpoints that may wait at a time. */
  readonly queueSeconds: number;
  /** Further endpoints that may be called after a 429, per request. */
  readonly retriesPerRequest: number;
  /** Such retries that may be saved up. */
  readonly mostRetries: number;
  /** Milliseconds for which a provider is believed that says with an answer what it will still take. */
  readonly reportedMs: number;
}

/** Milliseconds in a second. */
const SECOND_MS = 1_000;

/** The policy with what a program has tuned. */
export function pacerPolicy({ paceWaitMs }: Tuning): PacerPolicy {
  return {
    // The rate that was accepted is just too high: a twentieth less is below it, and half would waste what it takes.
    afterRefusal: 0.95,
    // Often enough to notice soon that it takes calls again, and too seldom to disturb it, also where several instances
    // share what it takes: with 1, four of them called twice as often as endpoints of two calls a second take.
    slowestPerSecond: 0.5,
    firstPerSecond: 1,
    // The shortest time that a `Retry-After` can name.
    refusalMs: SECOND_MS,
    // One call a second more after 67 successes: a limit is found again soon, and refusals stay few.
    perSuccess: 0.015,
    // Three calls a second or more grow by the above. A slow rate grew by 2 to 3 % with each success, and was refused
    // again after two; so it takes ten to regain the twentieth that a refusal costs.
    nearLimit: 0.005,
    // Twice that: whatever slowed it down is over.
    farAfter: 20,
    // Requests come together by chance, and limits are seldom counted by less than a second.
    burstSeconds: 2,
    maxWaitMs: paceWaitMs,
    // About the time to a first token; a prompt that is not cached would take longer for it.
    warmWaitMs: 600,
    // A request further behind in the queue would wait longer than it may.
    queueSeconds: paceWaitMs / SECOND_MS,
    // With a tenth of a retry, requests were refused while endpoints of a few calls a minute were free.
    retriesPerRequest: 3,
    // Enough for one burst.
    mostRetries: 20,
    // Limits are counted by the minute.
    reportedMs: 60 * SECOND_MS,
  };
}

/** The usual {@link PacerPolicy}. */
export const DEFAULT_PACER_POLICY: PacerPolicy = pacerPolicy(fill(TUNING));

/** The rate of an endpoint, and what was sent to it. */
export interface EndpointPace {
  /** Calls per second; infinite until the endpoint refuses one. */
  readonly rate: number;
  /**
   * Monotonic time until which everything that was sent or promised keeps the endpoint busy at its rate; what lies in the
   * past is free. Means nothing without a rate.
   */
  readonly busyUntil: number;
  /** Monotonic time of the refusal that the rate was last lowered for. */
  readonly refusedAt: number;
  /** Calls that it has taken since it refused one last: it had nothing left then. */
  readonly taken: number;
  /** Calls that it has not refused. */
  readonly counted?: Counted | undefined;
  /** Those that it has answered, counted since it refused one first. */
  readonly answered?: Counted | undefined;
  /** Whether its rate helps; absent without a rate. */
  readonly trial?: PaceTrial | undefined;
}

/** What calls became of an endpoint since it has a rate: where as many are refused as before, that does not help. */
interface PaceTrial {
  readonly calls: number;
  /** Share of the latest of them that it refused. */
  readonly refused: number;
}

/** Calls of this span of time and of the one before. */
interface Counted {
  /** When this span began, monotonic milliseconds. */
  readonly since: number;
  readonly calls: number;
  readonly before: number;
}

/** Whether there is a place for a call, and otherwise when. */
export interface Slot {
  /** 0: now. Infinite: never. */
  readonly waitMs: number;
  /** Share of the rate that is free; 1 where there is no limit. */
  readonly headroom: number;
}

/** Pace of an endpoint that never refused a call. */
export const FREE_PACE: EndpointPace = { rate: Infinity, busyUntil: -Infinity, refusedAt: -Infinity, taken: 0 };

const ANYTIME: Slot = { waitMs: 0, headroom: 1 };

/**
 * Whether an endpoint may be called now. What a burst holds may be sent at once; over a longer time it is exactly the rate,
 * also where that is no whole number.
 */
export function slotIn({ rate, busyUntil }: EndpointPace, policy: PacerPolicy, now: number): Slot {
  if (rate === Infinity) return ANYTIME;
  const used = Math.max(0, busyUntil - now);
  const burstMs = burstOf(policy, rate);
  const headroom = burstMs === 0 ? Number(used === 0) : Math.max(0, 1 - used / burstMs);
  const each = SECOND_MS / rate;
  const most = Math.max(each, burstMs);
  return { waitMs: used + each <= most + ROUNDING_MS ? 0 : Math.max(1, used + each - most), headroom };
}

/** Milliseconds' worth of a rate that may be sent at once: at a slow rate chance decides how many calls a second has. */
function burstOf({ burstSeconds }: PacerPolicy, rate: number): number {
  return burstSeconds === 0 ? 0 : Math.max(burstSeconds, LEAST_BURST / rate) * SECOND_MS;
}

/** Calls that a burst holds at least: a refusal that was not needed sends a session away from its cache. */
const LEAST_BURST = 8;

/** Sums of milliseconds are this exact. */
const ROUNDING_MS = 1e-3;

/** Folds in that a place is promised to a call. */
export function paceAfterPromise(pace: EndpointPace, now: number): EndpointPace {
  return { ...pace, busyUntil: busyAfter(pace, now) };
}

/** Folds in that a place that was promised is not used: it is free for others. */
export function paceAfterReturn(pace: EndpointPace): EndpointPace {
  return pace.rate === Infinity ? pace : { ...pace, busyUntil: pace.busyUntil - SECOND_MS / pace.rate };
}

function busyAfter({ rate, busyUntil }: EndpointPace, now: number): number {
  return rate === Infinity ? busyUntil : Math.max(now, busyUntil) + SECOND_MS / rate;
}

/**
 * Folds in that a call goes out.
 *
 * @param place - Whether its place was promised to it before. Default `free`.
 */
export function paceAfterSending(pace: EndpointPace, now: number, place: 'free' | 'promised' = 'free'): EndpointPace {
  const { rate, refusedAt, taken, answered, trial } = pace;
  const busyUntil = place === 'promised' ? pace.busyUntil : busyAfter(pace, now);
  const counted = countedAfter(pace.counted, now, SECOND_MS);
  return { rate, busyUntil, refusedAt, taken: taken + 1, counted, answered, trial };
}

/**
 * Folds in a refusal that follows what is sent: nothing is free now. Those of calls that went out together lower the rate
 * once, and none to less than what was answered in the last seconds.
 *
 * @param emptyAt - Monotonic time at which the endpoint has nothing left: now, or just before it wants to be called again.
 */
export function paceAfterRefusal(
  pace: EndpointPace,
  policy: PacerPolicy,
  emptyAt: number | undefined,
  now: number,
): EndpointPace {
  const isSame = pace.rate !== Infinity && now - pace.refusedAt < SAME_REFUSAL_MS;
  const known = Math.min(pace.rate, Math.max(callsOf(pace.counted, now, SECOND_MS), takenPerSecond(pace, now)));
  const slowest = pace.rate === Infinity ? policy.firstPerSecond : policy.slowestPerSecond;
  const answered = callsOf(pace.answered, now, ANSWERED_MS) / (ANSWERED_MS / SECOND_MS);
  const least = Math.max(slowest, Math.min(pace.rate, answered));
  const rate = isSame ? pace.rate : Math.max(least, policy.afterRefusal * known);
  const each = SECOND_MS / rate;
  const burstMs = burstOf(policy, rate);
  const empty = emptyAt === undefined ? now + burstMs : Math.max(now, emptyAt - each) + Math.max(each, burstMs);
  const busyUntil = Math.max(pace.busyUntil, empty);
  return { ...pace, rate, busyUntil, refusedAt: isSame ? pace.refusedAt : now, taken: 0 };
}

/**
 * Calls per second that an endpoint has gained at least between two refusals: it had nothing left at the first, and has
 * taken all calls since but the one that it refuses now. What the last second had is too few to know that.
 */
function takenPerSecond({ taken, refusedAt }: EndpointPace, now: number): number {
  // The first of them may have been nearly there before.
  return Math.max(0, taken - 2) / Math.max(1, (now - refusedAt) / SECOND_MS);
}

const SAME_REFUSAL_MS = 250;
/** Milliseconds of which it is counted what was answered. */
const ANSWERED_MS = 2 * SECOND_MS;
/** By how much a rate grows with each success while it is not used up: nothing shows then that it is needed. */
const UNUSED_GROWTH = 1.01;
/** Calls after which it is judged whether a rate helps, and the share of them that is refused where it does not. */
const TRIAL_CALLS = 100;
const TRIAL_REFUSED = 0.35;
/** Earlier calls that a trial remembers. */
const TRIAL_REMEMBERED = 50;

function countedAfter(counted: Counted | undefined, at: number, spanMs: number): Counted {
  if (counted === undefined || at - counted.since >= 2 * spanMs) return { since: at, calls: 1, before: 0 };
  const { since, calls, before } = counted;
  return at - since < spanMs ? { since, calls: calls + 1, before } : { since: since + spanMs, calls: 1, before: calls };
}

/** Calls of the last span of time, as if those of the one before had been spread evenly. */
function callsOf(counted: Counted | undefined, now: number, spanMs: number): number {
  if (counted === undefined) return 0;
  const { since, calls, before } = counted;
  const elapsed = now - since;
  if (elapsed >= 2 * spanMs) return 0;
  if (elapsed >= spanMs) return calls * (2 - elapsed / spanMs);
  return calls + before * (1 - elapsed / spanMs);
}

/** Without the last call: it was refused. */
function withoutRefused(pace: EndpointPace): EndpointPace {
  const { counted } = pace;
  if (counted === undefined) return pace;
  return { ...pace, counted: { ...counted, calls: Math.max(0, counted.calls - 1) } };
}

/** Whether more than half of a burst is sent or promised. */
function isUsed({ rate, busyUntil }: EndpointPace, policy: PacerPolicy, now: number): boolean {
  return busyUntil - now > burstOf(policy, rate) / 2;
}

/** Folds in a success. */
export function paceAfterSuccess(pace: EndpointPace, policy: PacerPolicy, now: number): EndpointPace {
  const { rate, taken } = pace;
  const answered = countedAfter(pace.answered, now, ANSWERED_MS);
  if (rate === Infinity) return { ...pace, answered };
  const { perSuccess, nearLimit, farAfter } = policy;
  const more = taken > farAfter ? perSuccess : Math.min(perSuccess, nearLimit * rate);
  const grown = isUsed(pace, policy, now) ? rate + more : Math.max(rate + more, UNUSED_GROWTH * rate);
  return { ...pace, answered, rate: grown, trial: trialAfter(pace.trial, 'answered') };
}

/** Without a rate. */
function freed({ counted, answered, refusedAt }: EndpointPace): EndpointPace {
  return { ...FREE_PACE, counted, answered, refusedAt };
}

function trialAfter(trial: PaceTrial | undefined, end: 'answered' | 'refused'): PaceTrial {
  const { calls = 0, refused = 0 } = trial ?? {};
  const isRefused = Number(end === 'refused');
  return { calls: calls + 1, refused: refused + (isRefused - refused) / Math.min(calls + 1, TRIAL_REMEMBERED) };
}

/** How a call ended, as far as it matters for the rate. */
interface PacedCall {
  readonly outcome: { readonly ok: true } | { readonly ok: false; readonly failure: { readonly kind: string } };
  /** That of the endpoint after it: by its cooldown, a provider may have said when to come back. */
  readonly health: Pick<EndpointHealth, 'cooldown' | 'refusals'>;
}

/**
 * A rate after a call has ended.
 *
 * @param policy - Undefined where endpoints are called as fast as requests come.
 */
export function paceAfterCall(
  pace: EndpointPace | undefined,
  policy: PacerPolicy | undefined,
  call: PacedCall,
  now: number,
): EndpointPace | undefined {
  if (policy === undefined || pace === undefined) return pace;
  const { outcome, health } = call;
  const { cooldown, refusals } = health;
  if (outcome.ok) return refusals === undefined ? pace : paceAfterSuccess(pace, policy, now);
  if (outcome.failure.kind !== 'rate_limited') return pace;
  const isEvident = isExhausted(refusals);
  const known = withoutRefused(pace);
  if (!isEvident && (pace.rate === Infinity || !isUsed(pace, policy, now))) return known;
  // A rate that is only a guess begins anew when the provider wants to be called again; a known one has gained meanwhile.
  const isGuessed = cooldown?.asked === true && pace.rate === Infinity;
  const trial = pace.rate === Infinity ? undefined : trialAfter(pace.trial, 'refused');
  // Others may have used up what the endpoint takes, or it refuses by chance: fewer calls would be answered for nothing.
  if (trial !== undefined && trial.calls >= TRIAL_CALLS && trial.refused >= TRIAL_REFUSED) {
    return freed(known);
  }
  return { ...paceAfterRefusal(known, policy, isGuessed ? cooldown.until : undefined, now), trial };
}

/** A bucket of retries after refusals, which every request fills a little. */
export interface RetryBucket {
  readonly retries: number;
}

/** The bucket after one more request. */
export function bucketAfterRequest({ retries }: RetryBucket, policy: PacerPolicy): RetryBucket {
  return { retries: Math.min(policy.mostRetries, retries + policy.retriesPerRequest) };
}
