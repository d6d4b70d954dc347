import type { PlanStep } from '../selection/route-plan.ts';
import type { AttemptFailure } from './failure.ts';

/** One upstream call that has ended. */
export interface Attempt {
  readonly step: PlanStep;
  /** Monotonic milliseconds. */
  readonly startedAt: number;
  readonly endedAt: number;
  readonly outcome: { readonly ok: true } | { readonly ok: false; readonly failure: AttemptFailure };
}

/** An attempt that failed. */
export interface FailedAttempt extends Attempt {
  readonly outcome: { readonly ok: false; readonly failure: AttemptFailure };
}

/** The failed ones, in order. */
export function failedAttempts(attempts: readonly Attempt[]): readonly FailedAttempt[] {
  return attempts.filter((attempt): attempt is FailedAttempt => !attempt.outcome.ok);
}
