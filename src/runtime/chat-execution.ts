import type { Endpoint } from '../catalog/endpoint.ts';
import type { Attempt } from '../core/fallback/attempt.ts';
import { type AttemptFailure, failure } from '../core/fallback/failure.ts';
import { coolingError, finalError } from '../core/fallback/final-error.ts';
import { type Move, nextMove } from '../core/fallback/next-move.ts';
import type { NormalizedRequest } from '../core/normalize/normalized-request.ts';
import { explainNoRoute } from '../core/selection/no-route.ts';
import { planRoute } from '../core/selection/plan-route.ts';
import type { PlanStep, RoutePlan } from '../core/selection/route-plan.ts';
import { describeRouting } from '../core/selection/router-metadata.ts';
import type { ReportedUsage } from '../core/stream/pieces.ts';
import { settleUsage } from '../core/stream/usage.ts';
import type { RouterError } from '../errors.ts';
import type { JsonValue } from '../protocol/json.ts';
import type { RouterMetadata } from '../protocol/metadata.ts';
import type { Usage } from '../protocol/usage.ts';
import type { Answer, Execution } from './execution.ts';
import { TryAgain, untilDecided } from './retry.ts';
import { errorOfAttempts, errorOfNoRoute } from './router-errors.ts';
import type { RuntimeServices } from './services.ts';
import { type AnswerFacts, settleAttempt } from './settle.ts';
import { UpstreamCall } from './upstream-call.ts';
import { valueWithin, wait } from './wait.ts';

/** What an execution shares with others, where it is one of several for the same request. */
export interface ExecutionOptions {
  /** Monotonic milliseconds at which the request's time is over. Default: `timeouts.totalMs` from now. */
  readonly deadlineAt?: number | undefined;
  /** Attempts that were made before this execution, for the numbers in events. */
  readonly attemptsBefore?: number | undefined;
  /** What the request looks like for one endpoint. Asked once for each, before its first attempt. */
  readonly prepare?: ((endpoint: Endpoint) => NormalizedRequest | Promise<NormalizedRequest>) | undefined;
}

/** One chat request from its plan to the call that answers it. */
export class ChatExecution implements Execution {
  readonly request: NormalizedRequest;
  readonly plan: RoutePlan;
  readonly startedAt: number;
  readonly signal: AbortSignal;
  onSending: ((endpoint: Endpoint, body: JsonValue) => void) | undefined;
  readonly #services: RuntimeServices;
  readonly #deadlineAt: number;
  readonly #options: ExecutionOptions;
  /** Requests as they go to an endpoint, where plugins change them for it. */
  readonly #prepared = new Map<string, NormalizedRequest>();
  readonly #attempts: Attempt[] = [];
  /** The answer that {@link ChatExecution.run} is about to give. */
  #answer: Answer | undefined;

