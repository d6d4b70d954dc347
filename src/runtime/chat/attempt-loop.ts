import type { AttemptCall, AttemptedCall, LoopStart, CallEnd, CallResult, Dialing } from './attempt-call.ts';
import type { Endpoint } from '../../catalog/endpoint.ts';
import type { Admission, EndpointHealth } from '../../core/fallback/health.ts';
import { isGone, repetitionShare } from '../../core/fallback/throttle.ts';
import { type AttemptMove, firstMove, type Move, nextMove, type GiveUpReason } from '../../core/fallback/next-move.ts';
import type { RoutedRequest } from '../../contracts/request.ts';
import { doubtedOf } from '../../core/fallback/request-texts.ts';
import { unknownProviders } from '../../core/normalize/unknown-providers.ts';
import type { TokenCalibration } from '../../core/tokens/likely-tokens.ts';
import type { PlanStep, RoutePlan } from '../../core/selection/route-plan.ts';
import { describeRouting } from '../../core/selection/router-metadata.ts';
import { type Settlement, withGivenUp, givenUpUsd, lostOnHedge, lostOnHedges } from '../../core/stream/billing.ts';
import type { RouterError } from '../../protocol/router-error.ts';
import type { JsonValue } from '../../protocol/json.ts';
import type { RouterMetadata } from '../../protocol/metadata.ts';
import { announceAttempt, announceFirstToken } from '../events/announce.ts';
import { warn } from '../events/events.ts';
import { timeoutsOf } from './call-watch.ts';
import { type CallReason, expectedWork, likelyTokens, RunningAttempt } from './running-attempt.ts';
import { joinedAdjustments, learnFromAnswer, readRefusal, refusingCall } from '../endpoints/refused-calls.ts';
import { Hedging, lateAfterMs } from './hedging.ts';
import { errorOfUnknown, withContext } from './router-errors.ts';
import type { RuntimeServices } from './services.ts';
import type { SharedSlot } from '../endpoints/shared-limits.ts';
import { RequestFailures } from '../endpoints/request-failures.ts';
import { Reservation } from '../limits/spending.ts';
import { accountOf, settleAttempt } from './settle.ts';
import type { IntendedCall } from '../endpoints/record-policies.ts';
import { RequestWaits } from './request-waits.ts';
import { onDemand } from '../../platform/wait.ts';
import { isLimited } from '../../core/selection/adaptive/endpoint-room.ts';
import { mayHedge } from '../../core/selection/adaptive/hedge.ts';
import { type Attempt, hasOtherModel } from '../../core/fallback/attempt.ts';
import { type Answer, CalledAnswer, calledAt, OK, refusalCategory, type RequestOutcome, WITHHELD } from './answer.ts';
import { RequestSlots } from '../endpoints/request-slots.ts';
import type { Continuation } from '../../contracts/failure.ts';

/**
 * One request from its plan to the call that answers it. The only place where endpoints are tried one after the other;
 * what a call consists of is up to its kind.
 */
export abstract class AttemptLoop<Request extends RoutedRequest, Call extends AttemptCall<Result>, Result> {
  readonly request: Request;
  /** Loses the endpoints that turn out to be more than a budget can pay. */
  plan: RoutePlan;
  readonly startedAt: number;
  readonly signal: AbortSignal;
  /** Called with every body that goes upstream, when the request wants to see them. */
  onSending: ((endpoint: Endpoint, body: JsonValue) => void) | undefined;
  protected readonly services: RuntimeServices;
  readonly #start: LoopStart<Request>;
  /** Requests as they go to an endpoint, where plugins change them for it. */
  #prepared: Map<string, Request> | undefined;
  #deadlineAt: number;
  readonly attempts: readonly Attempt[];
  readonly #attempts: Attempt[] = [];
  /** What the next call, or the one under way, may cost. Absent where nobody counts. */
  readonly #reservation: Reservation | undefined;
  /** What a call costs that is made beside another one. */
  #hedgeReservations: Map<Call, Reservation> | undefined;
  /** How endpoints count tokens whose calls may have to be paid without an answer. */
  #calibrations: Map<string, TokenCalibration | undefined> | undefined;
  /** Places of calls at endpoints with declared limits. Absent where none of the plan declares any. */
  readonly #slots: RequestSlots<Call> | undefined;
  /** Absent until it waits for something. */
  #waits: RequestWaits | undefined;
  /** What failures have left at endpoints, as long as they may turn out to be the fault of this request. */
  #counted: RequestFailures | undefined;
  #hedging: Hedging<Call, Result> | undefined;

