import {
  type Condition,
  conditionAfter,
  conditionNow,
  FAULTLESS,
  type ForgettingPolicy,
} from '../selection/adaptive/wellness.ts';
import { DEFAULT_ADAPTIVE_POLICY } from '../selection/adaptive/policy.ts';
import {
  admits,
  type Breaker,
  type BreakerPolicy,
  CLOSED_BREAKER,
  ended,
  started,
  tripped,
  addOutcomes,
  type OutcomeSlice,
  type OutcomeWindow,
  totalsOf,
  type WindowShape,
} from './breaker.ts';
import { type AttemptFailure, FAILURE_RULES } from './failure.ts';

/** Time in which an endpoint is left alone, because it said so or because our key does not work there. */
export interface Cooldown {
  readonly since: number;
  readonly until: number;
  readonly cause: AttemptFailure['kind'];
  /** True when the provider said for how long. */
  readonly asked?: boolean | undefined;
}

/** Refusals in a row of which it is unknown whether they concern more than their requests. */
interface Doubt {
  readonly refusals: number;
  /** Id of the request that was refused last. */
  readonly request: string | undefined;
}

/** Calls that are let through although an endpoint is left alone, because nothing else was left. */
interface LastResort {
  /** When the last one went out, or when the endpoint last failed. */
  readonly at: number;
  readonly spacingMs: number;
  readonly isUnderWay: boolean;
}

/** What is known about how an endpoint does. Plain data: it can be stored, shared and restored. */
export interface EndpointHealth {
  readonly breaker: Breaker;
  readonly cooldown?: Cooldown | undefined;
  readonly lastResort?: LastResort | undefined;
  readonly doubt?: Doubt | undefined;
  /** What failures have left of it; see {@link conditionNow}. */
  readonly condition: Condition;
  /** The last minute, the last half hour and the last day before `latest`, in finer and coarser slices. */
  readonly minute: OutcomeWindow;
  readonly halfHour: OutcomeWindow;
  readonly day: OutcomeWindow;
  /** The latest slice of the minute. It goes into all three once it is over: adding to them copies them. */
  readonly latest?: OutcomeSlice | undefined;
  readonly consecutiveFailures: number;
  readonly lastFailureAt: number;
}

/** Options of the folds. */
export interface HealthPolicy {
  readonly breaker: BreakerPolicy;
  /** Longest cooldown in milliseconds, whatever a provider asks for. */
  readonly maxCooldownMs: number;
  /** How failures are forgotten. Default: as in the default {@link AdaptivePolicy}. */
  readonly forgetting?: ForgettingPolicy | undefined;
  /** Longest addition to the Retry-After of a 429, as a share of it. Default 0. */
  readonly retryAfterJitter?: number | undefined;
  /** Milliseconds for which an endpoint is left alone after a 429 without a time. Default 1,000. */
  readonly refusalMs?: number | undefined;
  /** Milliseconds between two calls that are let through as a last resort, at first. Default 1,000. */
  readonly lastResortMs?: number | undefined;
  /** The same at most. Default 10,000. */
  readonly mostLastResortMs?: number | undefined;
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
      /** True when the provider said for how long it wants to be left alone. */
      readonly asked?: boolean | undefined;
      /**
       * Milliseconds until a request that finds nothing else may call the endpoint all the same, to find out whether it
       * is back; 0 for now. Absent when the provider said itself when to come back.
       */
      readonly lastResortMs?: number | undefined;
      readonly headroom?: number | undefined;
    };

/** How an endpoint stands among the others: 0 stable, 1 below par, 2 only as a last resort. */
type Stability = 0 | 1 | 2;

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

/** Milliseconds before the first call as a last resort, unless the policy says otherwise … */
const LAST_RESORT_MS = 1_000;
/** … twice as long before each further one, up to this. */
const MOST_LAST_RESORT_MS = 10_000;

/** Health of an endpoint that was never called. */
export const UNKNOWN_HEALTH: EndpointHealth = {
  breaker: CLOSED_BREAKER,
  condition: FAULTLESS,
  minute: [],
  halfHour: [],
  day: [],
  consecutiveFailures: 0,
  lastFailureAt: 0,
};

