/** Decides whether an endpoint hangs, by the calls that wait for it. */
import { fill } from '../../../options/option.ts';
import { TUNING, type Tuning } from '../../../options/selection.ts';
import { MINIMUM_CALLS, OWN_MS } from './policy.ts';
import { growthFactor, type UsualTime } from './speed.ts';

/** When an endpoint whose calls do not answer is taken for one that hangs. */
export interface HangDetectionPolicy extends Pick<Tuning, 'firstResponseMs'> {
  /** Logarithm of the likelihood of so much silence below which it is no longer taken for chance. */
  readonly threshold: number;
  /** Share of calls that never answer although nothing is wrong. */
  readonly lostShare: number;
}

/** The policy with what a program has tuned. */
export function hangDetectionPolicy({ firstResponseMs }: Tuning): HangDetectionPolicy {
  return {
    firstResponseMs,
    // 1 in 160,000: chance alone does not make a healthy endpoint suspect in a day of calls.
    threshold: -12,
    // Long tails of times and lost packets happen at healthy endpoints, so one lost call alone is no sign.
    lostShare: 0.015,
  };
}

/** The usual {@link HangDetectionPolicy}. */
export const DEFAULT_HANG_DETECTION: HangDetectionPolicy = hangDetectionPolicy(fill(TUNING));

/**
 * Milliseconds without any answer before which nothing is suspected: a process or a machine that pauses for a moment makes
 * all its endpoints silent. More for each call that waits.
 */
const LEAST_MS = 1_000;

/** A call that has not answered yet. */
export interface WaitingCall {
  /** Milliseconds since it began. */
  readonly ageMs: number;
  /** What is usual for calls of its kind. */
  readonly usual: UsualTime;
  /** Tokens that are computed until it is answered, with those of the calls before it. */
  readonly work?: number | undefined;
}

/**
 * How likely it is, as a natural logarithm, that the calls under way would all be waiting still if nothing were wrong.
 * Only the time since the endpoint last answered counts: before that it was well.
 */
export function silenceLikelihood(
  calls: readonly WaitingCall[],
  sinceSuccessMs: number,
  policy: HangDetectionPolicy,
): number {
  const leastMs = LEAST_MS + OWN_MS * calls.length;
  if (sinceSuccessMs < leastMs) return 0;
  let likelihood = 0;
  for (const { ageMs, usual, work } of calls) {
    if (usual.calls < MINIMUM_CALLS || ageMs < leastMs) continue;
    const factor = growthFactor(usual.growth, work);
    const before = Math.max(0, ageMs - sinceSuccessMs);
    likelihood +=
      Math.log(survival(ageMs / factor, usual, policy)) - Math.log(survival(before / factor, usual, policy));
  }
  return likelihood;
}

/** Share of the calls that usually wait longer than this. */
function survival(ageMs: number, { calls, mean, variance }: UsualTime, { lostShare }: HangDetectionPolicy): number {
  if (ageMs <= 1) return 1;
  const likelyVariance = variance * (1 + UNSURE_CALLS / calls);
  return lostShare + (1 - lostShare) * normalTail((Math.log(ageMs) - mean) / Math.sqrt(likelyVariance));
}

/** After so many calls their variance may still be twice what it seems to be: times have long tails. */
const UNSURE_CALLS = 10;

/** P(Z > z) of the standard normal distribution, to within 10⁻⁷ (Abramowitz and Stegun, 26.2.17). */
export function normalTail(z: number): number {
  if (z < 0) return 1 - normalTail(-z);
  const t = 1 / (1 + 0.2316419 * z);
  const series = t * (0.31938153 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))));
  return (Math.exp((-z * z) / 2) / Math.sqrt(2 * Math.PI)) * series;
}
