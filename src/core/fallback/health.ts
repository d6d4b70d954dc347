/** Folds the outcomes of calls into the health of an endpoint, and decides whether it may be called. */
import { DEFAULT_ADAPTIVE_POLICY } from '../selection/adaptive/policy.ts';
import { admits, type Breaker, type BreakerPolicy, CLOSED_BREAKER, ended, started, tripped } from './breaker.ts';
import { type AttemptFailure, FAILURE_RULES } from '../../contracts/failure.ts';
import { answersStill, type Cooldown, cooldownAfter, cooldownOf, isOver } from './cooldown.ts';
import {
  conditionAfter,
  counted,
  endedLately,
  FAULTLESS,
  type ForgettingPolicy,
  HALF_HOUR_MS,
  type HealthCondition,
  type OutcomeCounts,
  uptimeOf,
} from './outcomes.ts';
import {
  type CallsBeside,
  evidenceAfterAcceptance,
  evidenceAfterRefusal,
  isExhausted,
  NONE_BESIDE,
  type RefusalEvidence,
} from './refusal-evidence.ts';

/** Refusals in a row of which it is unknown whether they concern more than their requests. */
interface Doubt {
  readonly refusals: number;
  /** Id of the request that was refused last. */
  readonly request: string | undefined;
  /** Id of the account whose requests all of them were; undefined where there are several, or none is known. */
  readonly account: string | undefined;
}

/**
 * Calls that are let through although an endpoint is left alone, because nothing else was left: so many at once, and then
 * a few a second.
 */
interface LastResort {
  /** Calls that might have gone out at `at`. */
  readonly calls: number;
  /** When one last went out. */
  readonly at: number;
  readonly isUnderWay: boolean;
}

export type { Cooldown } from './cooldown.ts';

/** What is known about how an endpoint does. Plain data: it can be stored, shared and restored. */
export interface EndpointHealth extends OutcomeCounts {
  readonly breaker: Breaker;
  readonly cooldown?: Cooldown | undefined;
  readonly lastResort?: LastResort | undefined;
  readonly doubt?: Doubt | undefined;
  /** What its refusals say; absent until it refuses a call. */
  readonly refusals?: RefusalEvidence | undefined;
  /** What failures have left of it. */
  readonly condition: HealthCondition;
  readonly consecutiveFailures: number;
  readonly lastFailureAt: number;
  /** True when its latest call found no server listening. */
  readonly notListening: boolean;
}

/** Options of the folds. */
export interface HealthPolicy {
  readonly breaker: BreakerPolicy;
  /** Longest cooldown in milliseconds, whatever a provider requires. */
  readonly maxCooldownMs: number;
  /** How failures are forgotten. Default: as in the default {@link AdaptivePolicy}. */
  readonly forgetting?: ForgettingPolicy | undefined;
  /** Milliseconds for which an endpoint is left alone after a 429 without a time. Default 1,000. */
  readonly refusalMs?: number | undefined;
}

/** How one call ended, for {@link observe}. */
export type CallOutcome =
  | {
      readonly ok: true;
      readonly generation: number;
      /** Id of the account. */
      readonly account?: string | undefined;
      /** Monotonic time at which the call was sent. Default: the time at which it ended. */
      readonly startedAt?: number | undefined;
    }
  | {
      readonly ok: false;
      readonly failure: AttemptFailure;
      readonly generation: number;
      /** Id of the request, so that one that fails twice is not taken for two. */
      readonly request?: string | undefined;
      readonly account?: string | undefined;
      /** As above. */
      readonly startedAt?: number | undefined;
      /** Calls that are under way at its endpoint, where that may be a refusal. Default: none. */
      readonly beside?: CallsBeside | undefined;
      /** True when a failure of the same request was counted here before: a request is counted once. */
      readonly again?: boolean | undefined;
      /** US dollars that it has cost, with the time that it took. Default 0. */
      readonly lostUsd?: number | undefined;
      /** Random number from 0 to 1, by which cooldowns of many instances come to differ. */
      readonly roll?: number | undefined;
    };

/** Whether an endpoint may be called now. */
export type Admission =
  | {
      readonly ok: true;
      /** True when the call would find out whether an endpoint that was out is back. */
      readonly probe?: boolean | undefined;
      /** Share of the endpoint's rate that is free. */
      readonly headroom?: number | undefined;
    }
  | {
      readonly ok: false;
      readonly waitMs: number;
      /** `pace`: its rate, or a declared limit, is used up. */
      readonly cause: AttemptFailure['kind'] | 'breaker' | 'pace';
      /** True when the provider said for how long it must not be called. */
      readonly asked?: boolean | undefined;
      /**
       * Milliseconds until a request that finds nothing else may call the endpoint all the same, to find out whether it
       * is back; 0 for now. Absent when the provider said itself when to come back.
       */
      readonly lastResortMs?: number | undefined;
      /** True where only too many of our own calls are in the way: the endpoint refuses nothing, so it is waited for. */
      readonly crowded?: boolean | undefined;
      /** True while a call is under way that finds out whether it is back. */
      readonly isTried?: boolean | undefined;
      readonly headroom?: number | undefined;
    };

