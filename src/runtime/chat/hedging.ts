/** Starts a second call when the first is late. */
import type { Admission } from '../../core/fallback/health.ts';
import type { RoutedRequest } from '../../contracts/request.ts';
import { growthFactor, expectedMs, usualLongest } from '../../core/selection/adaptive/speed.ts';
import { hedgeDelay } from '../../core/selection/adaptive/hedge.ts';
import type { PlanStep } from '../../core/selection/route-plan.ts';
import type { AttemptCall, CallResult } from './attempt-call.ts';
import { expectedWork, type RunningAttempt } from './running-attempt.ts';
import type { RuntimeServices } from './services.ts';
import type { SettleHedge } from '../endpoints/shared-pacing.ts';
import { failure, type FailureKind } from '../../contracts/failure.ts';
import type { Attempt } from '../../core/fallback/attempt.ts';
import type { Answer } from './answer.ts';
import type { UnansweredCall } from '../../core/stream/billing.ts';

/** What hedging needs of the request that it works for. */
export interface HedgedRequest<Call, Result> {
  readonly services: RuntimeServices;
  readonly request: RoutedRequest;
  /** Those that may be called, in their order. */
  readonly steps: () => readonly PlanStep[];
  readonly signal: AbortSignal;
  /** Calls that have ended. */
  readonly attempts: readonly Attempt[];
  readonly admission: (step: PlanStep) => Admission;
  /** Does what must come before a second call and launches it, if `isWanted` still; undefined when it cannot be made. */
  readonly launchBeside: (step: PlanStep, isWanted: () => boolean) => Promise<RunningAttempt<Call, Result> | undefined>;
  /** What a provider charges for a call that is given up, as far as it has come; undefined without a price. */
  readonly givenUpUsd: (call: Pick<UnansweredCall, 'endpoint' | 'call'>) => number | undefined;
  /** Notes what became of a call: its answer, or undefined when it failed and was settled so. */
  readonly conclude: (
    running: RunningAttempt<Call, Result>,
    opened: CallResult<Result>,
  ) => Answer<Call, Result> | undefined;
}

/** How soon a late call is looked at again, while the budget for hedges is used up. */
const LOOK_AGAIN_MS = 200;
/** Logarithm of the likelihood of an endpoint's silence above which nothing is suspected of it. */
const UNSUSPICIOUS = -3;
/** Part of what shows that an endpoint hangs from which on it may be one. A single late call is not as much. */
const SUSPECT = 0.5;
const SILENT = failure('timeout', 'The provider stopped sending', { silent: true });
const SUPERSEDED = failure('superseded', 'Another call of the same request answered first');

/** What is thought of an endpoint that does not answer: that it is slow, or that it may hang. */
export type Suspicion = 'slow' | 'may_hang';

/** Milliseconds after its start from which a call is late; undefined where nothing is known of its endpoint. */
export function lateAfterMs<Call, Result>(
  services: RuntimeServices,
  running: RunningAttempt<Call, Result>,
  suspicion: Suspicion,
): number | undefined {
  const { records, hedge } = services;
  const { step, reason, kind } = running;
  const { isProbe } = reason;
  const { endpoint } = step;
  const usual = records.usual(endpoint, kind);
  const isKnown = usual !== undefined && hedge !== false;
  const factor = growthFactor(usual?.growth, running.mostWork);
  const delayMs = isKnown
    ? hedgeDelay(usual, hedge, { isProbe, isSuspect: suspicion === 'may_hang', factor })
    : undefined;
  return delayMs ?? records.firstResponseMs(endpoint, running);
}

/**
 * Asks a second endpoint when the first is late, once per request and only before the first byte. Whichever answers
 * first is the answer, the other call is given up. Made for the first call of a request that is late.
 */
export class Hedging<Call extends AttemptCall<Result>, Result> {
  readonly #own: HedgedRequest<Call, Result>;
  #isUsed = false;
  /** Settles what was set aside for the second call; undefined where that is free. */
  #settle: SettleHedge | undefined;

