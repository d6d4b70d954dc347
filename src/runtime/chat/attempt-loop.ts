import type { Endpoint } from '../../catalog/endpoint.ts';
import { type Attempt, type AttemptFailure, failure } from '../../core/fallback/failure.ts';
import { coolingError, finalError } from '../../core/fallback/final-error.ts';
import { type Move, nextMove } from '../../core/fallback/next-move.ts';
import type { RoutedRequest } from '../../core/normalize/normalized-request.ts';
import type { TraceContext } from '../../core/trace-context.ts';
import { explainNoRoute } from '../../core/selection/no-route.ts';
import type { PlanStep, RoutePlan } from '../../core/selection/route-plan.ts';
import { describeRouting } from '../../core/selection/router-metadata.ts';
import type { World } from '../../core/selection/performance.ts';
import type { RouterError } from '../../protocol/router-error.ts';
import type { Provider } from '../../contracts/provider.ts';
import type { JsonValue } from '../../protocol/json.ts';
import type { RouterMetadata } from '../../protocol/metadata.ts';
import { announceAttempt } from './events.ts';
import type { AnswerFacts, AttemptAnswer, AttemptCall } from './attempt-call.ts';
import { TryAgain, untilDecided } from './retry.ts';
import { errorOfAttempts, errorOfNoRoute, errorOfUnknown, withContext } from './router-errors.ts';
import type { RuntimeServices } from './services.ts';
import { Reservation } from '../limits/reservation.ts';
import { settleAttempt } from './settle.ts';
import { wait } from '../../platform/wait.ts';

/** What an execution knows about a call that it is about to make. */
export interface Dialing<Request> {
  /** The request as it goes to this endpoint. */
  readonly request: Request;
  readonly provider: Provider;
  readonly endpoint: Endpoint;
  /** The account's own key, where the endpoint is its own. */
  readonly apiKey: string | undefined;
  /** Monotonic milliseconds at which the request's own time is over. */
  readonly deadlineAt: number;
  /** Goes with the call, so that its trace can go on at the provider. */
  readonly traceContext: TraceContext | undefined;
  readonly onSending: (body: () => JsonValue) => void;
}

/** What an execution shares with others, where it is one of several for the same request. */
export interface AttemptLoopOptions<Request> {
  /** Monotonic milliseconds at which the request's time is over. Default: `timeouts.totalMs` from now. */
  readonly deadlineAt?: number | undefined;
  /** Attempts that were made before this execution, for the numbers in events. */
  readonly attemptsBefore?: number | undefined;
  /** What the request looks like for one endpoint. Asked once for each, before its first attempt. */
  readonly prepare?: ((endpoint: Endpoint) => Request | Promise<Request>) | undefined;
}

/**
 * One request from its plan to the call that answers it. The only place where endpoints are tried one after the other;
 * what a call consists of is up to whoever dials.
 */
export class AttemptLoop<Request extends RoutedRequest, Call extends AttemptCall<Result>, Result> {
  readonly request: Request;
  readonly plan: RoutePlan;
  readonly startedAt: number;
  readonly signal: AbortSignal;
  /** Called with every body that goes upstream, when the request wants to see them. */
  onSending: ((endpoint: Endpoint, body: JsonValue) => void) | undefined;
  readonly #services: RuntimeServices;
  readonly #dial: (dialing: Dialing<Request>) => Call;
  readonly #options: AttemptLoopOptions<Request>;
  /** Requests as they go to an endpoint, where plugins change them for it. */
  readonly #prepared = new Map<string, Request>();
  readonly #deadlineAt: number;
  readonly #attempts: Attempt[] = [];
  /** What the next call, or the one under way, may cost. Absent where nobody counts. */
  readonly #reservation: Reservation | undefined;
  /** The answer that {@link AttemptLoop.run} is about to give. */
  #answer: AttemptAnswer<Call, Result> | undefined;

