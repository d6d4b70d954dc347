/** Decides fallback: what happens after an attempt, by `nextMove`. */
import type { PlanStep, RoutePlan } from '../selection/route-plan.ts';
import { backoffMs, REQUEST_BACKOFF } from './backoff.ts';
import type { Admission } from './health.ts';
import { type AttemptFailure, FAILURE_RULES, type FailureKind } from '../../contracts/failure.ts';
import { type Attempt, countedTries, type FailedAttempt, failedAttempts, failureAt, triesOf } from './attempt.ts';
import { misfittingSteps } from './misfits.ts';
import { isRefused } from './refused-models.ts';
import type { Situation } from './situation.ts';

export type { FallbackPolicy } from '../../options/fallback.ts';

/** What to do now: call an endpoint, or give up. */
export type Move = AttemptMove | { readonly type: 'stop'; readonly reason: GiveUpReason };

/** A call of an endpoint, after a wait if it says so. */
export interface AttemptMove {
  readonly type: 'attempt';
  readonly step: PlanStep;
  readonly waitMs: number;
  /** True for a call that finds out whether an endpoint that was out is back. */
  readonly isProbe?: boolean | undefined;
  /** For a place that is promised to it, the first one anywhere or a warm one; or for its turn where all are crowded. */
  readonly forSlot?: 'first' | 'warm' | 'turn' | undefined;
  /** True for a call of an endpoint that is left alone, because nothing else is left. */
  readonly isLastResort?: boolean | undefined;
  /** True when the wait is for a call to be let through, after which others may have been faster. */
  readonly isHeld?: boolean | undefined;
}

/** Why nothing more is tried. */
export type GiveUpReason = 'refused' | 'attempts' | 'deadline' | 'exhausted';

/**
 * Decides what follows the attempts so far (gaps 4.1, 4.2; outcome rules of fallback).
 * First every endpoint of the plan once, in order and without waiting, unless the prompt is cached where there will be a
 * place in a moment, or another model would come next: then the same one once more before that. Then the first whose rate
 * has room soon; then, if the failures allow it, a repetition; and last an endpoint that is left alone, as often as that
 * is let through.
 */
export function nextMove(plan: RoutePlan, attempts: readonly Attempt[], situation: Situation): Move {
  const failures = attempts.length === 0 ? NO_FAILURES : failedAttempts(attempts);
  const last = failures.at(-1);
  if (last !== undefined && isFinal(last.outcome.failure, situation)) return stop('refused');
  if (situation.now >= situation.deadlineAt) return stop('deadline');
  if (attempts.length >= situation.policy.maxAttempts) return stop('attempts');
  if (last?.outcome.failure.addition !== undefined) return { type: 'attempt', step: last.step, waitMs: 0 };
  const reworded = last === undefined ? undefined : withoutRefusedWord(last, failures, situation);
  if (reworded !== undefined) return reworded;
  const open = failures.length === 0 ? plan.steps : plan.steps.filter((step) => !isRefused(step, failures));
  if (open.length === 0 && failures.length > 0) return stop('refused');
  if (last?.outcome.failure.kind === 'rate_limited' && situation.mayRetryRefusal === false) return stop('exhausted');
  const untried = attempts.length === 0 ? open : open.filter((step) => triesOf(step, attempts) === 0);
  const admitted = promisedPlace(open, situation) ?? firstAdmitted(untried, situation);
  if (admitted !== undefined) {
    const { step, isProbe } = admitted;
    return (
      sameModelAgain(stepsLeftOut(step, open, last), attempts, failures, situation) ??
      warmPlace(admitted, open, attempts, situation) ?? { type: 'attempt', step, waitMs: 0, isProbe }
    );
  }
  const shown = firstAdmitted(misfittingSteps(open, failures), situation);
  if (shown !== undefined) return { type: 'attempt', step: shown.step, waitMs: 0, isProbe: shown.isProbe };
  const place = firstPlace(untried, situation);
  if (place !== undefined) return place;
  return (
    repetition(open, attempts, failures, situation) ??
    placeAgain(open, attempts, failures, situation) ??
    answeringAgain(open, attempts, failures, situation) ??
    lastResort(open, attempts, failures, situation) ??
    stop('exhausted')
  );
}

/**
 * What `nextMove` decides first for nearly every request, from less than a situation: its first endpoint may be called,
 * and no other has its prompt. Undefined where there is more to it.
 */