  constructor(own: HedgedRequest<Call, Result>) {
    this.#own = own;
  }

  /** True once a second call was made. */
  get isUsed(): boolean {
    return this.#isUsed;
  }

  /** Goes on with a call that is late: with a second one beside it, if there is somebody to ask. */
  async beside(first: RunningAttempt<Call, Result>): Promise<Answer<Call, Result> | undefined> {
    const second = await this.#second(first);
    first.stopWaiting(this.#own.services.environment);
    return second === undefined ? this.alone(first) : this.#firstOf(first, second);
  }

  /**
   * Whether a call is waited for although its time limit is over: one at an endpoint that is merely slow. Elsewhere it
   * would be the last in another queue, so it moves only where that is sooner, and as far as there may be second calls.
   * Where no other endpoint is left, it could only fail.
   *
   * @param answeredAt - Monotonic milliseconds of the last answer of its endpoint.
   */
  isWaitedFor(running: RunningAttempt<Call, Result>, answeredAt: number): boolean {
    const { pacing, records, environment } = this.#own.services;
    const { endpoint } = running.step;
    if (answeredAt <= running.startedAt) return false;
    const step = this.#stepBeside(running);
    if (step === undefined) return !(running.isSilent && records.isSilent(endpoint));
    // What is tried elsewhere because its endpoint is out is no second call.
    if (records.isOut(endpoint) || running.isSilent) return false;
    if (!this.#isSooner(step, running) || !pacing.mayRescue(environment.now())) return true;
    pacing.rescue(records.lateAnswerShare(endpoint));
    return false;
  }

  /** Waits for a call beside which no other may be made; where another endpoint may follow, not for one that hangs. */
  async alone(running: RunningAttempt<Call, Result>): Promise<Answer<Call, Result> | undefined> {
    const stopLooking = this.#isUsed ? this.#lookForSilence([running]) : undefined;
    const result = await running.arrival();
    stopLooking?.();
    this.#noteLate(running, result);
    return this.#own.conclude(running, result);
  }

  /** Notes how a call ended that was late and that nobody gave up. */
  #noteLate(running: RunningAttempt<Call, Result>, result: CallResult<Result>): void {
    const { services } = this.#own;
    const isFailed = result.type === 'failed';
    // A call that ran out of time may have waited in a queue: that is no sign that late calls fail.
    if (isFailed && (!hasFailed(result) || result.failure.kind === 'timeout')) return;
    const lateMs = lateAfterMs(services, running, 'slow');
    const isLate = lateMs !== undefined && services.environment.now() - running.startedAt >= lateMs;
    if (isLate) services.records.lateEnded(running.step.endpoint, isFailed ? 'failed' : 'answered');
  }

  /**
   * Makes the second call as soon as it is paid for: at once where the first is a probe or its endpoint silent, from
   * the budget of hedges otherwise. Undefined when the first answers meanwhile, or when nobody else can be called.
   */
  async #second(first: RunningAttempt<Call, Result>): Promise<RunningAttempt<Call, Result> | undefined> {
    const { services, signal, launchBeside } = this.#own;
    const { environment } = services;
    const isWanted = (): boolean => !first.isOver && !signal.aborted;
    while (isWanted()) {
      const isOut = first.reason.isProbe || this.#isSilent(first) || services.records.isOut(first.step.endpoint);
      const suspicion = services.records.isSilent(first.step.endpoint, SUSPECT) ? 'may_hang' : 'slow';
      const lateMs = lateAfterMs(services, first, suspicion) ?? Infinity;
      const isLate = isOut || environment.now() - first.startedAt >= lateMs;
      const step = isLate ? this.#stepBeside(first) : undefined;
      const isBetter = step !== undefined && (isOut || this.#isSooner(step, first));
      const mayRescue = isBetter && services.pacing.mayRescue(environment.now());
      if (mayRescue && (isOut || this.#pay(first.step, step))) {
        services.pacing.rescue(services.records.lateAnswerShare(first.step.endpoint));
        const second = await launchBeside(step, isWanted);
        this.#isUsed = true;
        if (second === undefined) this.#settle?.(undefined);
        return second;
      }
      await first.again(environment, LOOK_AGAIN_MS);
    }
    return undefined;
  }

  /**
   * Whether another endpoint would have answered by now: where all have long queues, a second call would make them longer
   * and come too late.
   */
  #isSooner({ endpoint, figures }: PlanStep, { kind, startedAt }: RunningAttempt<Call, Result>): boolean {
    const { services, request } = this.#own;
    const now = services.environment.now();
    const timing = services.records.timingAt(now, kind)(endpoint);
    return (
      timing === undefined ||
      expectedMs(timing, expectedWork(services, request, figures?.warmth).tokens) < now - startedAt
    );
  }

  /** Sets aside what a second call may cost: either of the two may be the one that is given up. */
  #pay(first: PlanStep, second: PlanStep): boolean {
    const { services, givenUpUsd } = this.#own;
    const [one, other] = [first, second].map(({ endpoint }) => givenUpUsd({ endpoint, call: UNANSWERED }));
    this.#settle = services.pacing.payHedge([one, other], services.records.lateAnswerShare(first.endpoint));
    return this.#settle !== undefined;
  }

