/**
 * A circuit breaker as plain data. Closed lets everything through; open lets nothing through until `openUntil`;
 * after that one probe at a time decides. Every opening has a number, so that a late answer to a call from before
 * the opening changes nothing.
 *
 * It opens by a sequential test: how many times as likely the latest outcomes are of an endpoint that is down as of this
 * one as it usually is. What is usual is counted only while nothing shows that it is down.
 */
export interface Breaker {
  readonly state: 'closed' | 'open';
  /** Counts openings, closings and probes that were given up. */
  readonly generation: number;
  /** Openings since it was last closed; each doubles the time. */
  readonly openings: number;
  readonly openedAt: number;
  readonly openUntil: number;
  /** Probes in flight since `openUntil` passed. */
  readonly probes: number;
  /** Monotonic time at which the newest probe started. */
  readonly probedAt: number;
  /** Failures and successes as far as they are not forgotten; each outcome makes those before it count a little less. */
  readonly failed: number;
  readonly succeeded: number;
  /** Outcomes that were ever counted into these. */
  readonly counted: number;
  /** Natural logarithm of the odds that it is down, by the outcomes since it was last 0. */
  readonly suspicion: number;
  /** Value of `counted` when the suspicion began. */
  readonly suspectedSince: number;
  /** What of `failed` the suspicion consists of. */
  readonly suspected: number;
  /** Probes that failed since it opened. */
  readonly missed: number;
  /** Whose failures the suspicion consists of. */
  readonly blames: readonly Blame[];
  /** Account whose call succeeded last, when that was, and when one of another account last did. */
  readonly account: string | undefined;
  readonly succeededAt: number;
  readonly otherSucceededAt: number;
}

/** What the failures of one account say for an endpoint being down. */
interface Blame {
  /** Undefined where it is unknown, and for what no single account's calls have shown. */
  readonly account: string | undefined;
  readonly suspicion: number;
}

/** When a breaker opens and for how long. */
export interface BreakerPolicy {
  /**
   * How many times as likely its latest outcomes must be of an endpoint that is down, and answers less than one call in
   * 50, as of this one as it usually is. `Infinity`: failures never open it.
   */
  readonly odds: number;
  /** Milliseconds of the first opening. */
  readonly openMs: number;
  /** Longest opening in milliseconds. */
  readonly maxOpenMs: number;
  /** Probes at a time when half open. */
  readonly probes: number;
  /** How many times as long as the one before an opening lasts. */
  readonly growth: number;
  /** Share by which an opening may be longer or shorter, so that instances do not probe together. */
  readonly jitter: number;
}

/** The usual {@link BreakerPolicy}, found by measuring outages of simulated worlds. */
export const DEFAULT_BREAKER_POLICY: BreakerPolicy = {
  // Three failures in a row where an endpoint usually succeeds, about twelve where a third of its calls fails.
  odds: 1_000_000,
  openMs: 2_500,
  // An endpoint that is back is missed no longer.
  maxOpenMs: 30_000,
  // One request at a time is enough to find out.
  probes: 1,
  // Openings that double find out late that an endpoint is back.
  growth: 1.2,
  jitter: 0.2,
};

/** What of a policy makes a breaker that failures never open. */
export const NEVER_OPENS: Pick<BreakerPolicy, 'odds'> = { odds: Infinity };

/** Share of its calls that an endpoint answers at most while it is down. */
const DOWN_SUCCESS = 0.02;
/** Outcomes after which an earlier one counts for a third. */
const REMEMBERED_CALLS = 200;
const FADING = 1 - 1 / REMEMBERED_CALLS;
/**
 * What an endpoint is taken to have done before its first call. So little that it is soon known by what it did: one of
 * which nothing is known opens after five failures from its first call on, after ten successes three are enough.
 */
const PRIOR_SUCCESSES = 1.88;
const PRIOR_FAILURES = 0.12;
/** No endpoint is taken to fail more seldom: it takes three failures to be sure, however good it was. */
const LEAST_USUAL = 0.009;
/** Milliseconds for which a success of another account still says that the endpoint is up. */
const OTHERS_MS = 10_000;
/** Accounts whose failures are told apart. */
const MOST_BLAMES = 32;

