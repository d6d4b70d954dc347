import type { Endpoint } from '../../catalog/endpoint.ts';
import { type Attempt, failure, type FailureKind } from '../../core/fallback/failure.ts';
import type { Admission } from '../../core/fallback/health.ts';
import type { RoutedRequest } from '../../core/normalize/normalized-request.ts';
import { hedgeDelay, type HedgePolicy, runsProviderTools } from '../../core/selection/adaptive/hedge.ts';
import { type TimedKind, usualLongest } from '../../core/selection/adaptive/wellness.ts';
import type { PlanStep, RoutePlan } from '../../core/selection/route-plan.ts';
import type { AttemptCall, CallResult } from './attempt-call.ts';
import { timeoutsOf } from './call-watch.ts';
import type { Answer } from './execution.ts';
import type { RuntimeServices } from './services.ts';
import type { UnansweredCall } from './settle.ts';
import type { SettleHedge } from './shared-pacing.ts';
import type { Environment, Timer } from '../../platform/environment.ts';

/** A call under way. */
export interface Flight<Call, Result> {
  readonly step: PlanStep;
  readonly call: Call;
  /** How it comes out. */
  readonly arrival: Arrival<CallResult<Result>>;
  readonly startedAt: number;
  readonly generation: number;
  readonly attempt: number;
  readonly hedge: boolean;
  /** True when it finds out whether an endpoint that was out is back. */
  readonly isProbe: boolean;
  /** Raised when its endpoint turns out to hang. */
  readonly silence: Signal;
}

/** What hedging needs of the request that it works for. */
export interface HedgedRequest<Call, Result> {
  readonly services: RuntimeServices;
  readonly request: RoutedRequest;
  readonly plan: RoutePlan;
  readonly signal: AbortSignal;
  /** Calls that have ended. */
  readonly attempts: readonly Attempt[];
  readonly admission: (endpoint: Endpoint) => Admission;
  /** Does what must come before a second call and launches it, if `isWanted` still; undefined when it cannot be made. */
  readonly launchBeside: (step: PlanStep, isWanted: () => boolean) => Promise<Flight<Call, Result> | undefined>;
  /** What a provider charges for a call that is given up, as far as it has come; undefined without a price. */
  readonly givenUpUsd: (call: Pick<UnansweredCall, 'endpoint' | 'call'>) => number | undefined;
  /** Notes what became of a call: its answer, or undefined when it failed and was settled so. */
  readonly conclude: (flight: Flight<Call, Result>, opened: CallResult<Result>) => Answer<Call, Result> | undefined;
}

/** How soon a late call is looked at again, while the budget for hedges is used up. */
const LOOK_AGAIN_MS = 200;
/** Logarithm of the likelihood of an endpoint's silence above which nothing is suspected of it. */
const UNSUSPICIOUS = -3;
/** Part of what shows that an endpoint hangs from which on it may be one. A single late call is not as much. */
const SUSPECT = 0.5;
const SILENT = failure('timeout', 'The provider has fallen silent');
const SUPERSEDED = failure('superseded', 'Another call of the same request answered first');

/**
 * Asks a second endpoint when the first is late, once per request and only before the first byte. Whichever answers
 * first is the answer, the other call is given up.
 */
export class Hedging<Call extends AttemptCall<Result>, Result> {
  readonly #own: HedgedRequest<Call, Result>;
  #isUsed = false;
  /** Settles what was set aside for the second call; undefined where that is free. */
  #settle: SettleHedge | undefined;

  constructor(own: HedgedRequest<Call, Result>) {
    this.#own = own;
  }

  /** Waits for the answer to a call, or to one beside it; undefined when none came. */
  answer(first: Flight<Call, Result>): Promise<Answer<Call, Result> | undefined> {
    const late = this.#lateness(first);
    if (late === undefined) return this.#alone(first);
    const conclude = (result: CallResult<Result>): Answer<Call, Result> | undefined =>
      this.#own.conclude(first, result);
    return late.race(conclude, () => this.#beside(first, late));
  }

  /** Goes on with a call that is late: with a second one beside it, if there is somebody to ask. */
  async #beside(
    first: Flight<Call, Result>,
    late: LateCall<CallResult<Result>>,
  ): Promise<Answer<Call, Result> | undefined> {
    const second = await this.#second(first, late);
    late.end();
    if (second === undefined) return this.#alone(first);
    return this.#firstOf(first, second);
  }

