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
  readonly admission: (step: PlanStep) => Admission;
  /** Whether the process-wide budget has room for a repetition. */
  readonly mayRepeat: boolean;
  /** True right after a wait that an earlier move asked for. */
  readonly waited: boolean;
  /** Random number from 0 to 1. */
  readonly roll: number;
  /** Milliseconds that the request may still wait for a place at an endpoint whose rate is used up. Default 0. */
  readonly placeWaitMs?: number | undefined;
  /** Milliseconds that it may still wait for a place where its prompt is cached, although another is free. Default 0. */
  readonly warmWaitMs?: number | undefined;
  /** Endpoint at which it has waited for a place. */
  readonly promised?: string | undefined;
  /** Whether the process-wide budget has room for another endpoint after one that refused. Default true. */
  readonly mayRetryRefusal?: boolean | undefined;
}

/** What to do now: call an endpoint, after a wait if it says so, or give up. */
export type Move =
  | {
      readonly type: 'attempt';
      readonly step: PlanStep;
      readonly waitMs: number;
      /** True for a call that finds out whether an endpoint that was out is back. */
      readonly isProbe?: boolean | undefined;
      /** Present when the wait is for a place that is promised to this request: the first one anywhere, or a warm one. */
      readonly forPlace?: 'first' | 'warm' | undefined;
    }
  | { readonly type: 'stop'; readonly reason: StopReason };

/** Why nothing more is tried. */
export type StopReason = 'refused' | 'attempts' | 'deadline' | 'exhausted';

/**
 * Decides what follows the attempts so far (gaps 4.1, 4.2; outcome rules of fallback).
 * First every endpoint of the plan once, in order and without waiting, unless the prompt is cached where there will be a
 * place in a moment; then the first whose rate has room soon; then, one call at a time, an endpoint that is left alone;
 * and last, if the failures allow it, a repetition.
 */
export function nextMove(plan: RoutePlan, attempts: readonly Attempt[], situation: Situation): Move {
  const failures = attempts.length === 0 ? NO_FAILURES : failedAttempts(attempts);
  const last = failures.at(-1);
  if (last !== undefined && FAILURE_RULES[last.outcome.failure.kind].next === 'nothing') return stop('refused');
  if (situation.now >= situation.deadlineAt) return stop('deadline');
  if (attempts.length >= situation.policy.maxAttempts) return stop('attempts');
  const reworded = last === undefined ? undefined : withoutRefusedWord(last, failures, situation);
  if (reworded !== undefined) return reworded;
  const open = failures.length === 0 ? plan.steps : plan.steps.filter((step) => !isRefused(step, failures));
  if (open.length === 0 && failures.length > 0) return stop('refused');
  if (last?.outcome.failure.kind === 'rate_limited' && situation.mayRetryRefusal === false) return stop('exhausted');
  const untried = attempts.length === 0 ? open : open.filter((step) => triesOf(step, attempts) === 0);
  const admitted = promisedPlace(open, situation) ?? firstAdmitted(untried, situation);
  if (admitted !== undefined) {
    const { step, isProbe } = admitted;
    return warmPlace(admitted, open, attempts, situation) ?? { type: 'attempt', step, waitMs: 0, isProbe };
  }
  const place = firstPlace(untried, situation);
  if (place !== undefined) return place;
  const resort = lastResort(untried, situation);
  if (resort !== undefined) return { type: 'attempt', step: resort, waitMs: 0, isProbe: true };
  return repetition(open, attempts, failures, situation) ?? stop('exhausted');
}

/**
 * The endpoint that has just refused a word of the request, once more without it. Once in a request: who refuses another
 * word then is not asked again.
 */
function withoutRefusedWord(
  { step, outcome }: FailedAttempt,
  failures: readonly FailedAttempt[],
  { admission }: Situation,
): Move | undefined {
  if (outcome.failure.refusal === undefined) return undefined;
  if (failures.filter((one) => one.outcome.failure.refusal !== undefined).length > 1) return undefined;
  const admitted = admission(step);
  return admitted.ok ? { type: 'attempt', step, waitMs: 0, isProbe: admitted.probe === true } : undefined;
}

/**
 * An endpoint that is left alone, but may be asked because all are: nobody answers "everything is failing" without having
 * looked. Not one that said for how long, and none where only a rate is in the way.
 */
function lastResort(steps: readonly PlanStep[], { admission }: Situation): PlanStep | undefined {
  const admissions = steps.map(admission);
  if (admissions.some((one) => one.ok || one.cause === 'pace' || one.cause === 'rate_limited')) return undefined;
  return steps.find((_, index) => {
    const one = admissions[index];
    return one?.ok === false && one.lastResortMs === 0;
  });
}

/** A step whose endpoint may be called. */
interface AdmittedStep {
  readonly step: PlanStep;
  readonly isProbe: boolean;
  /** Share of the endpoint's rate that is free. */
  readonly headroom: number;
}

function firstAdmitted(steps: readonly PlanStep[], { admission }: Situation): AdmittedStep | undefined {
  for (const step of steps) {
    const admitted = admission(step);
    if (admitted.ok) return { step, isProbe: admitted.probe === true, headroom: admitted.headroom ?? 1 };
  }
  return undefined;
}

