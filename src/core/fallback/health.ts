import { admits, type Breaker, type BreakerPolicy, CLOSED_BREAKER, ended, started } from './breaker.ts';
import { type AttemptFailure, FAILURE_RULES } from './failure.ts';
import { addOutcome, type OutcomeWindow, totalsOf, type WindowShape } from './outcome-window.ts';

/** Time in which an endpoint is left alone, because it said so or because our key does not work there. */
export interface Cooldown {
  readonly since: number;
  readonly until: number;
  readonly cause: AttemptFailure['kind'];
  /** True when the provider said itself when to come back: then nobody looks earlier. */
  readonly asked?: boolean | undefined;
}

/** Refusals in a row of which nobody knows whether they concern more than their requests. */
interface Doubt {
  readonly refusals: number;
  /** Id of the request that was refused last. */
  readonly request: string | undefined;
}

/** Calls let through to an endpoint that is to be left alone, because nobody else was there. */
interface Looks {
  /** Since the endpoint was last well. */
  readonly count: number;
  readonly lastAt: number;
  readonly underWay: boolean;
}

/** What is known about how an endpoint does. Plain data: it can be stored, shared and restored. */
export interface EndpointHealth {
  readonly breaker: Breaker;
  readonly cooldown?: Cooldown | undefined;
  /** The last minute, the last half hour and the last day, in finer and coarser slices. */
  readonly minute: OutcomeWindow;
  readonly halfHour: OutcomeWindow;
  readonly day: OutcomeWindow;
  readonly consecutiveFailures: number;
  readonly lastFailureAt: number;
  readonly doubt?: Doubt | undefined;
  readonly looks?: Looks | undefined;
}

/** Options of the folds. */
export interface HealthPolicy {
  readonly breaker: BreakerPolicy;
  /** Longest cooldown in milliseconds, whatever a provider asks for. */
  readonly maxCooldownMs: number;
}

/** How one call ended, for {@link observe}. */
export type CallOutcome =
  | { readonly ok: true; readonly generation: number }
  | {
      readonly ok: false;
      readonly failure: AttemptFailure;
      readonly generation: number;
      /** Id of the request, so that one that fails twice is not taken for two. */
      readonly request?: string | undefined;
    };

/** Whether an endpoint may be called now. */
export type Admission =
  | { readonly ok: true }
  | {
      readonly ok: false;
      readonly waitMs: number;
      readonly cause: AttemptFailure['kind'] | 'breaker';
      /**
       * Milliseconds until a request that finds nobody else may have a look all the same; 0 for now. Absent when the
       * provider said itself when to come back.
       */
      readonly lookMs?: number | undefined;
    };

/** How an endpoint stands among the others: 0 stable, 1 below par, 2 only as a last resort. */
export type Stability = 0 | 1 | 2;

const MINUTE_SHAPE: WindowShape = { sliceMs: 5_000, slices: 12 };
const HALF_HOUR_SHAPE: WindowShape = { sliceMs: 300_000, slices: 6 };
const DAY_SHAPE: WindowShape = { sliceMs: 1_800_000, slices: 48 };

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
/** Milliseconds before the first look at an endpoint that is to be left alone; twice as long before each further one … */
const FIRST_LOOK_MS = 1_000;
/** … up to this. */
const MOST_LOOK_MS = 10_000;
/** A look whose end was never told does not forbid another for longer than this. */
const LOOK_LOST_MS = 300_000;

/** Health of an endpoint that was never called. */
export const UNKNOWN_HEALTH: EndpointHealth = {
  breaker: CLOSED_BREAKER,
  minute: [],
  halfHour: [],
  day: [],
  consecutiveFailures: 0,
  lastFailureAt: 0,
};

/** Whether the endpoint may be called now, and if not, when and why. */
export function admission(health: EndpointHealth, policy: HealthPolicy, now: number): Admission {
  const { cooldown } = health;
  if (cooldown !== undefined && now < cooldown.until && now >= cooldown.since) {
    const { cause, since, until, asked } = cooldown;
    const lookMs = asked === true ? undefined : lookAfter(health, cause, since, now);
    return { ok: false, waitMs: Math.min(until - now, policy.maxCooldownMs), cause, lookMs };
  }
  const { ok, waitMs } = admits(health.breaker, policy.breaker, now);
  if (ok) return { ok: true };
  return { ok: false, waitMs, cause: 'breaker', lookMs: lookAfter(health, 'breaker', health.breaker.openedAt, now) };
}

/** Milliseconds until somebody may look whether an endpoint that is to be left alone is back: one at a time. */
function lookAfter(
  health: EndpointHealth,
  cause: AttemptFailure['kind'] | 'breaker',
  since: number,
  now: number,
): number {
  // A name that the provider does not know costs it nothing, and whoever mistyped it is told so every time.
  if (cause === 'model_not_found') return 0;
  const { looks } = health;
  if (looks === undefined) return Math.max(0, since + FIRST_LOOK_MS - now);
  if (looks.underWay && Math.abs(now - looks.lastAt) < LOOK_LOST_MS) return FIRST_LOOK_MS;
  const spacing = Math.min(MOST_LOOK_MS, FIRST_LOOK_MS * 2 ** Math.min(looks.count, 30));
  return Math.max(0, Math.min(spacing, Math.max(since + FIRST_LOOK_MS, looks.lastAt + spacing) - now));
}