  /** What a request's calls are timed as. */
  get kind(): TimedKind {
    return this.#own.request.stream ? 'streaming' : 'whole';
  }

  /** Watches whether a call is late; undefined where nobody else may be asked. */
  #lateness(flight: Flight<Call, Result>): LateCall<CallResult<Result>> | undefined {
    const { services, request, plan } = this.#own;
    const { hedge, environment } = services;
    if (hedge === false || this.#isUsed || !request.preferences.allowFallbacks) return undefined;
    if (plan.steps.length < 2 || runsProviderTools(request)) return undefined;
    return new LateCall(environment, flight.arrival, flight.silence, this.#delay(flight, hedge, true));
  }

  /**
   * Milliseconds after its start from which a call is late.
   *
   * @param isSuspect - Whether its endpoint may be one that hangs.
   */
  #delay({ step, isProbe }: Flight<Call, Result>, hedge: HedgePolicy, isSuspect: boolean): number | undefined {
    const { records, adaptive } = this.#own.services;
    const usual = records.usual(step.endpoint, this.kind);
    const delayMs = usual && hedgeDelay(usual, hedge, adaptive.speed, { isProbe, isSuspect });
    return delayMs ?? this.unheardMs(step.endpoint);
  }

  /** Milliseconds after which an endpoint is late of whose model nothing is known yet. */
  unheardMs(endpoint: Endpoint): number | undefined {
    const { records, timeouts, providers } = this.#own.services;
    const limits = timeoutsOf(timeouts, providers.get(endpoint.provider) ?? {}, endpoint);
    const limitMs = this.kind === 'streaming' ? limits.firstTokenMs : limits.answerMs;
    return records.unheardMs(endpoint, this.kind, Math.max(1, limitMs / timeouts.firstTokenMs));
  }

  /** Waits for a call beside which no other may be made; where another endpoint may follow, not for one that hangs. */
  async #alone(flight: Flight<Call, Result>): Promise<Answer<Call, Result> | undefined> {
    const { conclude } = this.#own;
    if (!this.#isUsed) return conclude(flight, await flight.arrival.wait());
    const stopLooking = this.#lookForSilence([flight]);
    const result = await flight.arrival.wait();
    stopLooking();
    return conclude(flight, result);
  }

