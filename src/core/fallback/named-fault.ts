/** Decides when an endpoint is shown in which way an answer did not fit its schema, and how that is said. */
import type { Endpoint } from '../../catalog/endpoint.ts';
import type { Mismatch } from '../../contracts/failure.ts';
import type { NormalizedRequest } from '../../contracts/request.ts';
import type { PlanStep } from '../selection/route-plan.ts';
import { type Attempt, type FailedAttempt, failedAttempts } from './attempt.ts';

/** Longer answers are not shown again: their prompt would be another one than the route was planned for. */
const MAX_SHOWN_LENGTH = 100_000;

/** Whether an answer did not fit and no call has named a fault yet. */
export function mayNameFault(attempts: readonly Attempt[]): boolean {
  const misfits = misfitsOf(attempts);
  return misfits.length > 0 && misfits.every(({ named }) => named !== true);
}

/**
 * The fault that the next call of an endpoint names. The second endpoint is asked as the first was, because another
 * model may simply not make the mistake; the third is shown it, and so is an endpoint that made it itself.
 */
export function faultToName(attempts: readonly Attempt[], { id }: Pick<Endpoint, 'id'>): Mismatch | undefined {
  if (!mayNameFault(attempts)) return undefined;
  const misfits = misfitsOf(attempts);
  const isAgain = attempts.some(
    ({ step, outcome }) => step.endpoint.id === id && !outcome.ok && outcome.failure.mismatch !== undefined,
  );
  return misfits.length > 1 || isAgain ? misfits.at(-1) : undefined;
}

/** Steps whose answers did not fit, the last one first, as long as none was shown its fault: that is done once. */
export function misfittingSteps(open: readonly PlanStep[], failures: readonly FailedAttempt[]): readonly PlanStep[] {
  if (failures.length === 0 || !mayNameFault(failures)) return NONE;
  const misfitting = failures.filter(({ step, outcome }) => outcome.failure.mismatch && open.includes(step));
  return misfitting.map(({ step }) => step).toReversed();
}

const NONE: readonly PlanStep[] = [];

function misfitsOf(attempts: readonly Attempt[]): readonly Mismatch[] {
  return failedAttempts(attempts).flatMap(({ outcome: { failure } }) =>
    failure.mismatch === undefined ? [] : [failure.mismatch],
  );
}

/** The request with an answer that did not fit at its end, and what is wrong with it. */
export function withFault(request: NormalizedRequest, { path, problem, answer }: Mismatch): NormalizedRequest {
  const place = path === '$' ? 'The JSON as a whole' : `The value at ${path}`;
  const fault =
    'Your answer does not fit the JSON schema that was given. ' +
    `${place} ${problem}. Answer again with all of the JSON, so that it fits the schema, and nothing else.`;
  const shown = answer.trim() === '' || answer.length > MAX_SHOWN_LENGTH ? [] : [assistant(answer)];
  return { ...request, messages: [...request.messages, ...shown, { role: 'user', content: fault }] };
}

function assistant(content: string): NormalizedRequest['messages'][number] {
  return { role: 'assistant', content };
}