  constructor(services: RuntimeServices, start: LoopStart<Request>) {
    const { request, plan, signal, deadlineAt } = start;
    this.#start = start;
    this.request = request;
    this.plan = plan;
    this.signal = signal;
    this.attempts = this.#attempts;
    this.services = services;
    this.startedAt = services.environment.now();
    if (services.spending.holds(request.account)) this.#reservation = new Reservation(services, request);
    this.#deadlineAt = deadlineAt ?? this.startedAt + services.timeouts.totalMs;
    if (plan.steps.some(({ endpoint }) => isLimited(endpoint))) {
      this.#slots = new RequestSlots(services, (endpoint) => likelyTokens(services, request, endpoint));
    }
  }

  /** Makes a call of the kind that is requested. */
  protected abstract dial(dialing: Dialing<Request>): Call;

  /** What an answer used and cost, as far as it was read. */
  abstract bill(made: AttemptedCall<Call, Result>): Settlement;

  /**
   * Asks the core what to do, and does it: tries one endpoint after the other until one answers. When that answer
   * failed, and was settled so, before anything of it was shown, this may be called again and goes on with the next.
   *
   * @throws {@link RouterError} when none does; the signal's reason when the client disconnects.
   */
  async next(): Promise<Answer<Call, Result>> {
    const { environment, pacing } = this.services;
    pacing.request(this.request.account.id, environment.now());
    try {
      let answer: Answer<Call, Result> | undefined;
      let waitedMs = 0;
      // What comes before a call takes time, so the core decides again after it: until the call nothing else may run.
      while (answer === undefined) {
        this.signal.throwIfAborted();
        const move = this.#nextMove(waitedMs);
        if (move.type === 'stop') throw await this.#stopped(move.reason);
        waitedMs = move.waitMs;
        const first = this.#before(move);
        if (first === undefined) answer = await this.#attempt(move);
        else await first;
        if (answer === undefined) await readRefusal(this.request, this.#attempts, this.#prepared);
      }
      if (this.signal.aborted) answer.abandon();
      this.signal.throwIfAborted();
      return answer;
    } catch (error) {
      this.#reservation?.release();
      this.#slots?.releaseNext();
      this.#waits?.end();
      // Whatever else went wrong: a client that disconnected is told of that.
      this.signal.throwIfAborted();
      throw error;
    }
  }

  /** Gives the next calls as much time as the first had: what a stream has shown is progress. */
  protected giveTime(): void {
    const { environment, timeouts } = this.services;
    this.#deadlineAt = Math.max(this.#deadlineAt, environment.now() + timeouts.totalMs);
  }

  /** What must come before a call, if anything. */
  #before(move: AttemptMove): Promise<void> | undefined {
    const { step, waitMs } = move;
    if (waitMs > 0) return this.#waiting().before(move);
    const prepared = this.#start.prepare && this.#prepare(step);
    if (prepared !== undefined) return prepared;
    if (this.#reservation?.covers(step.endpoint) === false) return this.#reserve(step);
    return this.#slots?.covers(step.endpoint) === false ? this.#slots.takeNext(step.endpoint) : undefined;
  }

  /** What the attempts so far look like from outside. */
  metadata(outcome: RequestOutcome, generationTime?: number): RouterMetadata {
    const { plan, attempts, request, services } = this;
    const warnings = unknownProviders(request.preferences, services.facts.catalog);
    const answered = outcome === 'answered';
    return describeRouting({ plan, attempts, answered, generationTime, pipeline: [], warnings });
  }

  /** What an answer used and cost, with what was lost on calls beside it. */
  billed(made: AttemptedCall<Call, Result>): Settlement {
    const own = this.bill(made);
    return this.#attempts.length === 1 ? own : withGivenUp(own, lostOnHedges(this.#attempts));
  }

  /** Notes that the last attempt has ended, well or badly. */
  ended(answer: AttemptedCall<Call, Result>, end: CallEnd, continued?: Continuation): Attempt {
    const isFailure = 'failure' in end;
    const { refusals } = this.services.records;
    const made = isFailure ? { ...answer, tokens: this.#tokensOf(answer.endpoint) } : answer;
    const attempt = this.#attempts.pop();
    if (attempt === undefined) throw new RangeError('an answer belongs to an attempt');
    const reserved = (this.#hedgeReservations?.get(made.call) ?? this.#reservation)?.settle(made, end);
    const { firstTokenAt, usage, chargedNanoUsd } = accountOf(this.services, this.request, made, { end, reserved });
    // Member by member: every answer comes by here, and a literal is slow where something follows a spread.
    const ended: Attempt = {
      step: attempt.step,
      startedAt: attempt.startedAt,
      endedAt: this.services.environment.now(),
      outcome: isFailure ? { ok: false, failure: calledAt(doubtedOf(end.failure, this.request), made.call) } : OK,
      hedge: attempt.hedge,
      lastResort: attempt.lastResort,
      adjustments: attempt.adjustments,
      costUsd: isFailure ? lostOnHedge(made, this.request, end.failure) : undefined,
      firstTokenAt,
      usage,
      chargedNanoUsd,
      refusal: refusalCategory(made, end),
      kept: isFailure && end.kept !== undefined ? true : undefined,
      continued,
    };
    this.#attempts.push(ended);
    const facts = isFailure ? undefined : end.facts;
    this.#slots?.end(made.call, made.endpoint, made.startedAt, facts?.usage.total_tokens);
    const sent = this.#asFor(made.endpoint);
    const counted = settleAttempt(this.services, this.request, { made, attempt: ended, facts, sent }, this.#counted);
    if (!isFailure && (this.#attempts.length > 1 || !refusals.isEmpty))
      for (const warning of learnFromAnswer(refusals, this, made, ended.endedAt)) warn(this.services.events, warning);
    if (counted !== undefined) (this.#counted ??= new RequestFailures()).note(made.endpoint, counted);
    return ended;
  }

  /** How an endpoint counts the account's tokens: asked once, so that what is set aside for a call is what it costs in the end. */
  #tokensOf(endpoint: Endpoint): TokenCalibration | undefined {
    const known = (this.#calibrations ??= new Map());
    const { counts } = this.services.records;
    if (!known.has(endpoint.id)) known.set(endpoint.id, counts.of(endpoint, this.request.account.id));
    return known.get(endpoint.id);
  }

  /** Lets plugins change the request for an endpoint, unless they did. */
  #prepare({ endpoint }: PlanStep): Promise<void> | undefined {
    const { prepare } = this.#start;
    if (prepare === undefined || this.#prepared?.has(endpoint.id) === true) return undefined;
    const prepared = (this.#prepared ??= new Map<string, Request>());
    return Promise.resolve(prepare(endpoint)).then((request) => void prepared.set(endpoint.id, request));
  }

  /** The request as it goes to an endpoint. */
  #asFor({ id }: Endpoint): Request {
    return this.#prepared?.get(id) ?? this.request;
  }

  /** Reserves what a call can cost. An endpoint that the budgets cannot pay is none of the plan any more. */
  async #reserve({ endpoint }: PlanStep): Promise<void> {
    try {
      const affordable = await this.#reservation?.makeWithin(this.plan, endpoint, this.#asFor(endpoint));
      if (affordable !== undefined) this.plan = affordable;
      if (affordable?.steps.length === 0) this.#reservation?.refuse();
    } catch (error) {
      throw withContext(errorOfUnknown(error), this.#errorContext());
    }
  }

  #nextMove(waitedMs: number): Move {
    const { environment, fallback: policy, pacing, records } = this.services;
    const now = environment.now();
    // Drawn for every move, so that the same seed gives the same decisions.
    const roll = environment.random();
    const begin = { policy, now, deadlineAt: this.#deadlineAt, admission: this.#admission, roll };
    const first = this.#attempts.length === 0 && waitedMs === 0 ? firstMove(this.plan, begin) : undefined;
    if (first !== undefined) return first;
    const waits = this.#waiting();
    const perSecond = (): number => this.plan.steps.reduce((sum, { endpoint }) => sum + records.rate(endpoint), 0);
    const healthAt = (step: PlanStep): EndpointHealth | undefined => records.record(step.endpoint)?.health;
    return nextMove(this.plan, this.#attempts, {
      ...begin,
      mayRepeat: (step) => environment.random() < repetitionShare(healthAt(step), now),
      isGone: (step) => isGone(healthAt(step), now),
      answeredSince: records.answeredSince,
      holdMs: waits.holdMs,
      waited: waitedMs > 0,
      slotWaitMs: pacing.slotWaitMs(this.request.account.id, waits.forSlotMs, perSecond),
      warmWaitMs: pacing.warmWaitMs(this.request.account.id, waits.forSlotMs),
      promised: waits.promised,
      mayRetryRefusal: !records.isExhausted(this.#attempts) || pacing.mayRetryRefusal(this.request.account.id),
      returnRefusals: this.request.preferences.returnRefusals,
    });
  }

  /** Whether an endpoint may be called for this request. */
  readonly #admission = ({ endpoint }: PlanStep): Admission => {
    const admitted = this.services.records.admission(endpoint, this.#intended(endpoint));
    return admitted.ok && (admitted.headroom ?? 1) < 0 ? this.#waiting().inOrder(admitted) : admitted;
  };

  #waiting(): RequestWaits {
    return (this.#waits ??= new RequestWaits(this.services, this.request.account.id, this.signal));
  }

  /** The call of an endpoint that it would make. */
  #intended(endpoint: Endpoint): IntendedCall {
    const { id: account } = this.request.account;
    return { tokens: likelyTokens(this.services, this.request, endpoint), promisedAt: this.#waits?.promised, account };
  }

  /** Makes one call, and perhaps a second one beside it: gives the answer, or undefined when none came. */
  #attempt({ step, isProbe, isLastResort = false }: AttemptMove): Promise<Answer<Call, Result> | undefined> {
    const { environment, pacing, hedge, records } = this.services;
    if (records.isExhausted(this.#attempts)) pacing.retryRefusal(this.request.account.id);
    const why = { isProbe: isProbe === true, hedge: false, isLastResort };
    const running = this.#launch(step, why, this.#slots?.useNext());
    if (this.#hedging?.isUsed === true) return this.#hedging.alone(running);
    const conclude = (result: CallResult<Result>) => this.#conclude(running, result);
    if (this.plan.steps.length === 1 || !mayHedge(hedge, this.request)) return running.outcome(conclude);
    const lateMs = lateAfterMs(this.services, running, 'may_hang');
    return running.race(environment, lateMs, conclude, () => this.#besides().beside(running));
  }

  /** What makes a call beside one that is late. */
  #besides(): Hedging<Call, Result> {
    return (this.#hedging ??= new Hedging({
      request: this.request,
      steps: () => this.plan.steps,
      signal: this.signal,
      services: this.services,
      attempts: this.#attempts,
      admission: this.#admission,
      givenUpUsd: (call) => givenUpUsd({ ...call, tokens: this.#tokensOf(call.endpoint) }, this.request),
      launchBeside: (step, isWanted) => this.#launchBeside(step, isWanted),
      conclude: (running, opened) => this.#conclude(running, opened),
    }));
  }

  /** Sends a call on its way. */
  #launch(step: PlanStep, reason: CallReason, shared: SharedSlot | undefined): RunningAttempt<Call, Result> {
    const { environment, records, providers, timeouts, events } = this.services;
    const { endpoint } = step;
    const provider = providers.get(endpoint.provider);
    if (provider === undefined) throw new RangeError(`no provider "${endpoint.provider}"`);
    const startedAt = environment.now();
    const { generation, onLimits, load } = records.started(endpoint, startedAt, this.#intended(endpoint));
    this.#waits?.end(endpoint.id);
    const attempt = (this.#start.attemptsBefore ?? 0) + this.#attempts.length + (reason.hedge ? 2 : 1);
    const begun = { step, attempt, hedge: reason.hedge };
    const limits = timeoutsOf(timeouts, provider, endpoint);
    const refusing = refusingCall(records.refusals, this, endpoint, startedAt);
    const call = this.dial({
      environment,
      signal: this.signal,
      timeouts: limits,
      request: this.#asFor(endpoint),
      provider,
      endpoint: refusing?.endpoint ?? endpoint,
      apiKey: endpoint.byok && this.request.account.providerKeys?.[endpoint.provider]?.apiKey,
      deadlineAt: this.#deadlineAt,
      holdsRefusals: this.plan.steps.length > 1 && !this.request.preferences.returnRefusals,
      isWaitedFor: () => this.#besides().isWaitedFor(running, load.lastSuccessAt),
      traceContext: events.isHeard ? announceAttempt(this.services, this.request, begun) : undefined,
      onSending: this.onSending === undefined ? ignore : (body) => this.onSending?.(endpoint, body()),
      onLimits,
    });
    this.#slots?.begin(call, endpoint, shared);
    const patience = Math.max(1, (this.request.stream ? limits.firstTokenMs : limits.answerMs) / timeouts.firstTokenMs);
    const { tokens, spared } = expectedWork(this.services, this.request, step.figures?.warmth);
    const kind = this.request.stream ? 'streaming' : 'whole';
    const sent = { startedAt, generation, attempt, kind, patience, tokens, spared, refusing } as const;
    const running = new RunningAttempt<Call, Result>(step, call, reason, sent);
    load.waiting(running);
    call.open((result) => {
      const now = environment.now();
      records.waited(endpoint, running, result.type === 'failed' ? 'failed' : 'answered', now);
      running.arrive(result, now);
    });
    return running;
  }

  /** Launches a second call after what must come before it. When that goes wrong, the first goes on alone. */
  async #launchBeside(step: PlanStep, isWanted: () => boolean): Promise<RunningAttempt<Call, Result> | undefined> {
    const reservation = this.#reservation && new Reservation(this.services, this.request);
    try {
      await this.#prepare(step);
      if ((await reservation?.make(step.endpoint, this.#asFor(step.endpoint))) !== undefined) return undefined;
    } catch {
      return undefined;
    }
    const slot = this.#slots?.covers(step.endpoint) === false ? await this.#slots.take(step.endpoint) : undefined;
    const admission = this.#admission(step);
    if (!isWanted() || !admission.ok) {
      reservation?.release();
      slot?.release('nothing');
      return undefined;
    }
    const running = this.#launch(step, { isProbe: admission.probe === true, hedge: true, isLastResort: false }, slot);
    if (reservation !== undefined) (this.#hedgeReservations ??= new Map()).set(running.call, reservation);
    return running;
  }

  /** Notes what became of a call: its answer, or undefined when it failed and was settled so. */
  #conclude(running: RunningAttempt<Call, Result>, opened: CallResult<Result>): Answer<Call, Result> | undefined {
    const { step, call, reason, startedAt, arrivedAt: endedAt, refusing } = running;
    const adjustments = refusing ? joinedAdjustments(refusing.adjustments, call.adjustments) : call.adjustments;
    const hedge = reason.hedge || undefined;
    const lastResort = reason.isLastResort || undefined;
    this.#attempts.push({ step, startedAt, endedAt, outcome: OK, hedge, lastResort, adjustments });
    const isWithheld = opened.type !== 'failed' && opened.withheld && !this.request.preferences.returnRefusals;
    const isPassedOver = isWithheld === true && hasOtherModel(this.plan, this.#attempts, step.endpoint);
    const answer = isPassedOver || opened.type === 'failed' ? undefined : opened;
    const made = running.made(answer);
    if (answer === undefined) {
      if (isPassedOver) call.close();
      this.ended(made, { failure: opened.type === 'failed' ? opened.failure : WITHHELD });
      return undefined;
    }
    if (answer.type === 'committed' && this.services.events.isHeard) announceFirstToken(this.services, this, made);
    return new CalledAnswer(this, made);
  }

  /** The error of a request for which nothing more is tried. What only it has met is not held against endpoints. */
  async #stopped(reason: GiveUpReason): Promise<RouterError> {
    const { docsUrl, facts, records } = this.services;
    const { errorOfStop } = await loadStopped();
    if (this.#counted !== undefined) records.excuse(this.#counted);
    const { request, plan, attempts } = this;
    const world = { catalog: facts.catalog, admission: this.#admission, lately: records.endedLately, docsUrl };
    return errorOfStop({ request, plan, attempts, ...world }, reason, this.#errorContext());
  }

  #errorContext(): { readonly routerMetadata: RouterMetadata; readonly generationId: string } {
    return { routerMetadata: this.metadata('failed'), generationId: this.request.id };
  }
}

function ignore(): void {}

const loadStopped = onDemand(() => import('./stopped-request.ts'));
