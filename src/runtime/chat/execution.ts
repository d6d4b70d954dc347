import type { Endpoint } from '../../catalog/endpoint.ts';
import type { Attempt, AttemptFailure, Continuation } from '../../core/fallback/failure.ts';
import type { NormalizedRequest, RoutedRequest } from '../../core/normalize/normalized-request.ts';
import { type ReasoningOrigins, withoutForeignReasoning } from '../../core/normalize/reasoning-origin.ts';
import type { CacheReport } from '../../core/limits/cache-rule.ts';
import type { RoutePlan } from '../../core/selection/route-plan.ts';
import type { StreamPiece } from '../../core/stream/pieces.ts';
import type { StreamTracker } from '../../core/stream/stream-tracker.ts';
import type { UpstreamResult } from '../../core/stream/upstream-result.ts';
import type { ChatResult } from '../../protocol/chat-result.ts';
import type { JsonObject, JsonValue } from '../../protocol/json.ts';
import type { RouterMetadata } from '../../protocol/metadata.ts';
import type { Settlement } from '../../core/stream/usage.ts';
import type { AnswerFacts, AttemptedCall, AttemptLoopOptions, Dialing } from './attempt-call.ts';
import type { ServedBy } from '../../core/selection/adaptive/expected-cost.ts';
import type { KnownPrompts } from './known-prompts.ts';
import { AttemptLoop } from './attempt-loop.ts';
import type { Continuing } from './continuing.ts';
import type { FallbackPolicy } from '../../config/tables/fallback.ts';
import { billAnswer } from './settle.ts';
import type { RepeatedPrefixes } from './repeated-prefixes.ts';
import type { RuntimeServices } from './services.ts';
import { UpstreamCall } from './upstream-call.ts';
import { type MaybePromise, onDemand, valueWithin } from '../../platform/wait.ts';
import type { CachedPrompts, World } from '../../core/selection/world.ts';
import { planSeen } from '../../core/ledger/plan-seen.ts';
import { planRoute } from '../../core/selection/plan-route.ts';

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
  /** In the provider's own words, where it told. */
  readonly nativeFinishReason?: string | undefined;
  /** Present when the request had tools and the answer called some: whether the calls were valid. */
  readonly toolCalls?: 'valid' | 'invalid' | undefined;
  /** How it went on with the text of one that broke. Absent where it did not. */
  readonly continued?: Continuation | undefined;
}

/** What became of the content of an answer that broke. */
export interface AnswerBreak {
  /** True when it stays part of the answer, and is paid for like one. Default false. */
  readonly kept?: boolean;
  /** How it went on with the text of one that broke before. Absent where it did not. */
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
  /** Frees it when nobody wants it any more. */
  abandon(): void;
  /** Lets plugins rewrite a non-streaming response. Absent where there are none. */
  polish?(result: ChatResult): Promise<ChatResult>;
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
   * @throws {@link RouterError} when there is none; the signal's reason when the client disconnects.
   */
  run(): Promise<Answer>;
  /** What the attempts so far look like from outside. */
  metadata(answered: boolean, generationTime?: number): RouterMetadata;
  /** What plugins add to the metadata of an error. Absent where there are none. */
  readonly errorMetadata?: JsonObject;
  /** How the response cache was used so far. Absent where it takes no part. */
  readonly report?: CacheReport;
}

/** The answer of a provider to a chat request. */
export type ChatAnswer = Answer<UpstreamCall>;

const continuing = onDemand(async () => (await import('./continuing.ts')).Continuing);

/** One chat request from its plan to the call that answers it. */
export class ChatExecution extends AttemptLoop<NormalizedRequest, UpstreamCall, UpstreamResult> implements Execution {
  /** Sets marks for the provider's cache. Absent where the prompt is not known to be repeated. */
  readonly #marked: ReturnType<RepeatedPrefixes['markerFor']> | undefined;
  readonly #policy: FallbackPolicy;
  readonly #prompts: KnownPrompts;
  /** The call that was made last. */
  #call: UpstreamCall | undefined;
  /** What goes on with a stream that breaks. Absent where nothing does. */
  #continuing: Continuing | undefined;

  constructor(
    services: RuntimeServices,
    chat: NormalizedRequest,
    plan: RoutePlan,
    signal: AbortSignal,
    options?: AttemptLoopOptions<NormalizedRequest>,
  ) {
    super(services, chat, plan, signal, options);
    this.#marked = services.prefixes?.markerFor(plan);
    this.#policy = services.fallback;
    this.#prompts = services.prompts;
  }

  /**
   * Tries endpoints until one answers, and where that is wanted goes on at the next when its stream breaks.
   *
   * @throws Like {@link AttemptLoop.next}.
   */
  run(): Promise<Answer> {
    const { stream, preferences } = this.request;
    const { afterFirstToken = this.#policy.afterFirstToken } = preferences;
    return stream && afterFirstToken === 'continue' ? this.#runOn() : this.next();
  }

  async #runOn(): Promise<Answer> {
    const Loaded = await continuing();
    this.#continuing = new Loaded(this, () => this.giveTime());
    return this.#continuing.run();
  }

  protected override dial(dialing: Dialing<NormalizedRequest>): UpstreamCall {
    const { request: prepared, provider, endpoint } = dialing;
    const { origins } = this.plan;
    const readable = origins === undefined ? prepared : withoutForeignReasoning(prepared, endpoint, origins);
    const request = this.#marked === undefined ? readable : this.#marked(readable, provider, endpoint);
    const asked = request === prepared ? dialing : { ...dialing, request };
    this.#prompts.note(this.request, endpoint);
    this.#call = this.#continuing?.dial(asked) ?? new UpstreamCall(this.#withCredit(asked));
    return this.#call;
  }