export function firstMove(
  { steps }: RoutePlan,
  { policy, now, deadlineAt, admission }: Pick<Situation, 'policy' | 'now' | 'deadlineAt' | 'admission'>,
): Move | undefined {
  const [step] = steps;
  if (step === undefined || now >= deadlineAt || policy.maxAttempts < 1) return undefined;
  for (let index = 1; index < steps.length; index += 1) if (steps[index]?.figures?.warmth) return undefined;
  const admitted = admission(step);
  return admitted.ok ? { type: 'attempt', step, waitMs: 0, isProbe: admitted.probe === true } : undefined;
}

/**
 * The endpoint that has just refused a word of the request, once more without it. It may refuse another word then, but
 * few times: who would have to be asked without all of them is not asked any more.
 */
function withoutRefusedWord(
  { step, outcome }: FailedAttempt,
  failures: readonly FailedAttempt[],
  { admission }: Situation,
): Move | undefined {
  if (outcome.failure.refusal === undefined) return undefined;
  if (failures.filter((one) => one.outcome.failure.refusal !== undefined).length > MOST_WORDS) return undefined;
  const admitted = admission(step);
  if (admitted.ok) return { type: 'attempt', step, waitMs: 0, isProbe: admitted.probe === true };
  // It has answered just now, whatever others have met there.
  const isOut = admitted.cause === 'breaker' || (admitted.cause !== 'pace' && FAILURE_RULES[admitted.cause].breaks);
  return isOut ? { type: 'attempt', step, waitMs: 0, isProbe: true, isLastResort: true } : undefined;
}

/** Words that are left out of one request, one after the other. */
const MOST_WORDS = 3;

/**
 * An endpoint that is not to be called, but may be because none is: nobody answers "everything is failing" without
 * having looked. Not one that said for how long, and none where only a rate is in the way. Who is not let through waits
 * a while where calls fail, because the endpoint may be back in a moment.
 */
function lastResort(
  open: readonly PlanStep[],
  attempts: readonly Attempt[],
  failures: readonly FailedAttempt[],
  situation: Situation,
): Move | undefined {
  const { admission, policy } = situation;
  let soonest: { step: PlanStep; waitMs: number; isTried: boolean } | undefined;
  for (const step of open) {
    const one = admission(step);
    const tries = triesOf(step, attempts);
    // Too many of our own calls are no reason to make more, and what is only called too often is due in a moment.
    const isRate = one.ok || one.cause === 'pace' || (one.cause === 'rate_limited' && one.lastResortMs !== 0);
    if (isRate && tries === 0) return undefined;
    if (isRate || one.lastResortMs === undefined) continue;
    if (one.asked === true && (tries > 0 || one.lastResortMs > 0)) continue;
    const dueMs = tries === 0 ? 0 : dueAgainMs(step, 1, failures, situation);
    const isSpent = countedTries(step, attempts) >= policy.triesPerEndpoint;
    if (dueMs === undefined || isSpent || (tries > 0 && policy.triesPerEndpoint === 1)) continue;
    const waitMs = Math.max(dueMs, one.lastResortMs);
    if (waitMs > 0 && (!mayComeBack(one.cause) || situation.isGone?.(step) === true)) continue;
    const isTried = one.isTried === true;
    if (soonest === undefined || waitMs < soonest.waitMs) soonest = { step, waitMs, isTried };
  }
  if (soonest === undefined) return undefined;
  const { step, waitMs, isTried } = soonest;
  if (waitMs === 0) return { type: 'attempt', step, waitMs, isProbe: true, isLastResort: true };
  // The call under way may show that the endpoint is back.
  const longerMs = isTried ? policy.maxWaitMs * WHILE_TRIED : 0;
  return held(step, waitMs, (situation.holdMs ?? 0) + longerMs, situation);
}

/** Whether what is wrong with an endpoint may be over in a moment. */
function mayComeBack(cause: Extract<Admission, { ok: false }>['cause']): boolean {
  return cause === 'breaker' || (cause !== 'pace' && FAILURE_RULES[cause].breaks);
}

/** A wait until calls may be let through again; undefined where the time for that is over. */
function held(step: PlanStep, waitMs: number, leftMs: number, situation: Situation): Move | undefined {
  const { now, deadlineAt, roll, policy } = situation;
  // Many wait for the same call: whoever looks first makes it, and all hear of it when it succeeds.
  const lookMs = Math.min(waitMs, Math.ceil(LOOK_AGAIN_MS * (1 + roll)));
  // Where nothing is repeated, nothing is waited for either.
  if (policy.triesPerEndpoint === 1 || leftMs <= 0 || now + lookMs >= deadlineAt) return undefined;
  return { type: 'attempt', step, waitMs: lookMs, isHeld: true };
}