  /**
   * Makes the second call as soon as it is paid for: at once where the first is a probe or its endpoint silent, from the
   * purse of hedges otherwise. Undefined when the first answers meanwhile, or when nobody else can be asked.
   */
  async #second(
    first: Flight<Call, Result>,
    late: LateCall<CallResult<Result>>,
  ): Promise<Flight<Call, Result> | undefined> {
    const { services, signal, launchBeside } = this.#own;
    const { environment, hedge } = services;
    if (hedge === false) return undefined;
    const isWanted = (): boolean => !late.isOver && !signal.aborted;
    while (isWanted()) {
      const isOut = first.isProbe || this.#isSilent(first) || services.records.isOut(first.step.endpoint);
      const isSuspect = services.records.isSilent(first.step.endpoint, SUSPECT);
      const lateMs = this.#delay(first, hedge, isSuspect) ?? Infinity;
      const isLate = isOut || environment.now() - first.startedAt >= lateMs;
      const step = isLate ? this.#stepBeside(first) : undefined;
      if (step !== undefined && (isOut || this.#pay(first.step, step))) {
        const second = await launchBeside(step, isWanted);
        this.#isUsed = true;
        if (second === undefined) this.#settle?.(undefined);
        return second;
      }
      await late.again(LOOK_AGAIN_MS);
    }
    return undefined;
  }

  /** Sets aside what a second call may cost: either of the two may be the one that is given up. */
  #pay(first: PlanStep, second: PlanStep): boolean {
    const { services, givenUpUsd } = this.#own;
    const [one, other] = [first, second].map(({ endpoint }) => givenUpUsd({ endpoint, call: UNANSWERED }));
    this.#settle = services.pacing.payHedge(one, other);
    return this.#settle !== undefined;
  }

  /** The endpoint that would be asked if the calls under way failed: one that is well, and not itself waited for. */
  #stepBeside(...flights: readonly Flight<Call, Result>[]): PlanStep | undefined {
    const { services, plan, attempts, admission } = this.#own;
    const { records, fallback } = services;
    if (attempts.length + flights.length >= fallback.maxAttempts) return undefined;
    const tried = new Set([...flights, ...attempts].map(({ step }) => step).map(({ endpoint }) => endpoint.id));
    const open = plan.steps.filter(({ endpoint }) => {
      if (tried.has(endpoint.id)) return false;
      const admitted = admission(endpoint);
      return admitted.ok && admitted.probe !== true;
    });
    const heard = open.filter(({ endpoint }) => records.silence(endpoint) > UNSUSPICIOUS);
    return heard.find(({ endpoint }) => (admission(endpoint).headroom ?? 1) >= 0) ?? heard[0] ?? open[0];
  }

  /** Waits for the first of two calls that answers, and gives up the other; both, when both endpoints turn out to hang. */
  async #firstOf(first: Flight<Call, Result>, second: Flight<Call, Result>): Promise<Answer<Call, Result> | undefined> {
    const { services, conclude, givenUpUsd } = this.#own;
    const stopLooking = this.#lookForSilence([first, second]);
    const results = [first, second].map(async (flight) => ({ flight, result: await flight.arrival.wait() }));
    const soonest = await Promise.race(results);
    stopLooking();
    const other = soonest.flight === first ? second : first;
    if (soonest.result.type === 'failed') {
      if (hasFailed(soonest.result)) this.#settle?.(undefined);
      conclude(soonest.flight, soonest.result);
      return this.#alone(other);
    }
    other.call.giveUp(SUPERSEDED);
    const left = await other.arrival.wait();
    if (left.type !== 'failed') other.call.close();
    this.#settle?.(hasFailed(left) ? undefined : { usd: givenUpUsd({ ...other.step, call: other.call }) });
    services.records.gaveUp(other.step.endpoint, this.kind, services.environment.now() - other.startedAt);
    conclude(other, { type: 'failed', failure: left.type === 'failed' ? left.failure : SUPERSEDED });
    return conclude(soonest.flight, soonest.result);
  }

  /**
   * Looks now and then whether all of these calls wait in vain, and gives them up if somebody else can be asked. The
   * result ends that.
   */
  #lookForSilence(flights: readonly Flight<Call, Result>[]): () => void {
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
      const inVain = flights.every((flight) => this.#waitsInVain(flight)) && this.#stepBeside(...flights) !== undefined;
      if (inVain) for (const { call } of flights) call.giveUp(SILENT);
      else timer = environment.setTimer(look, LOOK_AGAIN_MS);
    };
    let timer = environment.setTimer(look, LOOK_AGAIN_MS);
    return () => environment.clearTimer(timer);
  }

  /** Whether a call waits for an endpoint that hangs, or far longer than is usual there. */
  #waitsInVain(flight: Flight<Call, Result>): boolean {
    // One that nobody has ever heard of may only be slow: another one is asked, and this one goes on.
    const isSilent = this.#isSilent(flight) && this.#own.services.records.isSilent(flight.step.endpoint);
    return isSilent || this.#isOverdue(flight);
  }

  #isSilent({ step, silence }: Flight<Call, Result>): boolean {
    return this.#own.services.records.checkSilence(step.endpoint) || silence.isRaised;
  }

  /** Whether a call has waited longer than practically all calls of its endpoint take. */
  #isOverdue({ step, startedAt }: Flight<Call, Result>): boolean {
    const { environment, records, adaptive } = this.#own.services;
    const usual = records.usual(step.endpoint, this.kind);
    const longest = usual && usualLongest(usual, adaptive.speed);
    return longest !== undefined && environment.now() - startedAt > longest;
  }
}

