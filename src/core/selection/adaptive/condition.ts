import type { AdaptivePolicy } from './policy.ts';

/** How well an endpoint does: 1 is faultless. What went wrong is forgotten with time, also when nobody calls. */
export interface Condition {
  readonly value: number;
  /** Monotonic milliseconds of the last change. */
  readonly at: number;
}

/** Condition of an endpoint of which nothing bad is known. */
export const FAULTLESS: Condition = { value: 1, at: 0 };

/** What the folds below need to know. */
export type ForgettingPolicy = Pick<AdaptivePolicy, 'forgetMs' | 'afterFailure' | 'afterSuccess' | 'afterProbe'>;

/** The condition as it is now: what went wrong weighs less the longer it is ago. */
export function conditionNow({ value, at }: Condition, forgetMs: number, now: number): number {
  return value === 1 ? 1 : 1 - (1 - value) * fading(now - at, forgetMs);
}

/** Folds in how a call ended. A probe that succeeds brings an endpoint back at once. */
export function conditionAfter(
  condition: Condition,
  policy: ForgettingPolicy,
  call: { readonly ok: boolean; readonly probe: boolean },
  now: number,
): Condition {
  const value = conditionNow(condition, policy.forgetMs, now);
  if (!call.ok) return { value: value * policy.afterFailure, at: now };
  if (condition.value === 1) return condition;
  const better = value + (1 - value) * policy.afterSuccess;
  return { value: call.probe ? Math.max(better, policy.afterProbe) : better, at: now };
}

/** Share that is left of something after a time. A clock that goes back leaves all of it. */
export function fading(elapsedMs: number, forgetMs: number): number {
  return elapsedMs <= 0 ? 1 : Math.exp(-elapsedMs / forgetMs);
}
