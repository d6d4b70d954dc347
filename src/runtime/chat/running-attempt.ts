/** One call under way, as the attempt loop waits for it, and how much its endpoint likely computes for it. */
import type { Endpoint } from '../../catalog/endpoint.ts';
import type { RoutedRequest } from '../../contracts/request.ts';
import { calibrated } from '../../core/tokens/likely-tokens.ts';
import { likelyPromptTokens } from '../../core/tokens/token-estimate.ts';
import { PER_ANSWER_TOKEN, roughPromptTokens } from '../../core/selection/adaptive/expected-cost.ts';
import { ANSWER_TOKENS } from '../../core/selection/adaptive/rank-adaptive.ts';
import type { PlanStep } from '../../core/selection/route-plan.ts';
import type { Environment, Timer } from '../../platform/environment.ts';
import type { AttemptedCall, CallResult } from './attempt-call.ts';
import type { RuntimeServices } from './services.ts';
import type { RefusingCall } from '../endpoints/refused-calls.ts';
import type { RunningCall } from '../endpoints/endpoint-load.ts';
import type { TimedKind } from '../../core/selection/adaptive/speed.ts';

/** The result of a call that answered. */
type CallAnswer<Result> = Exclude<CallResult<Result>, { readonly type: 'failed' }>;

/** Why a call is made. */
export interface CallReason {
  /** True when it was made although an earlier call had not failed. */
  readonly hedge: boolean;
  /** True when it finds out whether an endpoint that was out is back. */
  readonly isProbe: boolean;
  /** True when its endpoint was left alone. */
  readonly isLastResort: boolean;
}

/** A call under way: how it comes out, and whether its endpoint hangs meanwhile. */
export class RunningAttempt<Call, Result> implements RunningCall {
  readonly step: PlanStep;
  readonly call: Call;
  readonly reason: CallReason;
  readonly startedAt: number;
  /** Breaker generation that the call belongs to. */
  readonly generation: number;
  /** Number of the attempt in the request, counted from 1. */
  readonly attempt: number;
  readonly kind: TimedKind;
  readonly patience: number;
  readonly tokens: number;
  readonly spared: number;
  /** How it is called without words that were refused. Undefined for a call like any other. */
  readonly refusing: RefusingCall | undefined;
  index = -1;
  among = 0;
  work = 0;
  mostWork = 0;
  isAccepted = false;
  /** When its result came; its start until then. */
  arrivedAt: number;
  #result: CallResult<Result> | undefined;
  /** Nearly always there is one who waits for the result. */
  #listener: ((result: CallResult<Result>) => void) | undefined;
  #others: ((result: CallResult<Result>) => void)[] | undefined;
  #isSilent = false;
  /** Called when the call is late, or its endpoint turns out to hang. */
  #onLate: (() => void) | undefined;
  #timer: Timer | undefined;

  constructor(step: PlanStep, call: Call, reason: CallReason, sent: SentCall) {
    this.step = step;
    this.call = call;
    this.reason = reason;
    this.startedAt = sent.startedAt;
    this.generation = sent.generation;
    this.attempt = sent.attempt;
    this.kind = sent.kind;
    this.patience = sent.patience;
    this.tokens = sent.tokens;
    this.spared = sent.spared;
    this.refusing = sent.refusing;
    this.arrivedAt = sent.startedAt;
  }

  /** True once there is a result. */
  get isOver(): boolean {
    return this.#result !== undefined;
  }

  /** Whether its endpoint has turned out to hang. */
  get isSilent(): boolean {
    return this.#isSilent;
  }

  /** Notes that its endpoint hangs. */
  onHang(): void {
    this.#isSilent = true;
    this.#onLate?.();
  }

  /** Notes how it came out. */
  arrive(result: CallResult<Result>, now: number): void {
    this.arrivedAt = now;
    const listener = this.#listener;
    const others = this.#others;
    this.#result = result;
    this.#listener = this.#others = undefined;
    listener?.(result);
    if (others !== undefined) for (const other of others) other(result);
  }

  /** What was called, and what came of it: undefined for a call that failed, or whose answer is passed over. */
  made(answer: CallAnswer<Result> | undefined): AttemptedCall<Call, Result> {
    return {
      endpoint: this.step.endpoint,
      call: this.call,
      startedAt: this.startedAt,
      firstTokenAt: answer?.type === 'committed' ? answer.firstTokenAt : this.arrivedAt,
      generation: this.generation,
      attempt: this.attempt,
      hedge: this.reason.hedge,
      work: this,
      refusing: this.refusing,
      result: answer?.type === 'whole' ? answer.result : undefined,
    };
  }