/** Times as long as otherwise for which a request is held back longer while a call is under way. */
const WHILE_TRIED = 4;

/** Milliseconds, up to twice as many, after which a call that is held back looks again. */
const LOOK_AGAIN_MS = 100;

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
 * The endpoint of the same model that has the prompt in its cache, where it is only called too often and that is over
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
    if (tries > 0 && (tries >= policy.triesPerEndpoint || !mayRepeat(step))) continue;
    const admitted = admission(step);
    if (admitted.ok || (admitted.cause !== 'pace' && admitted.cause !== 'rate_limited')) continue;
    const { waitMs } = admitted;
    if (waitMs <= mostMs && now + waitMs < deadlineAt) return { type: 'attempt', step, waitMs, forSlot: 'warm' };
  }
  return undefined;
}

/**
 * The endpoint that can be called soonest among those that are only called too often, if that is soon enough, or slow.
 */
function firstPlace(
  steps: readonly PlanStep[],
  { admission, slotWaitMs = 0, now, deadlineAt }: Situation,
): Move | undefined {
  let soonest: { step: PlanStep; waitMs: number; forSlot: 'first' | 'turn' } | undefined;
  for (const step of steps) {
    const admitted = admission(step);
    if (admitted.ok || (admitted.cause !== 'pace' && admitted.cause !== 'rate_limited')) continue;
    const { waitMs, crowded } = admitted;
    if ((waitMs > slotWaitMs && crowded !== true) || now + waitMs >= deadlineAt) continue;
    const forSlot = crowded === true ? 'turn' : 'first';
    if (soonest === undefined || waitMs < soonest.waitMs) soonest = { step, waitMs, forSlot };
  }
  return soonest && { type: 'attempt', ...soonest };
}

/** Failures that another try of the same model may well not meet. */
const PASSING: ReadonlySet<FailureKind> = new Set(['connection', 'server', 'overloaded', 'rate_limited']);

/** The open steps of the model that has just failed in passing, when the next step of the plan is another one. */
function stepsLeftOut(next: PlanStep, open: readonly PlanStep[], last: FailedAttempt | undefined): readonly PlanStep[] {
  if (last === undefined || !PASSING.has(last.outcome.failure.kind)) return NO_STEPS;
  const { model } = last.step.endpoint;
  return next.endpoint.model === model ? NO_STEPS : open.filter(({ endpoint }) => endpoint.model === model);
}

/** A model once more, as far as it takes no longer than the back-off or a short time that the provider named. */
function sameModelAgain(
  own: readonly PlanStep[],
  attempts: readonly Attempt[],
  failures: readonly FailedAttempt[],
  situation: Situation,
): Move | undefined {
  if (own.length === 0 || own.some((step) => triesOf(step, attempts) > 1)) return undefined;
  const passing = own.filter((step) => {
    const { kind, retryAfterMs } = failureAt(step, failures)?.outcome.failure ?? {};
    if (kind === undefined || !PASSING.has(kind)) return false;
    return kind === 'rate_limited'
      ? isSoon(retryAfterMs, situation)
      : retryAfterMs === undefined || isSoon(retryAfterMs, situation);
  });
  const { policy } = situation;
  // What a provider asks for is lengthened a little, so that instances do not return together.
  const lengthened = { ...policy, maxWaitMs: policy.maxWaitMs * LENGTHENED };
  return repetition(passing, attempts, failures, { ...situation, policy: lengthened, holdMs: undefined });
}

function isSoon(retryAfterMs: number | undefined, { policy }: Situation): boolean {
  return retryAfterMs !== undefined && retryAfterMs <= policy.maxWaitMs;
}

const LENGTHENED = 1.5;

/** The step that can be repeated soonest, if any may be repeated at all. */
function repetition(
  open: readonly PlanStep[],
  attempts: readonly Attempt[],
  failures: readonly FailedAttempt[],
  situation: Situation,
): Move | undefined {
  let soonest: { step: PlanStep; waitMs: number } | undefined;
  for (const step of open) {
    const tries = countedTries(step, attempts);
    const mayRepeat = tries < situation.policy.triesPerEndpoint && triesOf(step, attempts) > 0;
    const waitMs = mayRepeat ? waitBefore(step, Math.max(1, tries), failures, situation) : undefined;
    if (waitMs === undefined) continue;
    if (soonest === undefined || waitMs < soonest.waitMs) soonest = { step, waitMs };
  }
  if (soonest === undefined) return undefined;
  const { step, waitMs } = soonest;
  if (waitMs === 0 && !situation.mayRepeat(step)) return held(step, LOOK_AGAIN_MS, situation.holdMs ?? 0, situation);
  const admitted = situation.admission(step);
  return { type: 'attempt', step, waitMs, isProbe: !admitted.ok || admitted.probe === true };
}