  constructor(
    services: RuntimeServices,
    request: NormalizedRequest,
    plan: RoutePlan,
    signal: AbortSignal,
    options: ExecutionOptions = {},
  ) {
    this.#options = options;
    this.request = request;
    this.plan = plan;
    this.signal = signal;
    this.#services = services;
    this.startedAt = services.environment.now();
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
  run(): Promise<Answer> {
    this.#services.budget.request();
    this.#answer = undefined;
    return untilDecided(() => this.#step(), this.signal).catch((error: unknown) => {
      // The caller may leave just when an answer is there: then nobody will ever read or settle it.
      if (this.#answer !== undefined) this.abandon(this.#answer);
      throw error;
    });
  }

  /** What the attempts so far look like from outside. */
  metadata(answered: boolean, generationTime?: number): RouterMetadata {
    const { plan, attempts } = this;
    return describeRouting({ plan, attempts, answered, generationTime, pipeline: [] });
  }

  usage(answer: Answer, reported: ReportedUsage | undefined, likelyTokens: number): Usage {
    const { promptTokens, images } = this.request.needs;
    const estimate = { promptTokens: promptTokens * 2, completionTokens: likelyTokens, images };
    return settleUsage(answer.endpoint, reported, estimate).usage;
  }

  /** Notes that the last attempt has ended, well or badly. */
  settle(answer: Answer, end: { readonly facts: AnswerFacts } | { readonly failure: AttemptFailure }): Attempt {
    const attempt = this.#attempts.pop();
    if (attempt === undefined) throw new RangeError('an answer belongs to an attempt');
    const outcome = 'failure' in end ? { ok: false as const, failure: end.failure } : OK;
    const settled: Attempt = { ...attempt, endedAt: this.#services.environment.now(), outcome };
    this.#attempts.push(settled);
    settleAttempt(this.#services, this, settled, answer, 'facts' in end ? end.facts : undefined);
    return settled;
  }

  /** Frees an answer that nobody wants any more, and notes that its caller went away. */
  abandon(answer: Answer): void {
    answer.call.close();
    this.settle(answer, { failure: failure('aborted', 'The caller went away') });
  }

  /**
   * Asks the core what to do, waiting first if it says so and asking again afterwards, and does it. Between the last
   * question and the call nothing else may run: the answer depends on what other requests are doing.
   */
  async #step(): Promise<Answer> {
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
    if (move.type === 'stop') throw this.#give(move);
    return this.#attempt(move.step);
  }

  #isPrepared({ endpoint }: PlanStep): boolean {
    return this.#prepared.has(endpoint.id);
  }

  /** Lets plugins change the request for an endpoint. Other requests run meanwhile, so the core is asked again after. */
  async #prepare(endpoint: Endpoint, prepare: NonNullable<ExecutionOptions['prepare']>): Promise<void> {
    this.#prepared.set(endpoint.id, await prepare(endpoint));
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

  async #attempt(step: PlanStep): Promise<Answer> {
    const { environment, timeouts, records, providers, budget } = this.#services;
    const { endpoint } = step;
    const provider = providers.get(endpoint.provider);
    if (provider === undefined) throw new RangeError(`no provider "${endpoint.provider}"`);
    if (this.#attempts.some((attempt) => attempt.step.endpoint.id === endpoint.id)) budget.repetition();
    const generation = records.started(endpoint);
    const startedAt = environment.now();
    const call = new UpstreamCall({
      environment,
      timeouts,
      deadlineAt: this.#deadlineAt,
      signal: this.signal,
      provider,
      call: {
        request: this.#prepared.get(endpoint.id) ?? this.request,
        endpoint,
        apiKey: endpoint.byok && this.request.account.providerKeys?.[endpoint.provider]?.apiKey,
      },
      onSending: (body) => this.onSending?.(endpoint, body()),
    });
    const opened = await call.open();
    const endedAt = environment.now();
    this.#attempts.push({ step, startedAt, endedAt, outcome: OK });
    const answer = { endpoint, call, startedAt, generation, firstTokenAt: endedAt };
    if (opened.type === 'whole') return (this.#answer = { ...answer, result: opened.result });
    if (opened.type === 'committed') return (this.#answer = { ...answer, firstTokenAt: opened.firstTokenAt });
    this.settle(answer, { failure: opened.failure });
    this.signal.throwIfAborted();
    throw new TryAgain();
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
    return errorOfAttempts(finalError(this.plan, this.#attempts, move.reason, { allowFallbacks }), context);
  }
}

/** What is known already when a request is planned. */
interface KnownBefore {
  readonly roll?: number | undefined;
  /** Endpoint that the session sticks to, or undefined if there is none. Left out: it is looked up. */
  readonly sticky?: string | undefined;
}

/** Plans a request on the world as it is now. */
export async function planRequest(
  services: RuntimeServices,
  request: NormalizedRequest,
  known: KnownBefore = {},
): Promise<RoutePlan> {
  const { environment, records, selection } = services;
  const found = 'sticky' in known ? known.sticky : stickyEndpoint(services, request);
  return planRoute(request, {
    record: records.record,
    sticky: found instanceof Promise ? await found : found,
    now: environment.now(),
    roll: known.roll ?? environment.random(),
    policy: selection,
  });
}

/** The endpoint that a request's session sticks to, if the store tells in time. */
export function stickyEndpoint(
  { environment, sticky }: RuntimeServices,
  request: NormalizedRequest,
): Promise<string | undefined> | string | undefined {
  const found = sticky.find(request);
  return found instanceof Promise ? valueWithin(environment, found, STICKY_WAIT_MS) : found;
}

const OK = { ok: true } as const;

/** A store that takes longer than this many milliseconds is not worth waiting for: stickiness only saves money. */
const STICKY_WAIT_MS = 250;
