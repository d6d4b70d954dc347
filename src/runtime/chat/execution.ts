import type { Endpoint } from '../../catalog/endpoint.ts';
import type { Attempt, AttemptFailure } from '../../core/fallback/failure.ts';
import type { NormalizedRequest } from '../../core/normalize/normalized-request.ts';
import type { RoutePlan } from '../../core/selection/route-plan.ts';
import type { ReportedUsage, StreamPiece } from '../../core/stream/pieces.ts';
import type { StreamTracker } from '../../core/stream/stream-tracker.ts';
import type { UpstreamResult } from '../../core/stream/upstream-result.ts';
import type { ChatResult } from '../../protocol/chat-result.ts';
import type { JsonObject, JsonValue } from '../../protocol/json.ts';
import type { RouterMetadata } from '../../protocol/metadata.ts';
import { type Settlement, settleUsage } from '../../core/stream/usage.ts';
import type { AnswerFacts, AttemptAnswer } from './attempt-call.ts';
import { planRoute } from '../../core/selection/plan-route.ts';
import { AttemptLoop, type AttemptLoopOptions, worldOf } from './attempt-loop.ts';
import type { RuntimeServices } from './services.ts';
import { billingOf } from './settle.ts';
import { UpstreamCall } from './upstream-call.ts';
import { valueWithin } from '../../platform/wait.ts';

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

/** The call that answered a chat request. */
export type ChatAnswer = AttemptAnswer<UpstreamCall, UpstreamResult>;

/** One chat request from its plan to the call that answers it. */
export class ChatExecution extends AttemptLoop<NormalizedRequest, UpstreamCall, UpstreamResult> implements Execution {
  constructor(
    services: RuntimeServices,
    chat: NormalizedRequest,
    plan: RoutePlan,
    signal: AbortSignal,
    options: AttemptLoopOptions<NormalizedRequest> = {},
  ) {
    const { environment, timeouts } = services;
    super(
      services,
      chat,
      plan,
      signal,
      ({ request, provider, endpoint, apiKey, traceContext, deadlineAt, onSending }) => {
        const call = { request, endpoint, apiKey, traceContext };
        return new UpstreamCall({ environment, timeouts, deadlineAt, signal, provider, call, onSending });
      },
      options,
    );
  }

  bill({ endpoint }: Answer, { reported, likelyTokens, images, serviceTier }: Counted): Settlement {
    return settleUsage(endpoint, reported, {
      ...billingOf(this.request, serviceTier),
      completionTokens: likelyTokens,
      outputImages: images,
    });
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
  const news = services.cooldowns?.refresh();
  const found = 'sticky' in known ? known.sticky : stickyEndpoint(services, request);
  const sticky = found instanceof Promise ? await found : found;
  // Both were asked at the same time, so a slow store is waited for once.
  if (news !== undefined) await news;
  return planRoute(request, worldOf(services, sticky, known.roll));
}

/** The endpoint that a request's session sticks to, if the store tells in time. */
export function stickyEndpoint(
  { environment, sticky }: RuntimeServices,
  request: NormalizedRequest,
): Promise<string | undefined> | string | undefined {
  const found = sticky.find(request);
  return found instanceof Promise ? valueWithin(environment, found, STICKY_WAIT_MS) : found;
}

/** A store that takes longer than this many milliseconds is not worth waiting for: stickiness only saves money. */
const STICKY_WAIT_MS = 250;