/** The endpoint that was waited for, if its place has come. */
function promisedPlace(open: readonly PlanStep[], situation: Situation): AdmittedStep | undefined {
  const { waited, promised } = situation;
  if (!waited || promised === undefined) return undefined;
  const steps = open.filter(({ endpoint }) => endpoint.id === promised);
  return firstAdmitted(steps, situation);
}

/**
 * The endpoint of the same model that has the prompt in its cache, where it is only asked too often and that is over
 * soon: a session that moves pays for all of its prompt again. The more is saved, the longer that is worth a wait, and
 * the less, the fewer places the free endpoint has left and the less well the warm one is.
 */
function warmPlace(
  { step: free, headroom }: AdmittedStep,
  open: readonly PlanStep[],
  attempts: readonly Attempt[],
  { policy, admission, warmWaitMs = 0, now, deadlineAt, mayRepeat }: Situation,
): Move | undefined {
  const freeUsd = free.figures?.expectedCostUsd;
  if (warmWaitMs <= 0 || freeUsd === undefined) return undefined;
  for (const step of open) {
    const { endpoint, figures } = step;
    if (figures?.expectedCostUsd === undefined || figures.warmth === 0) continue;
    if (step === free || endpoint.model !== free.endpoint.model) continue;
    const mostMs = warmWaitMs * headroom * (figures.health - figures.expectedCostUsd / freeUsd);
    if (mostMs <= 0) continue;
    const tries = triesOf(step, attempts);
    if (tries > 0 && (tries >= policy.triesPerEndpoint || !mayRepeat)) continue;
    const admitted = admission(step);
    if (admitted.ok || (admitted.cause !== 'pace' && admitted.cause !== 'rate_limited')) continue;
    const { waitMs } = admitted;
    if (waitMs <= mostMs && now + waitMs < deadlineAt) return { type: 'attempt', step, waitMs, forPlace: 'warm' };
  }
  return undefined;
}

/** The endpoint that can be called soonest among those that are only asked too often, if that is soon enough. */
function firstPlace(
  steps: readonly PlanStep[],
  { admission, placeWaitMs = 0, now, deadlineAt }: Situation,
): Move | undefined {
  let soonest: { step: PlanStep; waitMs: number } | undefined;
  for (const step of steps) {
    const admitted = admission(step);
    if (admitted.ok || (admitted.cause !== 'pace' && admitted.cause !== 'rate_limited')) continue;
    const { waitMs } = admitted;
    if (waitMs > placeWaitMs || now + waitMs >= deadlineAt) continue;
    if (soonest === undefined || waitMs < soonest.waitMs) soonest = { step, waitMs };
  }
  return soonest && { type: 'attempt', ...soonest, forPlace: 'first' };
}

/**
 * A model is out once a provider refused the request itself: its other providers would say the same. So are the other
 * models of a router model that are in only for one that is not there (gaps 5.9). A prompt that is too long for
 * one endpoint may still fit into another of the same model that holds more.
 */
function isRefused(step: PlanStep, failures: readonly FailedAttempt[]): boolean {
  return failures.some(({ step: failed, outcome }) => {
    const { next } = FAILURE_RULES[outcome.failure.kind];
    if (next !== 'model' && next !== 'longer') return false;
    const sameChoice =
      failed.endpoint.model === step.endpoint.model ||
      (failed.refusedTogether === true && step.refusedTogether === true);
    return sameChoice && !(next === 'longer' && mayHoldMore(step.endpoint, failed.endpoint));
  });
}

/** Whether an endpoint may take a longer prompt than another. Of two unknown limits, neither is. */
function mayHoldMore(endpoint: Endpoint, than: Endpoint): boolean {
  const own = promptLimitOf(endpoint);
  const other = promptLimitOf(than);
  return own === undefined || other === undefined ? own !== other : own > other;
}

function promptLimitOf({ contextLength, maxPromptTokens }: Endpoint): number | undefined {
  if (contextLength === undefined) return maxPromptTokens;
  return Math.min(contextLength, maxPromptTokens ?? contextLength);
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
  if (soonest === undefined) return undefined;
  const admitted = situation.admission(soonest.step);
  return { type: 'attempt', ...soonest, isProbe: !admitted.ok || admitted.probe === true };
}

/** Milliseconds to wait before a step is repeated, or undefined when that is too long or not allowed. */
function waitBefore(step: PlanStep, failed: FailedAttempt, tries: number, situation: Situation): number | undefined {
  const { policy, now, deadlineAt, roll } = situation;
  const admission = situation.admission(step);
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

/** Whether a model is left that was not asked yet. */
export function hasOtherModel({ steps }: RoutePlan, attempts: readonly Attempt[], { model }: Endpoint): boolean {
  const asked = new Set(attempts.map(({ step }) => step.endpoint.model));
  return steps.some(({ endpoint }) => endpoint.model !== model && !asked.has(endpoint.model));
}

const NO_FAILURES: readonly FailedAttempt[] = [];

function stop(reason: StopReason): Move {
  return { type: 'stop', reason };
}