const NOBODY: readonly Blame[] = [];

/** A breaker that has seen nothing. */
export const CLOSED_BREAKER: Breaker = {
  state: 'closed',
  generation: 0,
  openings: 0,
  openedAt: 0,
  openUntil: 0,
  probes: 0,
  probedAt: 0,
  failed: PRIOR_FAILURES,
  succeeded: PRIOR_SUCCESSES,
  counted: 0,
  suspicion: 0,
  suspectedSince: 0,
  suspected: 0,
  missed: 0,
  blames: NOBODY,
  account: undefined,
  succeededAt: -1e12,
  otherSucceededAt: -1e12,
};

/** Whether a call may go through now, and if not, in how many milliseconds. */
export function admits(breaker: Breaker, policy: BreakerPolicy, now: number): { ok: boolean; waitMs: number } {
  if (breaker.state === 'closed') return { ok: true, waitMs: 0 };
  const waitMs = remaining(breaker, policy, now);
  if (waitMs > 0) return { ok: false, waitMs };
  return breaker.probes < policy.probes || probesLost(breaker, policy, now)
    ? { ok: true, waitMs: 0 }
    : { ok: false, waitMs: PROBE_POLL_MS };
}

/** Records that a call goes out. In a half-open breaker it is a probe. */
export function started(breaker: Breaker, policy: BreakerPolicy, now: number): Breaker {
  if (breaker.state === 'closed') return breaker;
  if (!probesLost(breaker, policy, now)) return { ...breaker, probes: breaker.probes + 1, probedAt: now };
  // Should a lost probe end after all, it must not be taken for this one.
  return { ...breaker, probes: 1, probedAt: now, generation: breaker.generation + 1 };
}

/** How a call ended, for {@link ended}. */
interface BreakerCall {
  readonly outcome: 'succeeded' | 'failed' | 'neutral';
  readonly generation: number;
  /** Id of the account that it was made for. */
  readonly account?: string | undefined;
  /** Random number from 0 to 1, for the length of an opening. Default: one that changes nothing. */
  readonly roll?: number | undefined;
}

/** Records how a call ended that went out in the given generation. */
export function ended(breaker: Breaker, policy: BreakerPolicy, call: BreakerCall, now: number): Breaker {
  if (call.generation !== breaker.generation) return breaker;
  if (breaker.state === 'open') return probeEnded(breaker, policy, call, now);
  if (call.outcome === 'neutral') return breaker;
  if (call.outcome === 'succeeded') return afterSuccess(breaker, call.account, now);
  const known: Breaker = {
    ...suspectedMore(breaker, call.account),
    failed: breaker.failed * FADING + 1,
    succeeded: breaker.succeeded * FADING,
    counted: breaker.counted + 1,
    suspected: breaker.suspected * FADING + 1,
  };
  return isDown(known, policy, now) ? opened(known, policy, now, call.roll) : known;
}

function afterSuccess(breaker: Breaker, account: string | undefined, now: number): Breaker {
  const suspicion = breaker.suspicion === 0 ? 0 : lessSuspicious(breaker);
  const isSuspected = suspicion > 0;
  const isSame = account === breaker.account;
  // Member by member: every answer comes by here, and a literal is slow where something follows a spread.
  return {
    state: breaker.state,
    generation: breaker.generation,
    openings: breaker.openings,
    openedAt: breaker.openedAt,
    openUntil: breaker.openUntil,
    probes: breaker.probes,
    probedAt: breaker.probedAt,
    failed: breaker.failed * FADING,
    succeeded: breaker.succeeded * FADING + 1,
    counted: breaker.counted + 1,
    suspicion,
    suspectedSince: isSuspected ? breaker.suspectedSince : 0,
    // An endpoint that is down does not answer in between, so what has failed before is how it usually is.
    suspected: 0,
    missed: 0,
    blames: isSuspected ? scaled(breaker.blames, suspicion / breaker.suspicion) : NOBODY,
    account,
    succeededAt: now,
    otherSucceededAt: isSame ? breaker.otherSucceededAt : breaker.succeededAt,
  };
}