  constructor(
    services: RuntimeServices,
    request: Request,
    plan: RoutePlan,
    signal: AbortSignal,
    dial: (dialing: Dialing<Request>) => Call,
    options: AttemptLoopOptions<Request> = {},
  ) {
    this.#dial = dial;
    this.#options = options;
    this.request = request;
    this.plan = plan;
    this.signal = signal;
    this.#services = services;
    this.startedAt = services.environment.now();
    if (services.spending.holds(request.account)) this.#reservation = new Reservation(services.spending, request);
    this.#deadlineAt = options.deadlineAt ?? this.startedAt + services.timeouts.totalMs;
  }

  get attempts(): readonly Attempt[] {
    return this.#attempts;
  }

  get attemptsBefore(): number {
    return this.#options.attemptsBefore ?? 0;
  }

  /**
   * Tries one endpoint after the other until one answers. When that answer failed, and was settled so, before anything
   * of it was shown, this may be called again and goes on with the next.
   *
   * @throws {@link RouterError} when none does; the signal's reason when the caller goes away.
   */
  run(): Promise<AttemptAnswer<Call, Result>> {
    this.#services.budget.request();
    this.#answer = undefined;
    return untilDecided(() => this.#step(), this.signal).catch((error: unknown) => {
      // The caller may leave just when an answer is there: then nobody will ever read or settle it.
      if (this.#answer !== undefined) this.abandon(this.#answer);
      this.#reservation?.release();
      throw error;
    });
  }

  /** What the attempts so far look like from outside. */
  metadata(answered: boolean, generationTime?: number): RouterMetadata {
    const { plan, attempts } = this;
    return describeRouting({ plan, attempts, answered, generationTime, pipeline: [] });
  }

  /** Notes that the last attempt has ended, well or badly. */
  settle(
    answer: AttemptAnswer<Call, Result>,
    end: { readonly facts: AnswerFacts } | { readonly failure: AttemptFailure },
  ): Attempt {
    const attempt = this.#attempts.pop();
    if (attempt === undefined) throw new RangeError('an answer belongs to an attempt');
    const outcome = 'failure' in end ? { ok: false as const, failure: end.failure } : OK;
    const settled: Attempt = { ...attempt, endedAt: this.#services.environment.now(), outcome };
    this.#attempts.push(settled);
    this.#reservation?.settle(answer, end);
    settleAttempt(this.#services, this, settled, answer, 'facts' in end ? end.facts : undefined);
    return settled;
  }

  /** Frees an answer that nobody wants any more, and notes that its caller went away. */
  abandon(answer: AttemptAnswer<Call, Result>): void {
    answer.call.close();
    this.settle(answer, { failure: failure('aborted', 'The caller went away') });
  }

  /**
   * Asks the core what to do, waiting first if it says so and asking again afterwards, and does it. Between the last
   * question and the call nothing else may run: the answer depends on what other requests are doing.
   */
  async #step(): Promise<AttemptAnswer<Call, Result>> {
    let move = this.#nextMove(false);
    if (move.type === 'attempt' && move.waitMs > 0) {
      await wait(this.#services.environment, move.waitMs, this.signal);
      this.signal.throwIfAborted();
      move = this.#nextMove(true);
    }
    while (move.type === 'attempt' && this.#options.prepare !== undefined && !this.#isPrepared(move.step)) {
      await this.#prepare(move.step.endpoint, this.#options.prepare);
      move = this.#nextMove(false);
      if (move.type === 'attempt' && move.waitMs > 0) return this.#step();
    }
    while (move.type === 'attempt' && this.#reservation?.covers(move.step.endpoint) === false) {
      await this.#reserve(this.#reservation, move.step.endpoint);
      move = this.#nextMove(false);
      if (move.type === 'attempt' && move.waitMs > 0) return this.#step();
    }
    if (move.type === 'stop') throw this.#give(move);
    return this.#attempt(move.step);
  }

  #isPrepared({ endpoint }: PlanStep): boolean {
    return this.#prepared.has(endpoint.id);
  }

  /** Lets plugins change the request for an endpoint. Other requests run meanwhile, so the core is asked again after. */
  async #prepare(endpoint: Endpoint, prepare: NonNullable<AttemptLoopOptions<Request>['prepare']>): Promise<void> {
    this.#prepared.set(endpoint.id, await prepare(endpoint));
    this.signal.throwIfAborted();
  }

