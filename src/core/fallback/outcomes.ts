/** What is remembered of how calls of an endpoint ended, and forgotten with time: counts, and its condition. */
import { type AdaptivePolicy, FORGET_MS } from '../selection/adaptive/policy.ts';

/** How the calls of an endpoint have ended, in windows of time: for its uptime, and for what it has done lately. */
const MINUTE_SHAPE: WindowShape = { sliceMs: 5_000, slices: 12 };
const HALF_HOUR_SHAPE: WindowShape = { sliceMs: 300_000, slices: 6 };
const DAY_SHAPE: WindowShape = { sliceMs: 1_800_000, slices: 48 };

/** Milliseconds of half an hour. */
export const HALF_HOUR_MS = HALF_HOUR_SHAPE.sliceMs * HALF_HOUR_SHAPE.slices;

/** What is counted of the ends of calls. */
export interface OutcomeCounts {
  /** The last minute, the last half hour and the last day before `latest`, in finer and coarser slices. */
  readonly minute: OutcomeWindow;
  readonly halfHour: OutcomeWindow;
  readonly day: OutcomeWindow;
  /** The latest slice of the minute. It goes into all three once it is over: adding to them copies them. */
  readonly latest?: OutcomeSlice | undefined;
}

/** Counts the end of a call. */
export function counted(before: OutcomeCounts, now: number, outcome: 'succeeded' | 'failed'): OutcomeCounts {
  const { minute, halfHour, day, latest } = before;
  const start = Math.floor(now / MINUTE_SHAPE.sliceMs) * MINUTE_SHAPE.sliceMs;
  const failures = outcome === 'failed' ? 1 : 0;
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
function whole(window: OutcomeWindow, shape: WindowShape, { latest }: OutcomeCounts): OutcomeWindow {
  return latest === undefined ? window : addOutcomes(window, shape, latest);
}

/**
 * Takes a failure back.
 *
 * @param start - When its slice of the minute begins.
 */
export function uncounted(counts: OutcomeCounts, start = 0): OutcomeCounts {
  const { minute, halfHour, day, latest } = counts;
  if (latest?.start === start) return { minute, halfHour, day, latest: oneLess(latest) };
  return {
    minute: withoutFailure(minute, MINUTE_SHAPE, start),
    halfHour: withoutFailure(halfHour, HALF_HOUR_SHAPE, start),
    day: withoutFailure(day, DAY_SHAPE, start),
    latest,
  };
}

function withoutFailure(window: OutcomeWindow, { sliceMs }: WindowShape, start: number): OutcomeWindow {
  const index = window.findIndex((slice) => slice.start <= start && start < slice.start + sliceMs);
  const slice = window[index];
  return slice === undefined ? window : window.with(index, oneLess(slice));
}

function oneLess({ start, succeeded, failed }: OutcomeSlice): OutcomeSlice {
  return { start, succeeded, failed: Math.max(0, failed - 1) };
}

/** How the calls of an endpoint have ended lately: those of one request count once, however often it was tried. */
export interface LatelyEnded {
  readonly succeeded: number;
  readonly failed: number;
}

/** How the calls of the last `spanMs` have ended, at most of a minute. */
export function endedLately(health: OutcomeCounts, now: number, spanMs: number): LatelyEnded {
  return totalsOf(whole(health.minute, MINUTE_SHAPE, health), MINUTE_SHAPE, now, spanMs);
}

/** Share of calls that succeeded in the last `spanMs` (at most a day), or undefined with too few calls. */
export function uptimeOf(health: OutcomeCounts, now: number, spanMs: number, minimum = 1): number | undefined {
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

/** Counts of one stretch of time. Plain data, so that it can be stored and shared. */
export interface OutcomeSlice {
  /** Monotonic milliseconds. */
  readonly start: number;
  readonly succeeded: number;
  readonly failed: number;
}

/** Slices in order of time; only those in which something happened. */
type OutcomeWindow = readonly OutcomeSlice[];

/** How a window is cut. */
interface WindowShape {
  readonly sliceMs: number;
  readonly slices: number;
}

/** Sums over a window. */
interface Totals {
  readonly succeeded: number;
  readonly failed: number;
}

/**
 * Adds outcomes of a time, or of one of finer slices that begins then, and drops what is too old. A clock that goes back
 * counts into the newest slice.
 */
export function addOutcomes(window: OutcomeWindow, shape: WindowShape, added: OutcomeSlice): OutcomeWindow {
  const { succeeded, failed } = added;
  const start = Math.floor(added.start / shape.sliceMs) * shape.sliceMs;
  const last = window.at(-1);
  if (last !== undefined && last.start >= start) {
    return window.with(-1, {
      start: last.start,
      succeeded: last.succeeded + succeeded,
      failed: last.failed + failed,
    });
  }
  const kept = window.filter((slice) => slice.start > start - shape.slices * shape.sliceMs);
  return [...kept, { start, succeeded, failed }];
}

/** Sums the slices that reach into the last `spanMs` milliseconds. */
function totalsOf(window: OutcomeWindow, shape: WindowShape, now: number, spanMs: number): Totals {
  let succeeded = 0;
  let failed = 0;
  for (const slice of window) {
    if (slice.start + shape.sliceMs <= now - spanMs) continue;
    succeeded += slice.succeeded;
    failed += slice.failed;
  }
  return { succeeded, failed };
}

/** How well an endpoint does: 1 is faultless. What went wrong is forgotten with time, also when nobody calls. */
export interface HealthCondition {
  /** Share of its calls that do not fail. */
  readonly value: number;
  /** US dollars that calls lose by failing, in the mean over all: by the time that it takes and what is charged for it. */
  readonly lostUsd: number;
  /** Monotonic milliseconds of the last change. */
  readonly at: number;
  /** By how much everything that ever went wrong weighs less now, as a natural logarithm; only differences count. */
  readonly faded: number;
}

/** Condition of an endpoint of which nothing bad is known. */
export const FAULTLESS: HealthCondition = { value: 1, lostUsd: 0, at: 0, faded: 0 };

/** Share of its condition that a failure leaves. */
const AFTER_FAILURE = 0.85;

/** What the folds below need to know. */
export type ForgettingPolicy = Pick<AdaptivePolicy, 'afterSuccess' | 'afterProbe'>;

/** The condition as it is now: what went wrong weighs less the longer it is ago. */
export function conditionNow({ value, at }: Pick<HealthCondition, 'value' | 'at'>, now: number): number {
  return value === 1 ? 1 : 1 - (1 - value) * fading(now - at);
}

/** Folds in how a call ended. A probe that succeeds brings an endpoint back at once. */
export function conditionAfter(
  condition: HealthCondition,
  policy: ForgettingPolicy,
  { ok, probe, lostUsd = 0 }: EndedCall,
  now: number,
): HealthCondition {
  if (ok && condition.value === 1) return condition;
  const { afterSuccess, afterProbe } = policy;
  const elapsedMs = now - condition.at;
  const left = fading(elapsedMs) * (ok ? 1 - afterSuccess : AFTER_FAILURE);
  const failing = (1 - condition.value) * left + (ok ? 0 : 1 - AFTER_FAILURE);
  // A probe that succeeds leaves only so much of everything.
  const kept = ok && probe && failing > 1 - afterProbe ? (1 - afterProbe) / failing : 1;
  return {
    value: 1 - failing * kept,
    lostUsd: (condition.lostUsd * left + (ok ? 0 : (1 - AFTER_FAILURE) * lostUsd)) * kept,
    at: now,
    faded: condition.faded + Math.max(0, elapsedMs) / FORGET_MS - Math.log(ok ? 1 - afterSuccess : AFTER_FAILURE),
  };
}

/** Share that is left of something after a time. A clock that goes back leaves all of it. */
export function fading(elapsedMs: number): number {
  return elapsedMs <= 0 ? 1 : Math.exp(-elapsedMs / FORGET_MS);
}

/** A call as its end is folded in. */
export interface EndedCall {
  readonly ok: boolean;
  /** Whether it found out if an endpoint is back. */
  readonly probe: boolean;
  /** What a failure has cost; see {@link failureUsd}. Default 0. */
  readonly lostUsd?: number | undefined;
}

/**
 * The condition as if a failure had never been.
 *
 * @param before - The condition that the failure met, and `after` it.
 */
export function conditionWithout(
  condition: HealthCondition,
  { before, after }: { readonly before: HealthCondition; readonly after: HealthCondition },
): HealthCondition {
  if (condition.value === 1) return condition;
  const left = Math.exp(after.faded - condition.faded);
  const value = condition.value + (conditionNow(before, after.at) - after.value) * left;
  if (value > 1 - NOTHING) return { ...condition, value: 1, lostUsd: 0 };
  const lostUsd = after.lostUsd - before.lostUsd * fading(after.at - before.at);
  return { ...condition, value, lostUsd: Math.max(0, condition.lostUsd - lostUsd * left) };
}

/** Less than this of a condition is a rounding error. */
const NOTHING = 1e-9;
