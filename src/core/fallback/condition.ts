/** How the health of an endpoint is remembered and forgotten. */
import { type AdaptivePolicy, FORGET_MS } from '../selection/adaptive/policy.ts';

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