  /** Reserves what a call can cost. */
  async #reserve(reservation: Reservation, endpoint: Endpoint): Promise<void> {
    try {
      await reservation.make(endpoint, this.#prepared.get(endpoint.id) ?? this.request);
    } catch (error) {
      const context = { routerMetadata: this.metadata(false), generationId: this.request.id };
      throw withContext(errorOfUnknown(error), context);
    }
    this.signal.throwIfAborted();
  }

  #nextMove(waited: boolean): Move {
    const { environment, fallback, records, budget } = this.#services;
    const move = nextMove(this.plan, this.#attempts, {
      policy: fallback,
      now: environment.now(),
      deadlineAt: this.#deadlineAt,
      admission: records.admission,
      mayRepeat: budget.mayRepeat(),
      waited,
      roll: environment.random(),
    });
    return move;
  }

  async #attempt(step: PlanStep): Promise<AttemptAnswer<Call, Result>> {
    const { environment, records, providers, budget } = this.#services;
    const { endpoint } = step;
    const provider = providers.get(endpoint.provider);
    if (provider === undefined) throw new RangeError(`no provider "${endpoint.provider}"`);
    if (this.#attempts.some((attempt) => attempt.step.endpoint.id === endpoint.id)) budget.repetition();
    const generation = records.started(endpoint);
    const startedAt = environment.now();
    const call = this.#dial({
      request: this.#prepared.get(endpoint.id) ?? this.request,
      provider,
      endpoint,
      apiKey: endpoint.byok && this.request.account.providerKeys?.[endpoint.provider]?.apiKey,
      deadlineAt: this.#deadlineAt,
      traceContext: announceAttempt(this.#services, this, endpoint),
      onSending: (body) => this.onSending?.(endpoint, body()),
    });
    const opened = await call.open();
    const endedAt = environment.now();
    this.#attempts.push({ step, startedAt, endedAt, outcome: OK });
    const answer = { endpoint, call, startedAt, generation, firstTokenAt: endedAt };
    if (opened.type !== 'failed' && opened.withheld === true && this.#hasOtherModel(endpoint)) {
      call.close();
      this.settle(answer, { failure: failure('content_policy', 'A content filter kept the whole answer back') });
      throw new TryAgain();
    }
    if (opened.type === 'whole') return (this.#answer = { ...answer, result: opened.result });
    if (opened.type === 'committed') return (this.#answer = { ...answer, firstTokenAt: opened.firstTokenAt });
    this.settle(answer, { failure: opened.failure });
    this.signal.throwIfAborted();
    throw new TryAgain();
  }

  /** Whether a model is left that was not asked yet. */
  #hasOtherModel({ model }: Endpoint): boolean {
    const asked = new Set(this.#attempts.map(({ step }) => step.endpoint.model));
    return this.plan.steps.some(({ endpoint }) => endpoint.model !== model && !asked.has(endpoint.model));
  }

  #give(move: Extract<Move, { type: 'stop' }>): RouterError {
    const { docsUrl, records } = this.#services;
    const context = { routerMetadata: this.metadata(false), generationId: this.request.id };
    if (this.plan.steps.length === 0) {
      return errorOfNoRoute(explainNoRoute(this.plan, this.request, docsUrl), context);
    }
    if (this.#attempts.length === 0 && move.reason === 'exhausted') {
      return errorOfAttempts(coolingError(this.plan, records.admission, docsUrl), context);
    }
    const { allowFallbacks } = this.request.preferences;
    return errorOfAttempts(finalError(this.plan, this.#attempts, move.reason, { allowFallbacks, docsUrl }), context);
  }
}

/** The world as it is now, for planning. */
export function worldOf(services: RuntimeServices, sticky?: string, roll?: number): World {
  const { environment, records, selection } = services;
  return {
    record: records.record,
    sticky,
    now: environment.now(),
    roll: roll ?? environment.random(),
    policy: selection,
  };
}

const OK = { ok: true } as const;