  /** Called with the result, at once if it is there. */
  onArrival(listener: (result: CallResult<Result>) => void): void {
    if (this.#result !== undefined) listener(this.#result);
    else if (this.#listener === undefined) this.#listener = listener;
    else (this.#others ??= []).push(listener);
  }

  /** The result. */
  arrival(): Promise<CallResult<Result>> {
    return new Promise((resolve) => this.onArrival(resolve));
  }

  /** Goes on with the result. */
  outcome<Next>(onResult: (result: CallResult<Result>) => Next): Promise<Next> {
    // Not the arrival and what follows it: that would be two promises.
    return new Promise((resolve, reject) => {
      this.onArrival((result) => {
        try {
          resolve(onResult(result));
        } catch (error) {
          reject(error);
        }
      });
    });
  }

  /**
   * Goes on with the result, or otherwise when the call is late or its endpoint hangs.
   *
   * @param delayMs - Milliseconds after which it is late; undefined: only silence counts.
   */
  race<Next>(
    environment: Environment,
    delayMs: number | undefined,
    onResult: (result: CallResult<Result>) => Next,
    onLate: () => Promise<Next>,
  ): Promise<Next> {
    // One promise, settled from within: nearly every request waits here.
    return new Promise((resolve, reject) => {
      let isLate = false;
      const late = (): void => {
        if (isLate || this.isOver) return;
        isLate = true;
        // Not within whatever has found out that it is late.
        resolve(Promise.resolve().then(onLate));
      };
      if (delayMs !== undefined) this.#timer = environment.setTimer(late, delayMs);
      this.#onLate = late;
      if (this.#isSilent) late();
      this.onArrival((result) => {
        this.stopWaiting(environment);
        if (isLate) return;
        try {
          resolve(onResult(result));
        } catch (error) {
          reject(error);
        }
      });
    });
  }

  /** Waits until there is a result, so many milliseconds are over, or its endpoint turns out to hang. */
  again(environment: Environment, ms: number): Promise<unknown> {
    this.stopWaiting(environment);
    return new Promise((resolve) => {
      const late = (): void => resolve(undefined);
      this.onArrival(resolve);
      this.#timer = environment.setTimer(late, ms);
      if (!this.#isSilent) this.#onLate = late;
    });
  }

  /** Nobody wants to know any more whether it is late. */
  stopWaiting(environment: Environment): void {
    if (this.#timer !== undefined) environment.clearTimer(this.#timer);
    this.#timer = undefined;
  }
}

/** What is known of a call when it goes out. */
type SentCall = Pick<
  RunningAttempt<unknown, unknown>,
  'startedAt' | 'generation' | 'attempt' | 'kind' | 'patience' | 'tokens' | 'spared' | 'refusing'
>;

/**
 * Tokens that an endpoint likely has to compute until a call has its answer, and those that it is spared: of the prompt,
 * what it has in no cache, and where the answer comes in one piece that too.
 */
export function expectedWork(
  { usualTokens }: RuntimeServices,
  request: RoutedRequest,
  warmth = 0,
): Pick<RunningCall, 'tokens' | 'spared'> {
  const { needs, stream, operation, account, targets } = request;
  const prompt = roughPromptTokens(needs);
  const spared = prompt * warmth;
  if (stream || operation !== 'chat') return { tokens: prompt - spared, spared };
  const { usualAnswerTokens = ANSWER_TOKENS } = usualTokens.of(account.id, targets[0]?.model);
  const answer = PER_ANSWER_TOKEN * Math.min(usualAnswerTokens, needs.outputTokens ?? Infinity);
  return { tokens: prompt - spared + answer, spared };
}

/** Tokens that a call likely has: where they are limited, as this endpoint has counted them so far. */
export function likelyTokens({ records }: RuntimeServices, request: RoutedRequest, endpoint: Endpoint): number {
  const { promptTokens, outputTokens = 0 } = request.needs;
  if (endpoint.tpm === undefined) return promptTokens * 2 + outputTokens;
  return calibrated(likelyPromptTokens(request), records.record(endpoint)?.tokens) + outputTokens;
}
