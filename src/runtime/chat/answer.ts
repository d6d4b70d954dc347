/** The answer of an execution, as everything behind it reads it. */
import type { Endpoint } from '../../catalog/endpoint.ts';
import type { NormalizedRequest, RoutedRequest } from '../../contracts/request.ts';
import type { RoutePlan } from '../../core/selection/route-plan.ts';
import type { StreamTracker } from '../../core/stream/stream-tracker.ts';
import type { ChatResult } from '../../protocol/chat-result.ts';
import type { JsonObject, JsonValue } from '../../protocol/json.ts';
import type { RouterMetadata } from '../../protocol/metadata.ts';
import type { Settlement } from '../../core/stream/billing.ts';
import type { AnswerFacts, AttemptCall, AttemptedCall, CallEnd } from './attempt-call.ts';
import type { MaybePromise } from '../../platform/wait.ts';
import { type AttemptFailure, type Continuation, failure } from '../../contracts/failure.ts';
import type { Attempt } from '../../core/fallback/attempt.ts';
import type { CacheReport } from '../../contracts/state-store.ts';
import type { StreamPiece, UpstreamResult } from '../../contracts/stream-piece.ts';
import type { UpstreamCall } from './upstream-call.ts';
import type { ResultCollector } from '../../core/stream/collect.ts';

/** The stream of an answer, as its reader needs it. */
export interface AnswerCall {
  /** Its reader shows it every piece; then it knows at the end whether the stream was whole. */
  readonly tracker: StreamTracker;
  /**
   * The next pieces; undefined at the end. A provider's failure comes as a piece.
   *
   * @throws {@link RouterError} for a failure that is no provider's; every attempt has been settled then.
   */
  read(): MaybePromise<readonly StreamPiece[] | undefined>;
  /** Frees everything. */
  close(): void;
  /** Who the pieces come from since another endpoint has gone on with them. Absent until one has. */
  readonly endpoint?: Endpoint | undefined;
}

/** How an answer ended, apart from what it used. */
interface AnswerEnd {
  readonly finishReason: string | null;
  /** In the provider's own words, where it said so. */
  readonly nativeFinishReason?: string | undefined;
  /** Present when the request had tools and the answer called some: whether the calls were valid. */
  readonly toolCalls?: 'valid' | 'invalid' | undefined;
  /** How it went on with the text of one that broke. Absent where it did not. */
  readonly continued?: Continuation | undefined;
}

/** An answer that is settled. */
export interface SettledAnswer {
  /** The attempt that gave the answer, as it stands now. */
  readonly attempt: Attempt;
  readonly facts: AnswerFacts;
}

/**
 * The answer that an execution came to: a whole result, or a stream that is about to be read. Whoever holds it ends it
 * once, by {@link Answer.settle}, {@link Answer.fail} or {@link Answer.abandon}.
 */
export interface Answer<Call = AnswerCall, Result = UpstreamResult> {
  readonly endpoint: Endpoint;
  readonly call: Call;
  /** Monotonic milliseconds. */
  readonly firstTokenAt: number;
  /** Absent for a stream. */
  readonly result?: Result | undefined;
  /** What it used and cost, as far as it was read. May be asked at any time. */
  bill(): Settlement;
  /** Notes that it ended well. */
  settle(end: AnswerEnd): SettledAnswer;
  /** Notes that it broke. */
  fail(failure: AttemptFailure, how?: AnswerBreak): Attempt;
  /** Frees it when it is no longer needed. */
  abandon(): void;
  /** Lets plugins rewrite a non-streaming response. Absent where there are none. */
  polish?(result: ChatResult): Promise<ChatResult>;
}

/** How a request came out, for its metadata. */
export type RequestOutcome = 'answered' | 'failed';

/** One chat request from its plan to its answer: straight to a provider, or with plugins and tools on the way. */
export interface Execution {
  readonly request: NormalizedRequest;
  readonly plan: RoutePlan;
  /** Monotonic milliseconds. */
  readonly startedAt: number;
  readonly signal: AbortSignal;
  readonly attempts: readonly Attempt[];
  /** Called with every body that goes upstream, when the request wants to see them. */
  onSending: ((endpoint: Endpoint, body: JsonValue) => void) | undefined;
  /**
   * Works until there is an answer.
   *
   * @throws {@link RouterError} when there is none; the signal's reason when the client disconnects.
   */
  run(): Promise<Answer>;
  /** What the attempts so far look like from outside. */
  metadata(outcome: RequestOutcome, generationTime?: number): RouterMetadata;
  /** What plugins add to the metadata of an error. Absent where there are none. */
  readonly errorMetadata?: JsonObject;
  /** How the response cache was used so far. Absent where it takes no part. */
  readonly report?: CacheReport;
  /** What goes on with a stream that breaks. Absent where nothing does. */
  readonly continuing?: ContinuedStream | undefined;
}

/** A stream that goes on where it breaks, also at another instance. */
export interface ContinuedStream {
  /** True for an answer that another endpoint can go on with. */
  readonly isWanted: boolean;
  /** True once another instance goes on with it, and accounts for it. */
  isTaken: boolean;
  /** Called before the answer ends and is accounted for; false where another instance goes on with it. */
  beforeEnd: (() => Promise<boolean>) | undefined;
}