  /** Sends the credit for a refusal on to the next model of the same provider. */
  #withCredit(dialing: Dialing<NormalizedRequest>): Dialing<NormalizedRequest> {
    const last = this.#call && this.attempts.at(-1);
    if (last?.refusal === undefined || last.step.endpoint.provider !== dialing.endpoint.provider) return dialing;
    const fallbackCredit = this.#call?.reported.refusal?.creditToken;
    if (fallbackCredit === undefined) return dialing;
    return { ...dialing, request: { ...dialing.request, fallbackCredit }, addition: 'credit' };
  }

  protected override bill(made: AttemptedCall<UpstreamCall, UpstreamResult>): Settlement {
    return billAnswer(this.request, made);
  }
}

/** What is known already when a request is planned. */
interface KnownBefore {
  readonly roll?: number | undefined;
  /** Endpoints that served its session, the latest first. Left out: they are looked up. */
  readonly served?: ServedBy | undefined;
}

/** Plans a request on the world as it is now. */
export function planRequest(
  services: RuntimeServices,
  request: NormalizedRequest,
  known: KnownBefore = {},
): MaybePromise<RoutePlan> {
  const { roll } = known;
  const news = services.cooldowns?.refresh();
  const served = known.served ?? servedBefore(services, request);
  const origins = services.origins.find(request);
  if (news === undefined && !(served instanceof Promise) && !(origins instanceof Promise)) {
    const prompts = services.prompts.find(request);
    return planOn(services, request, worldOf(services, { request, served, prompts, origins, roll }));
  }
  return planLater(services, request, { news, served, origins, roll });
}

/** Plans a request once the store has told. All was asked at the same time, so a slow store is waited for once. */
async function planLater(
  services: RuntimeServices,
  request: NormalizedRequest,
  asked: AskedOfStore,
): Promise<RoutePlan> {
  const { roll } = asked;
  const served = await asked.served;
  // One that is known to be slow is not worth a further wait.
  if (!services.sticky.isSlow) await asked.news;
  const origins = await asked.origins;
  const prompts = services.prompts.find(request);
  return planOn(services, request, worldOf(services, { request, served, prompts, origins, roll }));
}

/** What the store was asked for a plan. */
interface AskedOfStore {
  /** Cooldowns that other instances tell of. */
  readonly news: Promise<unknown> | undefined;
  readonly served: MaybePromise<ServedBy>;
  readonly origins: MaybePromise<ReasoningOrigins | undefined>;
  readonly roll: number | undefined;
}

/** The endpoints that served a request's session, if the store tells in time. */
export function servedBefore(
  { environment, sticky }: RuntimeServices,
  request: NormalizedRequest,
): Promise<ServedBy> | ServedBy {
  const found = sticky.find(request);
  if (!(found instanceof Promise)) return found;
  return valueWithin(environment, found, STICKY_WAIT_MS).then((served) => served ?? []);
}

/** A store that takes longer than this many milliseconds is not worth waiting for: stickiness only saves cost. */
const STICKY_WAIT_MS = 250;

/** What is known of a request besides itself when it is planned. */
interface KnownOfRequest {
  readonly request?: RoutedRequest | undefined;
  readonly served?: ServedBy | undefined;
  readonly prompts?: CachedPrompts | undefined;
  readonly roll?: number | undefined;
  readonly origins?: ReasoningOrigins | undefined;
}

/** The world as it is now, for planning. */
export function worldOf(
  services: RuntimeServices,
  { request, served, prompts, roll, origins }: KnownOfRequest = {},
): World {
  const { environment, records, selection, strategy, adaptive, usualTokens } = services;
  const now = environment.now();
  const usual = request && usualTokens.of(request.account.id, request.targets[0]?.model);
  return {
    record: records.record,
    sticky: served?.[0]?.endpoint,
    served,
    prompts,
    origins,
    admission: records.admissionAt(now),
    timing: records.timingAt(now, request?.stream === false ? 'whole' : 'streaming'),
    usualAnswerTokens: usual?.usualAnswerTokens,
    promptRatio: usual?.promptRatio,
    now,
    roll: roll ?? environment.random(),
    policy: selection,
    strategy,
    adaptive,
  };
}

/** Plans a request on a world, and keeps what the plan depended on where a ledger wants it. */
export function planOn({ ledger }: RuntimeServices, request: RoutedRequest, world: World): RoutePlan {
  return ledger === undefined ? planRoute(request, world) : planSeen(request, world);
}

/** Endpoints in the order of a plan; those that are asked nothing at the moment come last. */
export function endpointsNow({ records }: Pick<RuntimeServices, 'records'>, plan: RoutePlan): readonly Endpoint[] {
  const endpoints = plan.steps.map(({ endpoint }) => endpoint);
  const open = endpoints.filter((endpoint) => records.admission(endpoint).ok);
  return [...open, ...endpoints.filter((endpoint) => !open.includes(endpoint))];
}

/** Slug of the provider that is asked first by a plan as things are; empty when there is none. */
export function firstProvider(services: Pick<RuntimeServices, 'records'>, plan: RoutePlan): string {
  return endpointsNow(services, plan)[0]?.provider ?? '';
}