/** Whether the endpoint may be called now, and if not, when and why. */
export function admission(health: EndpointHealth, policy: HealthPolicy, now: number): Admission {
  const { cooldown, breaker } = health;
  if (cooldown !== undefined && isCooling(cooldown, now)) {
    const { cause, since, until, asked } = cooldown;
    const waitMs = Math.min(until - now, policy.maxCooldownMs);
    if (asked === true) return { ok: false, waitMs, cause, asked };
    // A name that the provider does not know costs it nothing, and every request with it is told so.
    const lastResortMs = cause === 'model_not_found' ? 0 : lastResortAfterMs(health, policy, since, now);
    return { ok: false, waitMs, cause, lastResortMs };
  }
  if (breaker.state === 'closed') return ADMITTED;
  const { ok, waitMs } = admits(breaker, policy.breaker, now);
  if (ok) return PROBE;
  return {
    ok: false,
    waitMs,
    cause: 'breaker',
    lastResortMs: lastResortAfterMs(health, policy, breaker.openedAt, now),
  };
}

const ADMITTED: Admission = { ok: true };
const PROBE: Admission = { ok: true, probe: true };

function isCooling(cooldown: Cooldown, now: number): boolean {
  return now < cooldown.until && now >= cooldown.since;
}

/** Milliseconds until the next call as a last resort: one at a time, and further apart the longer it does no good. */
function lastResortAfterMs({ lastResort }: EndpointHealth, policy: HealthPolicy, since: number, now: number): number {
  const firstMs = policy.lastResortMs ?? LAST_RESORT_MS;
  if (lastResort === undefined) return Math.min(firstMs, Math.max(0, since + firstMs - now));
  const { at, spacingMs, isUnderWay } = lastResort;
  const elapsed = Math.abs(now - at);
  // A call whose end was never told does not forbid others for good.
  if (isUnderWay) return elapsed >= policy.breaker.maxOpenMs ? 0 : firstMs;
  return Math.max(0, spacingMs - elapsed);
}

/** Folds in that a call goes out. */
export function observeStart(health: EndpointHealth, policy: HealthPolicy, now: number): EndpointHealth {
  if (health.breaker.state === 'closed' && health.cooldown === undefined) return health;
  const breaker = started(health.breaker, policy.breaker, now);
  const refused = !admission(health, policy, now).ok;
  if (!refused) return breaker === health.breaker ? health : { ...health, breaker };
  const { spacingMs } = health.lastResort ?? { spacingMs: policy.lastResortMs ?? LAST_RESORT_MS };
  return { ...health, breaker, lastResort: { at: now, spacingMs, isUnderWay: true } };
}

/** Folds in how a call ended. */
export function observe(health: EndpointHealth, policy: HealthPolicy, call: CallOutcome, now: number): EndpointHealth {
  const forgetting = policy.forgetting ?? DEFAULT_ADAPTIVE_POLICY;
  const probe = call.generation === health.breaker.generation && health.breaker.state === 'open';
  if (call.ok) {
    const breaker = ended(health.breaker, policy.breaker, { outcome: 'succeeded', generation: call.generation }, now);
    const { lastResort, cooldown } = health;
    const isBack = lastResort?.isUnderWay === true && cooldown?.asked !== true;
    const { minute, halfHour, day, latest } = counted(health, now, true);
    // Member by member: every answer comes by here, and a literal is slow where something follows a spread.
    return {
      breaker,
      cooldown: isBack ? undefined : cooldown,
      lastResort: undefined,
      doubt: undefined,
      condition: conditionAfter(health.condition, forgetting, { ok: true, probe: probe || isBack }, now),
      minute,
      halfHour,
      day,
      latest,
      consecutiveFailures: 0,
      lastFailureAt: health.lastFailureAt,
    };
  }
  const rule = FAILURE_RULES[call.failure.kind];
  // A probe that others had to answer for has not shown that the endpoint is back.
  const doubtful = call.failure.doubtful === true;
  const breaks = (rule.breaks && !doubtful) || (probe && call.failure.kind === 'superseded');
  const outcome = breaks ? 'failed' : 'neutral';
  const before = conditionNow(health.condition, forgetting.forgetMs, now);
  const { generation, roll } = call;
  const breaker = ended(health.breaker, policy.breaker, { outcome, generation, health: before, roll }, now);
  const known = { ...health, breaker };
  if (doubtful) return withLastResort(doubted(known, call, now), policy, now);
  const left = withLastResort({ ...known, cooldown: cooldownAfter(health.cooldown, call, policy, now) }, policy, now);
  // A 403 is about what was asked as often as about our key (gaps 3.3).
  if (!rule.againstUptime || call.failure.status === 403) return left;
  return {
    ...left,
    ...counted(left, now, false),
    condition: conditionAfter(health.condition, forgetting, { ok: false, probe }, now),
    consecutiveFailures: health.consecutiveFailures + 1,
    lastFailureAt: now,
  };
}