/** How an endpoint stands among the others: 0 stable, 1 below par, 2 only as a last resort. */
type Stability = 0 | 1 | 2;

/** Failures this recent count as an outage (gaps 3.3). */
const OUTAGE_MS = 30_000;
/** … when at least this share of the calls failed, or two in a row did. */
const OUTAGE_RATIO = 0.2;
const OUTAGE_IN_A_ROW = 2;
/** Uptime is only judged with this many calls in half an hour. */
const UPTIME_MINIMUM_CALLS = 100;

/** Doubtful refusals in a row after which an endpoint is suspected … */
const DOUBTS_UNTIL_SUSPECTED = 3;
/** … and for how long it is then left alone. */
const SUSPECTED_MS = 60_000;

/** Calls that a last resort consists of, at once and for each second after that, where calls failed … */
const AFTER_FAILURES = { atOnce: 20, perSecond: 3 };
/** … and where an endpoint refused our account. */
const AFTER_REFUSALS = { atOnce: 1, perSecond: 1 };
/** … where the provider said for how long: so many in that time, within these limits of milliseconds. */
const WHILE_ASKED = 10;
const SELDOM_MS = { least: 1_000, most: 10_000 };
/** Such calls that may wait for their answers at a time, and how many milliseconds are between those beyond. */
const MOST_AT_A_TIME = 30;
const CROWDED_MS = 1_000;

/** Health of an endpoint that was never called. */
export const UNKNOWN_HEALTH: EndpointHealth = {
  breaker: CLOSED_BREAKER,
  condition: FAULTLESS,
  minute: [],
  halfHour: [],
  day: [],
  consecutiveFailures: 0,
  lastFailureAt: 0,
  notListening: false,
};

/**
 * Whether the endpoint may be called now, and if not, when and why.
 *
 * @param call - Calls under way that outlive those that fail, as `outlives` has it, by default 0; and the account of the
 * call, by default any.
 */
export function admission(
  health: EndpointHealth,
  policy: HealthPolicy,
  now: number,
  { outliving = 0, account }: { readonly outliving?: number; readonly account?: string | undefined } = {},
): Admission {
  const { cooldown, breaker } = health;
  if (cooldown !== undefined && isCooling(cooldown, now) && concerns(cooldown, account)) {
    const { cause, until, asked } = cooldown;
    const waitMs = Math.min(until - now, policy.maxCooldownMs);
    if (asked === true) return { ok: false, waitMs, cause, asked, lastResortMs: lastResortAfterMs(health, cause, now) };
    // A name that the provider does not know costs it nothing, and every request with it is told so.
    const lastResortMs = cause === 'model_not_found' ? 0 : lastResortAfterMs(health, cause, now);
    return { ok: false, waitMs, cause, lastResortMs };
  }
  if (breaker.state === 'closed') return ADMITTED;
  const { ok, waitMs } = admits(breaker, policy.breaker, now);
  if (ok) return PROBE;
  return {
    ok: false,
    waitMs,
    cause: 'breaker',
    lastResortMs: lastResortAfterMs(health, 'breaker', now, outliving),
    isTried: breaker.probes > 0,
  };
}

const ADMITTED: Admission = { ok: true };
const PROBE: Admission = { ok: true, probe: true };

function concerns(cooldown: Cooldown, account: string | undefined): boolean {
  return cooldown.account === undefined || cooldown.account === account;
}

function isCooling(cooldown: Cooldown, now: number): boolean {
  return now < cooldown.until && now >= cooldown.since;
}

type Cause = Extract<Admission, { ok: false }>['cause'];

/** Milliseconds until the next call as a last resort. */
function lastResortAfterMs(health: EndpointHealth, cause: Cause, now: number, outliving = 0): number {
  const { lastResort, breaker } = health;
  if (outliving > 0 && breaker.probes < MOST_AT_A_TIME + outliving) return 0;
  // Those under way may never be answered, by an endpoint that is back meanwhile.
  if (breaker.probes >= MOST_AT_A_TIME) {
    return Math.max(0, CROWDED_MS - Math.abs(now - (lastResort?.at ?? outSince(health, cause, now))));
  }
  const missing = 1 - lastResortCalls(health, cause, now);
  return missing <= 0 ? 0 : Math.ceil((missing * 1_000) / allowed(health, cause).perSecond);
}