/** Milliseconds to wait before a step is repeated, or undefined when that is too long or not allowed. */
function waitBefore(
  step: PlanStep,
  tries: number,
  failures: readonly FailedAttempt[],
  situation: Situation,
): number | undefined {
  const { policy, now, deadlineAt } = situation;
  const dueMs = dueAgainMs(step, tries, failures, situation);
  if (dueMs === undefined) return undefined;
  const admission = situation.admission(step);
  if (!admission.ok && (situation.waited || admission.cause === 'breaker')) return undefined;
  const waitMs = admission.ok ? dueMs : Math.max(dueMs, admission.waitMs);
  return waitMs <= policy.maxWaitMs && now + waitMs < deadlineAt ? waitMs : undefined;
}

/** A place after a refusal, for who has waited as long as the provider asked for and found that others were first. */
function placeAgain(
  open: readonly PlanStep[],
  attempts: readonly Attempt[],
  failures: readonly FailedAttempt[],
  situation: Situation,
): Move | undefined {
  if (!situation.waited) return undefined;
  const isLimited = (step: PlanStep): boolean => failureAt(step, failures)?.outcome.failure.kind === 'rate_limited';
  const { triesPerEndpoint } = situation.policy;
  const limited = open.filter((step) => isLimited(step) && triesOf(step, attempts) < triesPerEndpoint);
  return firstPlace(limited, situation);
}

/**
 * A step that asked for more time than is waited for, and has answered calls since that were sent later: it refused this
 * one by chance. Whether it does is waited for, as long as nothing shows that it refuses all.
 */
function answeringAgain(
  open: readonly PlanStep[],
  attempts: readonly Attempt[],
  failures: readonly FailedAttempt[],
  situation: Situation,
): Move | undefined {
  const { policy, now, roll, admission, answeredSince, holdMs = 0 } = situation;
  for (const step of open) {
    const failed = failureAt(step, failures);
    const { kind, retryAfterMs = 0 } = failed?.outcome.failure ?? {};
    if (failed === undefined || kind === undefined || retryAfterMs <= policy.maxWaitMs) continue;
    const tries = countedTries(step, attempts);
    if (!FAILURE_RULES[kind].sameEndpoint || tries >= policy.triesPerEndpoint || !admission(step).ok) continue;
    const dueMs = failed.endedAt + backoffMs(REQUEST_BACKOFF, tries - 1, roll) - now;
    if (answeredSince?.(step, failed.startedAt) !== true || dueMs > 0)
      return held(step, LOOK_AGAIN_MS, holdMs, situation);
    return { type: 'attempt', step, waitMs: 0 };
  }
  return undefined;
}

/** Milliseconds until a step is due once more; undefined when it may not be repeated. */
function dueAgainMs(
  step: PlanStep,
  tries: number,
  failures: readonly FailedAttempt[],
  { now, roll, waited, isGone, answeredSince }: Situation,
): number | undefined {
  const failed = failureAt(step, failures);
  if (failed === undefined || isGone?.(step) === true) return undefined;
  const { kind, retryAfterMs, silent, status } = failed.outcome.failure;
  // Where calls that began later have been answered, this one hangs by itself, and does not wait in a queue.
  const hungAlone = silent === true || (kind === 'timeout' && status === undefined);
  if (hungAlone && answeredSince?.(step, failed.startedAt) === true) return 0;
  // A time-out of which the provider itself told is over; one of ours would take as long again.
  const isOver = kind === 'timeout' && status !== undefined;
  if (!FAILURE_RULES[kind].sameEndpoint && !isOver) return undefined;
  // Whoever has waited has waited by another number.
  const apartMs = retryAfterMs ?? backoffMs(REQUEST_BACKOFF, tries - 1, waited ? 0 : roll);
  return Math.max(0, failed.endedAt + apartMs - now);
}

/** Whether nothing may be tried after a failure. */
function isFinal({ kind }: AttemptFailure, { returnRefusals }: Situation): boolean {
  return FAILURE_RULES[kind].next === 'nothing' || (returnRefusals === true && kind === 'content_policy');
}

const NO_FAILURES: readonly FailedAttempt[] = [];
const NO_STEPS: readonly PlanStep[] = [];

function stop(reason: GiveUpReason): Move {
  return { type: 'stop', reason };
}