/** Whether a call has failed by itself: a provider may go on with one that was ended from here, and charge for it. */
function hasFailed(result: CallResult<unknown>): boolean {
  return result.type === 'failed' && !ENDED_HERE.has(result.failure.kind) && result.failure !== SILENT;
}

const UNANSWERED = { reported: { usage: undefined } };
const ENDED_HERE: ReadonlySet<FailureKind> = new Set(['aborted', 'superseded']);

/** Something that happens at most once, and that others wait for. */
export class Signal {
  #isRaised = false;
  #wake: (() => void) | undefined;

  get isRaised(): boolean {
    return this.#isRaised;
  }

  raise(): void {
    this.#isRaised = true;
    this.#wake?.();
  }

  /** Called when it is raised, at once if it has been. */
  onRaise(wake: () => void): void {
    this.#wake = wake;
    if (this.#isRaised) wake();
  }
}

/** Something that comes once, and that others wait for. */
export class Arrival<Result> {
  #result: Result | undefined;
  /** Nearly always there is one who waits. */
  #listener: ((result: Result) => void) | undefined;
  #others: ((result: Result) => void)[] | undefined;

  get result(): Result | undefined {
    return this.#result;
  }

  arrive(result: Result): void {
    const [listener, others] = [this.#listener, this.#others];
    this.#result = result;
    this.#listener = this.#others = undefined;
    listener?.(result);
    if (others !== undefined) for (const other of others) other(result);
  }

  /** Called with the result, at once if it is there. */
  onArrival(listener: (result: Result) => void): void {
    if (this.#result !== undefined) listener(this.#result);
    else if (this.#listener === undefined) this.#listener = listener;
    else (this.#others ??= []).push(listener);
  }

  wait(): Promise<Result> {
    return new Promise((resolve) => this.onArrival(resolve));
  }
}

/** Waits for the result of a call, but only until it is late or its endpoint silent. */
export class LateCall<Result> {
  readonly #environment: Environment;
  readonly #arrival: Arrival<Result>;
  readonly #silence: Signal;
  readonly #delayMs: number | undefined;
  #timer: Timer | undefined;

  /** @param delayMs - Milliseconds after which it is late; undefined: only silence counts. */
  constructor(environment: Environment, arrival: Arrival<Result>, silence: Signal, delayMs: number | undefined) {
    this.#environment = environment;
    this.#arrival = arrival;
    this.#silence = silence;
    this.#delayMs = delayMs;
  }

  /** True once there is a result. */
  get isOver(): boolean {
    return this.#arrival.result !== undefined;
  }

  /** Goes on with the result, or otherwise when the call is late. */
  race<Next>(onResult: (result: Result) => Next, onLate: () => Next | Promise<Next>): Promise<Next> {
    // One promise, settled from within: nearly every request waits here.
    return new Promise((resolve, reject) => {
      let isLate = false;
      const late = (): void => {
        if (isLate || this.isOver) return;
        isLate = true;
        // Not within whatever has found out that it is late.
        resolve(Promise.resolve().then(onLate));
      };
      if (this.#delayMs !== undefined) this.#timer = this.#environment.setTimer(late, this.#delayMs);
      this.#silence.onRaise(late);
      this.#arrival.onArrival((result) => {
        this.end();
        if (isLate) return;
        try {
          resolve(onResult(result));
        } catch (error) {
          reject(error);
        }
      });
    });
  }

  /** The result, or undefined when there is none yet after so many milliseconds more, or when the endpoint is silent. */
  again(ms: number): Promise<Result | undefined> {
    this.end();
    return new Promise((resolve) => {
      const late = (): void => resolve(undefined);
      this.#arrival.onArrival(resolve);
      this.#timer = this.#environment.setTimer(late, ms);
      if (!this.#silence.isRaised) this.#silence.onRaise(late);
    });
  }

  /** Clears the timer. */
  end(): void {
    if (this.#timer !== undefined) this.#environment.clearTimer(this.#timer);
    this.#timer = undefined;
  }
}
