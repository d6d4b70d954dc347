import type { Endpoint } from '../../catalog/endpoint.ts';
import type { FallbackPolicy } from '../../config/tables/fallback.ts';
import type { PlanStep, RoutePlan } from '../selection/route-plan.ts';
import { type Attempt, type FailedAttempt, failedAttempts, FAILURE_RULES } from './failure.ts';
import { backoffMs } from './retry-budget.ts';
import type { Admission } from './health.ts';

export type { FallbackPolicy } from '../../config/tables/fallback.ts';

/** What the next move may depend on, besides the plan and the attempts so far. */
export interface Situation {
  readonly policy: FallbackPolicy;
  /** Monotonic milliseconds. */
  readonly now: number;
  /** When the request's own time is over. */
  readonly deadlineAt: number;
  /** Asked again before every move: an endpoint may have failed for somebody else meanwhile. */
  readonly admission: (endpoint: Endpoint) => Admission;
  /** Whether the process-wide budget has room for a repetition. */
  readonly mayRepeat: boolean;
  /** True right after a wait that an earlier move asked for. */
  readonly waited: boolean;
  /** Random number from 0 to 1. */
  readonly roll: number;
}

/** What to do now: call an endpoint, after a wait if it says so, or give up. */
export type Move =
  | { readonly type: 'attempt'; readonly step: PlanStep; readonly waitMs: number }
  | { readonly type: 'stop'; readonly reason: 'refused' | 'attempts' | 'deadline' | 'exhausted' };

/**
 * Decides what follows the attempts so far (gaps 4.1, 4.2; outcome rules of fallback).
 * First every endpoint of the plan once, in order and without waiting; then, if the failures allow it, a repetition.
 */
export function nextMove(plan: RoutePlan, attempts: readonly Attempt[], situation: Situation): Move {
  const failures = failedAttempts(attempts);
  const last = failures.at(-1);
  if (last !== undefined && FAILURE_RULES[last.outcome.failure.kind].next === 'nothing') return stop('refused');
  if (situation.now >= situation.deadlineAt) return stop('deadline');
  if (attempts.length >= situation.policy.maxAttempts) return stop('attempts');
  const open = plan.steps.filter((step) => !isRefused(step, failures));
  if (open.length === 0 && failures.length > 0) return stop('refused');
  const untried = open.find((step) => triesOf(step, attempts) === 0 && situation.admission(step.endpoint).ok);
  if (untried !== undefined) return { type: 'attempt', step: untried, waitMs: 0 };
  return repetition(open, attempts, failures, situation) ?? stop('exhausted');
}

/**
 * A model is out once a provider refused the request itself: its other providers would say the same. So are the other
 * models of a router model that stand in only for one that is not there (gaps 5.9).
 */
function isRefused(step: PlanStep, failures: readonly FailedAttempt[]): boolean {
  return failures.some(
    ({ step: failed, outcome }) =>
      (failed.endpoint.model === step.endpoint.model ||
        (failed.refusedTogether === true && step.refusedTogether === true)) &&
      FAILURE_RULES[outcome.failure.kind].next === 'model',
  );
}

/** The step that can be repeated soonest, if any may be repeated at all. */
function repetition(
  open: readonly PlanStep[],
  attempts: readonly Attempt[],
  failures: readonly FailedAttempt[],
  situation: Situation,
): Move | undefined {
  if (!situation.mayRepeat) return undefined;
  const { policy } = situation;
  let soonest: { step: PlanStep; waitMs: number } | undefined;
  for (const step of open) {
    const tries = triesOf(step, attempts);
    if (tries === 0 || tries >= policy.triesPerEndpoint) continue;
    const failed = failures.findLast((attempt) => attempt.step.endpoint.id === step.endpoint.id);
    if (failed === undefined || !FAILURE_RULES[failed.outcome.failure.kind].sameEndpoint) continue;
    const waitMs = waitBefore(step, failed, tries, situation);
    if (waitMs === undefined) continue;
    if (soonest === undefined || waitMs < soonest.waitMs) soonest = { step, waitMs };
  }
  return soonest && { type: 'attempt', ...soonest };
}

/** Milliseconds to wait before a step is repeated, or undefined when that is too long or not allowed. */
function waitBefore(step: PlanStep, failed: FailedAttempt, tries: number, situation: Situation): number | undefined {
  const { policy, now, deadlineAt, roll } = situation;
  const admission = situation.admission(step.endpoint);
  const asked = Math.max(0, failed.endedAt + (failed.outcome.failure.retryAfterMs ?? 0) - now);
  if (situation.waited) return admission.ok && asked === 0 ? 0 : undefined;
  if (!admission.ok && admission.cause === 'breaker') return undefined;
  const floor = Math.max(asked, admission.ok ? 0 : admission.waitMs);
  const waitMs = backoffMs(policy.backoff, tries - 1, roll, floor);
  return waitMs <= policy.maxWaitMs && now + waitMs < deadlineAt ? waitMs : undefined;
}

function triesOf(step: PlanStep, attempts: readonly Attempt[]): number {
  return attempts.filter((attempt) => attempt.step.endpoint.id === step.endpoint.id).length;
}

function stop(reason: Extract<Move, { type: 'stop' }>['reason']): Move {
  return { type: 'stop', reason };
}
