import { fill } from '../../config/option.ts';
import { BREAKER, type BreakerPolicy as BreakerOptions } from '../../config/tables/fallback.ts';

/**
 * A circuit breaker as plain data. Closed lets everything through; open lets nothing through until `openUntil`;
 * after that one probe at a time decides. Every opening has a number, so that a late answer to a call from before
 * the opening changes nothing.
 */
export interface Breaker {
  readonly state: 'closed' | 'open';
  readonly window: OutcomeWindow;
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
  /** Failures since the last success. */
  readonly inARow: number;
}

/** When a breaker opens and for how long. A newer rule that is left out does not apply. */
export type BreakerPolicy = Pick<
  BreakerOptions,
  'failureRatio' | 'minimumCalls' | 'openMs' | 'maxOpenMs' | 'probes'
> & {
  readonly [Rule in 'inARow' | 'inARowUnwell' | 'unwellBelow' | 'growth' | 'jitter']?: BreakerOptions[Rule] | undefined;
};

/** Default {@link BreakerPolicy}. */
export const DEFAULT_BREAKER_POLICY: BreakerPolicy = fill(BREAKER);

const SHAPE: WindowShape = { sliceMs: 5_000, slices: 12 };
const SPAN_MS = SHAPE.sliceMs * SHAPE.slices;

/** A breaker that has seen nothing. */
export const CLOSED_BREAKER: Breaker = {
  state: 'closed',
  window: [],
  generation: 0,
  openings: 0,
  openedAt: 0,
  openUntil: 0,
  probes: 0,
  probedAt: 0,
  inARow: 0,
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
  /** Health of the endpoint before the call. Default 1. */
  readonly health?: number | undefined;
  /** Random number from 0 to 1, for the length of an opening. Default: one that changes nothing. */
  readonly roll?: number | undefined;
}

/** Records how a call ended that went out in the given generation. */
export function ended(breaker: Breaker, policy: BreakerPolicy, call: BreakerCall, now: number): Breaker {
  if (call.generation !== breaker.generation) return breaker;
  if (breaker.state === 'open') return probeEnded(breaker, policy, call, now);
  if (call.outcome === 'neutral') return breaker;
  const failures = call.outcome === 'succeeded' ? 0 : 1;
  const window = addOutcomes(breaker.window, SHAPE, { start: now, succeeded: 1 - failures, failed: failures });
  const { succeeded, failed } = totalsOf(window, SHAPE, now, SPAN_MS);
  const calls = succeeded + failed;
  const inARow = failures === 0 ? 0 : breaker.inARow + 1;
  const isTooMany = calls >= policy.minimumCalls && failed > calls * policy.failureRatio;
  const isTooLong = inARow > 0 && inARow >= mostInARow(policy, call.health);
  if (isTooMany || isTooLong) return opened(breaker, policy, now, call.roll);
  const { state, generation, openings, openedAt, openUntil, probes, probedAt } = breaker;
  // Member by member: every answer comes by here, and a literal is slow where something follows a spread.
  return { state, window, generation, openings, openedAt, openUntil, probes, probedAt, inARow };
}

function mostInARow({ inARow = Infinity, inARowUnwell = inARow, unwellBelow = 0 }: BreakerPolicy, health = 1): number {
  return health < unwellBelow ? inARowUnwell : inARow;
}

/** Opens a breaker for another reason than failures, such as an endpoint that has fallen silent. */
export function tripped(breaker: Breaker, policy: BreakerPolicy, now: number, roll?: number): Breaker {
  return breaker.state === 'open' ? breaker : opened(breaker, policy, now, roll);
}

function probeEnded(breaker: Breaker, policy: BreakerPolicy, { outcome, roll }: BreakerCall, now: number): Breaker {
  if (outcome === 'succeeded') return { ...CLOSED_BREAKER, generation: breaker.generation + 1 };
  // A call that was let through before its time, because nobody else was there, makes nothing worse.
  if (outcome === 'failed' && now >= breaker.openUntil) return opened(breaker, policy, now, roll);
  return { ...breaker, probes: Math.max(0, breaker.probes - 1) };
}

function opened(breaker: Breaker, policy: BreakerPolicy, now: number, roll = 0.5): Breaker {
  const { growth = 2, jitter = 0 } = policy;
  const varied = policy.openMs * growth ** Math.min(breaker.openings, 30) * (1 + jitter * (2 * roll - 1));
  const openMs = Math.min(policy.maxOpenMs, varied);
  return {
    state: 'open',
    window: [],
    generation: breaker.generation + 1,
    openings: breaker.openings + 1,
    openedAt: now,
    openUntil: now + openMs,
    probes: 0,
    probedAt: 0,
    inARow: 0,
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

/** Counts of one stretch of time. Plain data, so that it can be stored and shared. */
export interface OutcomeSlice {
  /** Monotonic milliseconds. */
  readonly start: number;
  readonly succeeded: number;
  readonly failed: number;
}

/** Slices in order of time; only those in which something happened. */
export type OutcomeWindow = readonly OutcomeSlice[];

/** How a window is cut. */
export interface WindowShape {
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
export function totalsOf(window: OutcomeWindow, shape: WindowShape, now: number, spanMs: number): Totals {
  let succeeded = 0;
  let failed = 0;
  for (const slice of window) {
    if (slice.start + shape.sliceMs <= now - spanMs) continue;
    succeeded += slice.succeeded;
    failed += slice.failed;
  }
  return { succeeded, failed };
}