function lessSuspicious(breaker: Breaker): number {
  const { suspicion } = breaker;
  return Math.max(0, suspicion + Math.min(0, Math.log(DOWN_SUCCESS / (1 - usualFailures(breaker)))));
}

/** Share of its calls that an endpoint usually fails: without those that have raised the suspicion. */
function usualFailures({ failed, succeeded, suspected }: Breaker): number {
  const usual = Math.max(0, failed - suspected);
  return Math.max(LEAST_USUAL, usual / Math.max(Number.EPSILON, usual + succeeded));
}

/** With one failure more in what speaks for an endpoint being down. */
function suspectedMore(breaker: Breaker, account: string | undefined): Breaker {
  const more = Math.max(0, Math.log((1 - DOWN_SUCCESS) / usualFailures(breaker)));
  return {
    ...breaker,
    suspicion: breaker.suspicion + more,
    suspectedSince: breaker.suspicion === 0 ? breaker.counted + 1 : breaker.suspectedSince,
    blames: blamed(breaker.blames, account, more),
  };
}

/** Adds to what an account's failures say; beyond so many accounts, the last one stands for the others. */
function blamed(blames: readonly Blame[], account: string | undefined, more: number): readonly Blame[] {
  const known = blames.findIndex((one) => one.account === account);
  const index = known < 0 && blames.length >= MOST_BLAMES ? blames.length - 1 : known;
  const one = blames[index];
  if (one === undefined) return [...blames, { account, suspicion: more }];
  return blames.with(index, { account: one.account, suspicion: Math.max(0, one.suspicion + more) });
}

function scaled(blames: readonly Blame[], by: number): readonly Blame[] {
  return blames.map(({ account, suspicion }) => ({ account, suspicion: suspicion * by }));
}

/** Whether what is suspected is sure enough. One account is not: not while the calls of others succeed. */
function isDown(breaker: Breaker, { odds }: BreakerPolicy, now: number): boolean {
  const needed = Math.log(odds);
  if (breaker.suspicion < needed) return false;
  let sum = 0;
  for (const { account, suspicion } of breaker.blames) {
    const otherAt = account === breaker.account ? breaker.otherSucceededAt : breaker.succeededAt;
    const isAlone = account !== undefined && Math.abs(now - otherAt) < OTHERS_MS;
    sum += isAlone ? Math.min(suspicion, needed / 2) : suspicion;
  }
  return sum >= needed;
}

/** A failure that was counted: the breaker just before it and just after. */
export interface CountedFailure {
  readonly before: Breaker;
  readonly after: Breaker;
  readonly account: string | undefined;
}

/**
 * Takes a failure back that turned out to be the fault of its request: as if it had never been counted, also when it
 * has opened the breaker.
 */
export function takenBack(breaker: Breaker, failure: CountedFailure, policy: BreakerPolicy, now: number): Breaker {
  const { before, after, account } = failure;
  // What came after it has made it count less, and what came before it counts less because of it.
  const left = FADING ** Math.max(0, breaker.counted - after.counted);
  const isCounted = after.counted > before.counted;
  const isOpening = breaker.state === 'open';
  const isSuspected = breaker.suspicion > 0 && breaker.suspectedSince === after.suspectedSince;
  const less = isSuspected ? Math.min(breaker.suspicion, after.suspicion - before.suspicion) : 0;
  const suspicion = breaker.suspicion - less < ROUNDING ? 0 : breaker.suspicion - less;
  const known: Breaker = {
    ...breaker,
    failed: Math.max(0, breaker.failed - left * (after.failed - before.failed)),
    succeeded: Math.max(0, breaker.succeeded - left * (after.succeeded - before.succeeded)),
    suspicion,
    suspectedSince: suspicion === 0 && !isOpening ? 0 : breaker.suspectedSince,
    suspected: suspicion === 0 ? 0 : Math.max(0, breaker.suspected - (isSuspected && isCounted ? left : 0)),
    missed: isOpening && after.missed > before.missed ? Math.max(0, breaker.missed - 1) : breaker.missed,
    blames: suspicion === 0 ? NOBODY : less === 0 ? breaker.blames : blamed(breaker.blames, account, -less),
  };
  return isOpening && less > 0 && !isDown(known, policy, now) ? closed(known) : known;
}