/** What the client had of a request before it failed. */
export type ShownBefore = 'nothing' | 'content';

/** What recording an end needs of an execution, whatever it requires. */
export interface Recorded {
  readonly request: RoutedRequest;
  /** Monotonic milliseconds. */
  readonly startedAt: number;
  readonly attempts: readonly Attempt[];
  readonly plan: RoutePlan;
  /** How the response cache was used, where it took part. */
  readonly report?: CacheReport | undefined;
  readonly continuing?: Pick<ContinuedStream, 'isTaken'> | undefined;
}

/** What became of the content of an answer that broke. */
export interface AnswerBreak {
  /** True when it stays part of the answer, and is paid for like one. Default false. */
  readonly kept?: boolean;
  /** How it went on with the text of one that broke before. Absent where it did not. */
  readonly continued?: Continuation | undefined;
}

/** The answer of a provider to a chat request. */
export type ChatAnswer = Answer<UpstreamCall>;

/** A call that is read along. */
export function recorded(call: AnswerCall, collector: ResultCollector): AnswerCall {
  return {
    tracker: call.tracker,
    get endpoint() {
      return call.endpoint;
    },
    async read() {
      const pieces = await call.read();
      for (const piece of pieces ?? []) collector.add(piece);
      return pieces;
    },
    close: () => call.close(),
  };
}

/** The request that an answer belongs to, as it ends it. */
interface AnsweredRequest<Call, Result> {
  /** What the call of an answer itself used and cost. */
  bill(made: AttemptedCall<Call, Result>): Settlement;
  /** The same, with what was lost on calls beside it. */
  billed(made: AttemptedCall<Call, Result>): Settlement;
  /** Notes how it ended. */
  ended(made: AttemptedCall<Call, Result>, end: CallEnd, continued?: Continuation): Attempt;
}

/** The answer of a call: what its reader needs of it, and what ends it. */
export class CalledAnswer<Call extends AttemptCall<Result>, Result> implements Answer<Call, Result> {
  readonly endpoint: Endpoint;
  readonly call: Call;
  readonly firstTokenAt: number;
  readonly result: Result | undefined;
  readonly #request: AnsweredRequest<Call, Result>;
  readonly #made: AttemptedCall<Call, Result>;

  constructor(request: AnsweredRequest<Call, Result>, made: AttemptedCall<Call, Result>) {
    this.endpoint = made.endpoint;
    this.call = made.call;
    this.firstTokenAt = made.firstTokenAt;
    this.result = made.result;
    this.#request = request;
    this.#made = made;
  }

  bill(): Settlement {
    return this.#request.billed(this.#made);
  }

  settle({ finishReason, nativeFinishReason, toolCalls, continued }: AnswerEnd): SettledAnswer {
    const { usage, costParts } = this.#request.billed(this.#made);
    const facts = { usage, costParts, finishReason, nativeFinishReason, toolCalls };
    return { attempt: this.#request.ended(this.#made, { facts }, continued), facts };
  }

  fail(reason: AttemptFailure, { kept = false, continued }: AnswerBreak = {}): Attempt {
    const settlement = kept ? this.#request.bill(this.#made) : undefined;
    return this.#request.ended(this.#made, { failure: reason, kept: settlement }, continued);
  }

  abandon(): void {
    this.call.close();
    this.fail(failure('aborted', 'The client disconnected'));
  }
}

/** An answer in which something is otherwise. Where it comes from may change while it is read. */
export function changedAnswer(answer: Answer, changes: Partial<Omit<Answer, 'endpoint'>>): Answer {
  return {
    get endpoint() {
      return answer.endpoint;
    },
    call: answer.call,
    firstTokenAt: answer.firstTokenAt,
    result: answer.result,
    bill: () => answer.bill(),
    settle: (end) => answer.settle(end),
    fail: (reason, how) => answer.fail(reason, how),
    abandon: () => answer.abandon(),
    ...(answer.polish !== undefined && {
      polish: async (result: ChatResult) => (await answer.polish?.(result)) ?? result,
    }),
    ...changes,
  };
}

/** Why a model refused to answer; undefined where it did not, or where nothing was said of it and it is the answer. */
export function refusalCategory({ call }: { readonly call: AttemptCall<unknown> }, end: CallEnd): string | undefined {
  if ('facts' in end) return end.facts.finishReason === 'content_filter' ? call.reported.refusal?.category : undefined;
  return end.failure === WITHHELD ? (call.reported.refusal?.category ?? 'other') : undefined;
}

/** Of an answer that is a refusal, and in whose place another model is called. */
export const WITHHELD = failure('content_policy', 'A content filter kept the entire response back');

/** A failure with the place where the call went. */
export function calledAt(reason: AttemptFailure, { address }: AttemptCall<unknown>): AttemptFailure {
  return address === undefined ? reason : { ...reason, address: address() };
}

/** How an attempt ended whose call answered. */
export const OK = { ok: true } as const;
