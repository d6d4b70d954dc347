import { admits, type Breaker, type BreakerPolicy, CLOSED_BREAKER, ended, started } from './breaker.ts';
import { type AttemptFailure, FAILURE_RULES } from './failure.ts';
import { addOutcome, type OutcomeWindow, totalsOf, type WindowShape } from './outcome-window.ts';

/** Time in which an endpoint is left alone, because it said so or because our key does not work there. */
export interface Cooldown {
  readonly since: number;
  readonly until: number;
  readonly cause: AttemptFailure['kind'];
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
  | { readonly ok: false; readonly failure: AttemptFailure; readonly generation: number };

/** Whether an endpoint may be called now. */
export type Admission =
  | { readonly ok: true }
  | { readonly ok: false; readonly waitMs: number; readonly cause: AttemptFailure['kind'] | 'breaker' };

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
    return { ok: false, waitMs: Math.min(cooldown.until - now, policy.maxCooldownMs), cause: cooldown.cause };
  }
  const { ok, waitMs } = admits(health.breaker, policy.breaker, now);
  return ok ? { ok: true } : { ok: false, waitMs, cause: 'breaker' };
}

/** Folds in that a call goes out. */
export function observeStart(health: EndpointHealth, policy: HealthPolicy, now: number): EndpointHealth {
  const breaker = started(health.breaker, policy.breaker, now);
  return breaker === health.breaker ? health : { ...health, breaker };
}

/** Folds in how a call ended. */
export function observe(health: EndpointHealth, policy: HealthPolicy, call: CallOutcome, now: number): EndpointHealth {
  if (call.ok) {
    const breaker = ended(health.breaker, policy.breaker, { outcome: 'succeeded', generation: call.generation }, now);
    return { ...counted(health, now, true), breaker, consecutiveFailures: 0 };
  }
  const rule = FAILURE_RULES[call.failure.kind];
  const outcome = rule.breaks ? 'failed' : 'neutral';
  const breaker = ended(health.breaker, policy.breaker, { outcome, generation: call.generation }, now);
  const cooldown = cooldownAfter(health.cooldown, call.failure, policy, now);
  // A 403 is about what was asked as often as about our key (gaps 3.3).
  if (!rule.againstUptime || call.failure.status === 403) return { ...health, breaker, cooldown };
  return {
    ...counted(health, now, false),
    breaker,
    cooldown,
    consecutiveFailures: health.consecutiveFailures + 1,
    lastFailureAt: now,
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
  return current !== undefined && current.until > until ? current : { since: now, until, cause: failure.kind };
}

function counted(health: EndpointHealth, now: number, succeeded: boolean): EndpointHealth {
  return {
    ...health,
    minute: addOutcome(health.minute, MINUTE_SHAPE, now, succeeded),
    halfHour: addOutcome(health.halfHour, HALF_HOUR_SHAPE, now, succeeded),
    day: addOutcome(health.day, DAY_SHAPE, now, succeeded),
  };
}
