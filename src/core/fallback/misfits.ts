/** Answers that did not fit their schema, among the attempts of a request. */
import type { Mismatch } from '../../contracts/failure.ts';
import type { PlanStep } from '../selection/route-plan.ts';
import { type Attempt, type FailedAttempt, failedAttempts } from './attempt.ts';

/** Whether an answer did not fit and no call has named a fault yet. */
export function mayNameFault(attempts: readonly Attempt[]): boolean {
  const misfits = misfitsOf(attempts);
  return misfits.length > 0 && misfits.every(({ named }) => named !== true);
}

/** Steps whose answers did not fit, the last one first, as long as none was shown its fault: that is done once. */
export function misfittingSteps(open: readonly PlanStep[], failures: readonly FailedAttempt[]): readonly PlanStep[] {
  if (failures.length === 0 || !mayNameFault(failures)) return NONE;
  const misfitting = failures.filter(({ step, outcome }) => outcome.failure.mismatch && open.includes(step));
  return misfitting.map(({ step }) => step).toReversed();
}

const NONE: readonly PlanStep[] = [];

/** What was wrong with them, in order. */
export function misfitsOf(attempts: readonly Attempt[]): readonly Mismatch[] {
  return failedAttempts(attempts).flatMap(({ outcome: { failure } }) =>
    failure.mismatch === undefined ? [] : [failure.mismatch],
  );
}
