import type { Endpoint } from '../catalog/endpoint.ts';
import type { Attempt } from '../core/fallback/attempt.ts';
import type { AttemptFailure } from '../core/fallback/failure.ts';
import type { NormalizedRequest } from '../core/normalize/normalized-request.ts';
import type { RoutePlan } from '../core/selection/route-plan.ts';
import type { ReportedUsage, StreamPiece } from '../core/stream/pieces.ts';
import type { StreamTracker } from '../core/stream/stream-tracker.ts';
import type { UpstreamResult } from '../core/stream/upstream-result.ts';
import type { ChatResult } from '../protocol/chat-result.ts';
import type { JsonObject, JsonValue } from '../protocol/json.ts';
import type { RouterMetadata } from '../protocol/metadata.ts';
import type { Settlement } from '../core/stream/usage.ts';
import type { AnswerFacts } from './attempt-call.ts';

/** The stream of an answer, as its reader needs it. */
export interface AnswerCall {
  /** Its reader shows it every piece; then it knows at the end whether the stream was whole. */
  readonly tracker: StreamTracker;
  /**
   * The next pieces; undefined at the end. A provider's failure comes as a piece.
   *
   * @throws {@link RouterError} for a failure that is no provider's; every attempt has been settled then.
   */
  read(): Promise<readonly StreamPiece[] | undefined>;
  /** Frees everything. */
  close(): void;
}

/** The call that answered: a whole result, or a stream that is about to be read. */
export interface Answer {
  readonly endpoint: Endpoint;
  readonly call: AnswerCall;
  /** Monotonic milliseconds at which the call began. */
  readonly startedAt: number;
  readonly firstTokenAt: number;
  /** Breaker generation that the call belongs to. */
  readonly generation: number;
  /** Absent for a stream. */
  readonly result?: UpstreamResult | undefined;
}

/** What was counted in an answer, for its bill. */
export interface Counted {
  /** Undefined when the provider reported nothing. */
  readonly reported: ReportedUsage | undefined;
  /** The likely number of tokens in everything the model wrote. */
  readonly likelyTokens: number;
  /** Images in the answer. */
  readonly images: number;
  /** The tier in which the provider says it served. */
  readonly serviceTier: string | null | undefined;
}

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
   * @throws {@link RouterError} when there is none; the signal's reason when the caller goes away.
   */
  run(): Promise<Answer>;
  /** What the answer used and cost. */
  bill(answer: Answer, counted: Counted): Settlement;
  /** Notes that the last attempt has ended, well or badly. */
  settle(answer: Answer, end: { readonly facts: AnswerFacts } | { readonly failure: AttemptFailure }): Attempt;
  /** Frees an answer that nobody wants any more. */
  abandon(answer: Answer): void;
  /** What the attempts so far look like from outside. */
  metadata(answered: boolean, generationTime?: number): RouterMetadata;
  /** What plugins add to the metadata of an error. Absent where there are none. */
  readonly errorMetadata?: JsonObject;
  /** Lets plugins rewrite a whole answer. Absent where there are none. */
  polish?(result: ChatResult): Promise<ChatResult>;
}