/** Calls that may go out now as a last resort. After a refusal of our account the first one comes later. */
function lastResortCalls(health: EndpointHealth, cause: Cause, now: number): number {
  const { atOnce, perSecond } = allowed(health, cause);
  const { calls, at } = health.lastResort ?? { calls: atOnce > 1 ? atOnce : 0, at: outSince(health, cause, now) };
  return Math.min(atOnce, calls + (Math.abs(now - at) * perSecond) / 1_000);
}

/** Since when an endpoint is left alone. */
function outSince({ breaker, cooldown }: EndpointHealth, cause: Cause, now: number): number {
  return cause === 'breaker' ? breaker.openedAt : (cooldown?.since ?? now);
}

function allowed({ cooldown }: EndpointHealth, cause: Cause): { readonly atOnce: number; readonly perSecond: number } {
  if (cause === 'breaker' || cause === 'pace') return AFTER_FAILURES;
  // Whether a rate is used up is soon known, and until then nothing is.
  const isOpen = FAILURE_RULES[cause].breaks || cause === 'rate_limited';
  const isUnproven = cooldown?.unproven === true;
  if (cooldown?.asked !== true) {
    return FAILURE_RULES[cause].breaks || (isUnproven && isOpen) ? AFTER_FAILURES : AFTER_REFUSALS;
  }
  if (isUnproven && cause === 'rate_limited') return AFTER_REFUSALS;
  const everyMs = (cooldown.until - cooldown.since) / WHILE_ASKED;
  return { atOnce: 1, perSecond: 1_000 / Math.min(SELDOM_MS.most, Math.max(SELDOM_MS.least, everyMs)) };
}

/** Folds in that a call of an account goes out. */
export function observeStart(
  health: EndpointHealth,
  policy: HealthPolicy,
  now: number,
  account?: string,
): EndpointHealth {
  if (health.breaker.state === 'closed' && health.cooldown === undefined) return health;
  const breaker = started(health.breaker, policy.breaker, now);
  const admitted = admission(health, policy, now, { account });
  if (admitted.ok) return breaker === health.breaker ? health : { ...health, breaker };
  const calls = Math.max(0, lastResortCalls(health, admitted.cause, now) - 1);
  return { ...health, breaker, lastResort: { calls, at: now, isUnderWay: true } };
}

/** Folds in how a call ended. */
export function observe(health: EndpointHealth, policy: HealthPolicy, call: CallOutcome, now: number): EndpointHealth {
  const forgetting = policy.forgetting ?? DEFAULT_ADAPTIVE_POLICY;
  const probe = call.generation === health.breaker.generation && health.breaker.state === 'open';
  if (call.ok) {
    const { generation, account, startedAt = now } = call;
    const breaker = ended(health.breaker, policy.breaker, { outcome: 'succeeded', generation, account }, now);
    const { lastResort, cooldown, refusals } = health;
    const isBack = cooldown === undefined ? lastResort?.isUnderWay === true : isOver(cooldown, startedAt);
    const { minute, halfHour, day, latest } = counted(health, now, 'succeeded');
    // Member by member: every answer comes by here, and a literal is slow where something follows a spread.
    return {
      breaker,
      cooldown: isBack || cooldown?.account !== undefined ? undefined : cooldown,
      lastResort: undefined,
      doubt: undefined,
      refusals: refusals === undefined ? undefined : evidenceAfterAcceptance(refusals, startedAt, now),
      condition: conditionAfter(health.condition, forgetting, { ok: true, probe: probe || isBack }, now),
      minute,
      halfHour,
      day,
      latest,
      consecutiveFailures: 0,
      lastFailureAt: health.lastFailureAt,
      notListening: false,
    };
  }
  const rule = FAILURE_RULES[call.failure.kind];
  // A probe that others had to answer for has not shown that the endpoint is back.
  const doubtful = call.failure.doubtful === true;
  const breaks = (rule.breaks && !doubtful) || (probe && call.failure.kind === 'superseded');
  const again = call.again === true;
  const outcome = breaks && !again ? 'failed' : 'neutral';
  const { generation, account, roll } = call;
  const breaker = ended(health.breaker, policy.breaker, { outcome, generation, account, roll }, now);
  const { lastResort } = health;
  const known = {
    ...health,
    breaker,
    lastResort: lastResort?.isUnderWay === true ? { ...lastResort, isUnderWay: false } : lastResort,
    notListening: call.failure.notListening === true,
  };
  const cooldown = cooldownOf(call.failure, policy, now);
  const isRefusal = (doubtful || cooldown !== undefined) && !again;
  const refusals = isRefusal
    ? evidenceAfterRefusal(
        health.refusals,
        { ...(call.beside ?? NONE_BESIDE), answered: health.breaker.succeeded },
        now,
      )
    : health.refusals;
  const refused = { ...known, refusals };
  if (doubtful) return doubted(refused, call, now);
  const left = cooldown === undefined ? refused : { ...refused, cooldown: cooldownAfter(refused, cooldown, now) };
  // A 403 is about what was asked as often as about our key (gaps 3.3).
  if (again || !rule.againstUptime || call.failure.status === 403) return left;
  return {
    ...left,
    ...counted(left, now, 'failed'),
    condition: conditionAfter(health.condition, forgetting, { ok: false, probe, lostUsd: call.lostUsd }, now),
    consecutiveFailures: health.consecutiveFailures + 1,
    lastFailureAt: now,
  };
}