/** Sums of logarithms are this exact. */
const ROUNDING = 1e-9;

/** Opens a breaker for another reason than failures, such as an endpoint that has fallen silent. */
export function tripped(breaker: Breaker, policy: BreakerPolicy, now: number, roll?: number): Breaker {
  if (breaker.state === 'open') return breaker;
  const sure = Math.log(Math.min(policy.odds, Number.MAX_VALUE));
  const suspectedSince = breaker.suspicion === 0 ? breaker.counted + 1 : breaker.suspectedSince;
  const known: Breaker = {
    ...breaker,
    suspicion: breaker.suspicion + sure,
    suspectedSince,
    blames: blamed(breaker.blames, undefined, sure),
  };
  return opened(known, policy, now, roll);
}

function probeEnded(breaker: Breaker, policy: BreakerPolicy, call: BreakerCall, now: number): Breaker {
  const { outcome, account, roll } = call;
  if (outcome === 'succeeded') return afterSuccess(answeredAgain(breaker, now), account, now);
  if (outcome === 'neutral') return { ...breaker, probes: Math.max(0, breaker.probes - 1) };
  const known: Breaker = { ...suspectedMore(breaker, account), missed: breaker.missed + 1 };
  // A call that was let through before its time, because nobody else was there, makes nothing worse.
  if (now >= breaker.openUntil) return opened(known, policy, now, roll);
  return { ...known, probes: Math.max(0, breaker.probes - 1) };
}

/**
 * A breaker whose endpoint has answered again. After an outage its failures are explained by that; where it answers
 * before its time, it was none, so they are what is usual there.
 */
function answeredAgain(breaker: Breaker, now: number): Breaker {
  const wasUp = breaker.openings === 1 && now < breaker.openUntil;
  const failed = Math.max(0, wasUp ? breaker.failed + breaker.missed : breaker.failed - breaker.suspected);
  return closed({ ...breaker, failed, suspicion: 0, suspectedSince: 0, suspected: 0, blames: NOBODY });
}

function closed(breaker: Breaker): Breaker {
  return {
    ...breaker,
    state: 'closed',
    generation: breaker.generation + 1,
    openings: 0,
    openedAt: 0,
    openUntil: 0,
    probes: 0,
    probedAt: 0,
    missed: 0,
  };
}

function opened(breaker: Breaker, policy: BreakerPolicy, now: number, roll = 0.5): Breaker {
  const { growth, jitter } = policy;
  const varied = policy.openMs * growth ** Math.min(breaker.openings, 30) * (1 + jitter * (2 * roll - 1));
  const openMs = Math.min(policy.maxOpenMs, varied);
  return {
    ...breaker,
    state: 'open',
    generation: breaker.generation + 1,
    openings: breaker.openings + 1,
    openedAt: now,
    openUntil: now + openMs,
    probes: 0,
    probedAt: 0,
  };
}

/** Time left of an opening; none when the clock went back, so that no jump keeps it open beyond the cap. */
function remaining(breaker: Breaker, policy: BreakerPolicy, now: number): number {
  return now < breaker.openedAt ? 0 : Math.min(breaker.openUntil - now, policy.maxOpenMs);
}

/** A probe whose end was never told, for example because its process died, does not block for ever. */
function probesLost(breaker: Breaker, policy: BreakerPolicy, now: number): boolean {
  return breaker.probes > 0 && Math.abs(now - breaker.probedAt) >= policy.maxOpenMs;
}

const PROBE_POLL_MS = 1_000;