/** Folds in that a call goes out. */
export function observeStart(health: EndpointHealth, policy: HealthPolicy, now: number): EndpointHealth {
  const admitted = admission(health, policy, now).ok;
  const breaker = started(health.breaker, policy.breaker, now);
  if (!admitted)
    return { ...health, breaker, looks: { count: (health.looks?.count ?? 0) + 1, lastAt: now, underWay: true } };
  return breaker === health.breaker ? health : { ...health, breaker };
}

/** Folds in how a call ended. */
export function observe(health: EndpointHealth, policy: HealthPolicy, call: CallOutcome, now: number): EndpointHealth {
  if (call.ok) {
    const breaker = ended(health.breaker, policy.breaker, { outcome: 'succeeded', generation: call.generation }, now);
    // A look that finds an endpoint well ends the time in which it is to be left alone.
    const cooldown = health.looks?.underWay === true ? undefined : health.cooldown;
    return {
      ...counted(health, now, true),
      breaker,
      cooldown,
      consecutiveFailures: 0,
      doubt: undefined,
      looks: undefined,
    };
  }
  const rule = FAILURE_RULES[call.failure.kind];
  const doubtful = call.failure.doubtful === true;
  const outcome = rule.breaks && !doubtful ? 'failed' : 'neutral';
  const breaker = ended(health.breaker, policy.breaker, { outcome, generation: call.generation }, now);
  const known = looked({ ...health, breaker }, now);
  if (doubtful) return doubted(known, call, now);
  const cooldown = cooldownAfter(health.cooldown, call.failure, policy, now);
  // A 403 is about what was asked as often as about our key (gaps 3.3).
  if (!rule.againstUptime || call.failure.status === 403) return { ...known, cooldown };
  return {
    ...counted(known, now, false),
    cooldown,
    consecutiveFailures: health.consecutiveFailures + 1,
    lastFailureAt: now,
  };
}

/** Notes the end of a look, if one is under way. */
function looked(health: EndpointHealth, now: number): EndpointHealth {
  return health.looks?.underWay === true
    ? { ...health, looks: { ...health.looks, underWay: false, lastAt: now } }
    : health;
}

/** Folds in a refusal that may concern its request alone: only several of different requests mean more than that. */
function doubted(
  health: EndpointHealth,
  { failure, request }: Extract<CallOutcome, { ok: false }>,
  now: number,
): EndpointHealth {
  const { doubt } = health;
  if (doubt !== undefined && request !== undefined && doubt.request === request) return health;
  const refusals = (doubt?.refusals ?? 0) + 1;
  const told = { ...health, doubt: { refusals, request } };
  if (refusals < DOUBTS_UNTIL_SUSPECTED) return told;
  const until = now + SUSPECTED_MS;
  if (health.cooldown !== undefined && health.cooldown.until > until) return told;
  return { ...told, cooldown: { since: now, until, cause: failure.kind } };
}

/** How the endpoint stands, for ordering. */
export function stabilityOf(health: EndpointHealth, now: number): Stability {
  if (isOut(health, now)) return 2;
  const uptime = uptimeOf(health, now, HALF_HOUR_SHAPE.sliceMs * HALF_HOUR_SHAPE.slices, UPTIME_MINIMUM_CALLS);
  if (uptime === undefined || uptime >= 0.95) return 0;
  return uptime >= 0.8 ? 1 : 2;
}

/** Share of calls that succeeded in the last `spanMs` (at most a day), or undefined with too few calls. */
export function uptimeOf(health: EndpointHealth, now: number, spanMs: number, minimum = 1): number | undefined {
  const [window, shape] =
    spanMs <= MINUTE_SHAPE.sliceMs * MINUTE_SHAPE.slices
      ? [health.minute, MINUTE_SHAPE]
      : spanMs <= HALF_HOUR_SHAPE.sliceMs * HALF_HOUR_SHAPE.slices
        ? [health.halfHour, HALF_HOUR_SHAPE]
        : [health.day, DAY_SHAPE];
  const { succeeded, failed } = totalsOf(window, shape, now, spanMs);
  const calls = succeeded + failed;
  return calls < minimum ? undefined : succeeded / calls;
}

function isOut(health: EndpointHealth, now: number): boolean {
  const sinceFailure = now - health.lastFailureAt;
  if (sinceFailure < 0 || sinceFailure >= OUTAGE_MS) return false;
  if (health.consecutiveFailures >= OUTAGE_IN_A_ROW) return true;
  const { succeeded, failed } = totalsOf(health.minute, MINUTE_SHAPE, now, OUTAGE_MS);
  return failed > 0 && failed >= (succeeded + failed) * OUTAGE_RATIO;
}

function cooldownAfter(
  current: Cooldown | undefined,
  failure: AttemptFailure,
  policy: HealthPolicy,
  now: number,
): Cooldown | undefined {
  const wanted = failure.retryAfterMs ?? FAILURE_RULES[failure.kind].cooldownMs;
  if (wanted <= 0 || FAILURE_RULES[failure.kind].next !== 'endpoint') return current;
  const until = now + Math.min(wanted, policy.maxCooldownMs);
  if (current !== undefined && current.until > until) return current;
  const asked = failure.retryAfterMs !== undefined;
  return { since: now, until, cause: failure.kind, ...(asked ? { asked } : {}) };
}

function counted(health: EndpointHealth, now: number, succeeded: boolean): EndpointHealth {
  return {
    ...health,
    minute: addOutcome(health.minute, MINUTE_SHAPE, now, succeeded),
    halfHour: addOutcome(health.halfHour, HALF_HOUR_SHAPE, now, succeeded),
    day: addOutcome(health.day, DAY_SHAPE, now, succeeded),
  };
}