/** Folds in that the endpoint does not answer any more, although no call of it has failed yet. */
export function observeHang(
  health: EndpointHealth,
  policy: HealthPolicy,
  { roll, lostUsd }: Pick<Extract<CallOutcome, { ok: false }>, 'roll' | 'lostUsd'>,
  now: number,
): EndpointHealth {
  const forgetting = policy.forgetting ?? DEFAULT_ADAPTIVE_POLICY;
  const breaker = tripped(health.breaker, policy.breaker, now, roll);
  if (breaker === health.breaker) return health;
  const condition = conditionAfter(health.condition, forgetting, { ok: false, probe: false, lostUsd }, now);
  return { ...health, breaker, condition };
}

/** Folds in a refusal that may concern its request alone: only several of different requests mean more than that. */
function doubted(
  health: EndpointHealth,
  { failure, request, account }: Extract<CallOutcome, { ok: false }>,
  now: number,
): EndpointHealth {
  const { doubt } = health;
  if (doubt !== undefined && request !== undefined && doubt.request === request) return health;
  const refusals = (doubt?.refusals ?? 0) + 1;
  // What one account alone has met may be the fault of what it asks for, and concerns nobody else.
  const whose = doubt === undefined || doubt.account === account ? account : undefined;
  const inDoubt = { ...health, doubt: { refusals, request, account: whose } };
  if (refusals < DOUBTS_UNTIL_SUSPECTED || (answersStill(health, now) && !isExhausted(health.refusals))) return inDoubt;
  const until = now + SUSPECTED_MS;
  const { cooldown } = health;
  if (cooldown !== undefined && cooldown.until > until && cooldown.account === undefined) return inDoubt;
  const concerned = whose === undefined ? {} : { account: whose };
  return { ...inDoubt, cooldown: { since: now, until, cause: failure.kind, ...concerned } };
}

/** How the endpoint stands, for ordering. */
export function stabilityOf(health: EndpointHealth, now: number): Stability {
  if (isOut(health, now)) return 2;
  const uptime = uptimeOf(health, now, HALF_HOUR_MS, UPTIME_MINIMUM_CALLS);
  if (uptime === undefined || uptime >= 0.95) return 0;
  return uptime >= 0.8 ? 1 : 2;
}

function isOut(health: EndpointHealth, now: number): boolean {
  const sinceFailure = now - health.lastFailureAt;
  if (sinceFailure < 0 || sinceFailure >= OUTAGE_MS) return false;
  if (health.consecutiveFailures >= OUTAGE_IN_A_ROW) return true;
  const { succeeded, failed } = endedLately(health, now, OUTAGE_MS);
  return failed > 0 && failed >= (succeeded + failed) * OUTAGE_RATIO;
}

/** Whether the cooldown or the circuit of an endpoint is another, whatever was counted meanwhile. */
export function hasChanged(before: EndpointHealth, after: EndpointHealth): boolean {
  const { state, openings, probes } = before.breaker;
  const { breaker } = after;
  const isSame = state === breaker.state && openings === breaker.openings && probes === breaker.probes;
  return before.cooldown !== after.cooldown || !isSame;
}

/** The cooldown that a failure began: one that was requested, or the opening of a breaker. */
export function beganWith(
  before: EndpointHealth,
  after: EndpointHealth,
  cause: Cooldown['cause'],
  now: number,
): Cooldown | undefined {
  if (after.cooldown !== before.cooldown) return after.cooldown?.account === undefined ? after.cooldown : undefined;
  const { state, openUntil } = after.breaker;
  if (state !== 'open' || openUntil === before.breaker.openUntil) return undefined;
  return { since: now, until: openUntil, cause };
}