/** Folds in that the endpoint does not answer any more, although no call of it has failed yet. */
export function observeSilence(
  health: EndpointHealth,
  policy: HealthPolicy,
  now: number,
  roll?: number,
): EndpointHealth {
  const forgetting = policy.forgetting ?? DEFAULT_ADAPTIVE_POLICY;
  const breaker = tripped(health.breaker, policy.breaker, now, roll);
  if (breaker === health.breaker) return health;
  return {
    ...health,
    breaker,
    condition: conditionAfter(health.condition, forgetting, { ok: false, probe: false }, now),
    lastResort: lastResortAfter(health, policy, now),
  };
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

/** Counts from now until the next call as a last resort, where an endpoint is left alone or such a call has ended. */
function withLastResort(health: EndpointHealth, policy: HealthPolicy, now: number): EndpointHealth {
  const isLeftAlone = !admission(health, policy, now).ok;
  if (!isLeftAlone && health.lastResort?.isUnderWay !== true) return health;
  return { ...health, lastResort: lastResortAfter(health, policy, now) };
}

function lastResortAfter({ lastResort }: EndpointHealth, policy: HealthPolicy, now: number): LastResort {
  const firstMs = policy.lastResortMs ?? LAST_RESORT_MS;
  if (lastResort?.isUnderWay !== true) return { at: now, spacingMs: firstMs, isUnderWay: false };
  return {
    at: now,
    spacingMs: Math.min(policy.mostLastResortMs ?? MOST_LAST_RESORT_MS, lastResort.spacingMs * 2),
    isUnderWay: false,
  };
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
  const { succeeded, failed } = totalsOf(whole(window, shape, health), shape, now, spanMs);
  const calls = succeeded + failed;
  return calls < minimum ? undefined : succeeded / calls;
}

function isOut(health: EndpointHealth, now: number): boolean {
  const sinceFailure = now - health.lastFailureAt;
  if (sinceFailure < 0 || sinceFailure >= OUTAGE_MS) return false;
  if (health.consecutiveFailures >= OUTAGE_IN_A_ROW) return true;
  const { succeeded, failed } = totalsOf(whole(health.minute, MINUTE_SHAPE, health), MINUTE_SHAPE, now, OUTAGE_MS);
  return failed > 0 && failed >= (succeeded + failed) * OUTAGE_RATIO;
}

function cooldownAfter(
  current: Cooldown | undefined,
  { failure, roll = 0 }: Extract<CallOutcome, { ok: false }>,
  policy: HealthPolicy,
  now: number,
): Cooldown | undefined {
  const { kind, retryAfterMs } = failure;
  const usual = kind === 'rate_limited' ? policy.refusalMs : undefined;
  const wanted = retryAfterMs ?? usual ?? FAILURE_RULES[kind].cooldownMs;
  if (wanted <= 0 || FAILURE_RULES[kind].next !== 'endpoint') return current;
  const jitter = retryAfterMs === undefined || kind !== 'rate_limited' ? 0 : roll * (policy.retryAfterJitter ?? 0);
  const until = now + Math.min(wanted * (1 + jitter), policy.maxCooldownMs);
  if (current !== undefined && current.until > until) return current;
  return { since: now, until, cause: kind, ...(retryAfterMs === undefined ? {} : { asked: true }) };
}

/** What is counted of the ends of calls. */
type Outcomes = Pick<EndpointHealth, 'minute' | 'halfHour' | 'day' | 'latest'>;

function counted(before: Outcomes, now: number, succeeded: boolean): Outcomes {
  const { minute, halfHour, day, latest } = before;
  const start = Math.floor(now / MINUTE_SHAPE.sliceMs) * MINUTE_SHAPE.sliceMs;
  const failures = succeeded ? 0 : 1;
  if (latest !== undefined && latest.start >= start) {
    const more = {
      start: latest.start,
      succeeded: latest.succeeded + 1 - failures,
      failed: latest.failed + failures,
    };
    return { minute, halfHour, day, latest: more };
  }
  return {
    minute: whole(minute, MINUTE_SHAPE, before),
    halfHour: whole(halfHour, HALF_HOUR_SHAPE, before),
    day: whole(day, DAY_SHAPE, before),
    latest: { start, succeeded: 1 - failures, failed: failures },
  };
}

/** A window with the latest slice. */
function whole(window: OutcomeWindow, shape: WindowShape, { latest }: Outcomes): OutcomeWindow {
  return latest === undefined ? window : addOutcomes(window, shape, latest);
}