  /** The endpoint that would be called if the calls under way failed: one that is well, and not itself waited for. */
  #stepBeside(...runningAttempts: readonly RunningAttempt<Call, Result>[]): PlanStep | undefined {
    const { services, steps, attempts, admission } = this.#own;
    const { records, fallback } = services;
    if (attempts.length + runningAttempts.length >= fallback.maxAttempts) return undefined;
    const well = steps().filter((step) => {
      if (step.spare === true) return false;
      const admitted = admission(step);
      return admitted.ok && admitted.probe !== true;
    });
    const tried = new Set([...runningAttempts, ...attempts].map(({ step }) => step.endpoint.id));
    const untried = well.filter(({ endpoint }) => !tried.has(endpoint.id));
    const open = untried.length > 0 ? untried : well.filter((step) => this.#isBack(step, runningAttempts));
    const heard = open.filter(({ endpoint }) => records.silenceLikelihood(endpoint) > UNSUSPICIOUS);
    return heard.find((step) => (admission(step).headroom ?? 1) >= 0) ?? heard[0] ?? open[0];
  }

  /**
   * Whether an endpoint that has failed this request, or lets it wait in vain, has answered a later call, and may be tried
   * once more.
   */
  #isBack(step: PlanStep, runningAttempts: readonly RunningAttempt<Call, Result>[]): boolean {
    const { services, attempts } = this.#own;
    const ofIt = (one: Pick<Attempt, 'step'>): boolean => one.step.endpoint.id === step.endpoint.id;
    const [waiting, ended] = [runningAttempts.filter(ofIt), attempts.filter(ofIt)];
    if (waiting.length + ended.length >= services.fallback.triesPerEndpoint) return false;
    if (!waiting.every((running) => this.#waitsInVain(running))) return false;
    return [...waiting, ...ended].every(({ startedAt }) => services.records.answeredSince(step, startedAt));
  }

  /** Waits for the first of two calls that answers, and gives up the other; both, when both endpoints turn out to hang. */
  async #firstOf(
    first: RunningAttempt<Call, Result>,
    second: RunningAttempt<Call, Result>,
  ): Promise<Answer<Call, Result> | undefined> {
    const { services, request, conclude, givenUpUsd } = this.#own;
    const stopLooking = this.#lookForSilence([first, second]);
    const results = [first, second].map(async (running) => ({
      attempt: running,
      result: await running.arrival(),
    }));
    const soonest = await Promise.race(results);
    stopLooking();
    const other = soonest.attempt === first ? second : first;
    const { result } = soonest;
    this.#noteLate(soonest.attempt, result);
    // A refusal that is wanted back ends the request, whatever the other call would say.
    if (result.type === 'failed' && !(result.failure.kind === 'content_policy' && request.preferences.returnRefusals)) {
      if (hasFailed(result)) this.#settle?.(undefined);
      conclude(soonest.attempt, result);
      return this.alone(other);
    }
    other.call.giveUp(SUPERSEDED);
    const left = await other.arrival();
    if (left.type !== 'failed') other.call.close();
    this.#settle?.(
      hasFailed(left) ? undefined : { usd: givenUpUsd({ ...other.step, call: other.call }), isFirst: other === first },
    );
    services.records.gaveUp(other.step.endpoint, other, services.environment.now() - other.startedAt);
    conclude(other, { type: 'failed', failure: left.type === 'failed' ? left.failure : SUPERSEDED });
    return conclude(soonest.attempt, result);
  }

  /**
   * Looks now and then whether all of these calls wait in vain, and gives them up if somebody else can be called. The
   * result ends that.
   */
  #lookForSilence(runningAttempts: readonly RunningAttempt<Call, Result>[]): () => void {
    const { environment, records } = this.#own.services;
    let dueAt = environment.now() + LOOK_AGAIN_MS;
    const look = (): void => {
      const isLate = environment.now() - dueAt > LOOK_AGAIN_MS;
      dueAt = environment.now() + LOOK_AGAIN_MS;
      // Where the process itself stood still, answers may be here that nobody has read.
      if (isLate) {
        records.stalled();
        timer = environment.setTimer(look, LOOK_AGAIN_MS);
        return;
      }
      const { pacing } = this.#own.services;
      const [first] = runningAttempts;
      const inVain =
        runningAttempts.every((running) => this.#waitsInVain(running)) &&
        this.#stepBeside(...runningAttempts) !== undefined &&
        pacing.mayRescue(environment.now());
      if (inVain) {
        pacing.rescue(first === undefined ? 1 : records.lateAnswerShare(first.step.endpoint));
        for (const { call } of runningAttempts) call.giveUp(SILENT);
      } else timer = environment.setTimer(look, LOOK_AGAIN_MS);
    };
    let timer = environment.setTimer(look, LOOK_AGAIN_MS);
    return () => environment.clearTimer(timer);
  }

  /** Whether a call waits for an endpoint that hangs, or far longer than is usual there. */
  #waitsInVain(running: RunningAttempt<Call, Result>): boolean {
    // One that nobody has ever heard of may only be slow: another one is asked, and this one goes on.
    const isSilent = this.#isSilent(running) && this.#own.services.records.isSilent(running.step.endpoint);
    return isSilent || this.#isOverdue(running);
  }

  #isSilent(running: RunningAttempt<Call, Result>): boolean {
    return this.#own.services.records.checkForHang(running.step.endpoint) || running.isSilent;
  }

  /** Whether a call has waited longer than practically all calls of its endpoint take. */
  #isOverdue({ step, startedAt, kind, mostWork }: RunningAttempt<Call, Result>): boolean {
    const { environment, records } = this.#own.services;
    const usual = records.usual(step.endpoint, kind);
    const longest = usual && usualLongest(usual);
    return longest !== undefined && environment.now() - startedAt > longest * growthFactor(usual?.growth, mostWork);
  }
}

/** Whether a call has failed by itself: a provider may go on with one that was ended from here, and charge for it. */
function hasFailed(result: CallResult<unknown>): boolean {
  return result.type === 'failed' && !ENDED_HERE.has(result.failure.kind) && result.failure !== SILENT;
}

const UNANSWERED = { reported: { usage: undefined } };
const ENDED_HERE: ReadonlySet<FailureKind> = new Set(['aborted', 'superseded']);
