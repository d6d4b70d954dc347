/** The interface of a router. */
import type { Provider } from '../contracts/provider.ts';
import type { ConfigurationPatch, ConfigurationVersion, CurrentConfiguration } from '../config/change-config.ts';
import type { Account, RoutingPolicy } from '../contracts/account.ts';
import type { TraceContext } from '../contracts/trace-context.ts';
import type { PromptEstimate, CompleteAnswer } from '../formats/api-format.ts';
import type { Explanation } from '../core/selection/explain.ts';
import type { ChatRequest } from '../protocol/chat-request.ts';
import type { ChatResult } from '../protocol/chat-result.ts';
import type { ChatChunk } from '../protocol/chunk.ts';
import type { EmbeddingRequest, EmbeddingResult } from '../protocol/embedding.ts';
import type { ApiFormatName } from '../protocol/api-format.ts';
import type { TokenCount } from '../runtime/chat/count-tokens.ts';
import type { Batches } from '../runtime/batches/batches.ts';
import type { SentBefore } from '../runtime/chat/continuing.ts';
import type { ChatStreamSource } from '../runtime/chat/chat-stream.ts';
import type { ByteBudget, Concurrency } from '../runtime/endpoints/concurrency.ts';
import type { ForgottenRefusals } from '../runtime/endpoints/known-refusals.ts';
import type { ReadableLedger } from '../runtime/ledger/request-ledger.ts';
import type { RuntimeServices } from '../runtime/chat/services.ts';
import type { KeptStreams } from '../runtime/streams/kept-streams.ts';
import type { MaybePromise } from '../platform/wait.ts';
import type { KeepOptions, ResumeOptions } from './streams.ts';
import type { ResolvedConfig } from '../config/resolved-config.ts';
import type { CacheReport, RequestedCache } from '../contracts/state-store.ts';
import type { RouterEvents, RouterListener } from '../contracts/events.ts';

/** What comes with a call besides its body. */
export interface CallOptions {
  /** Ends the call, upstream too. */
  readonly signal?: AbortSignal | undefined;
  /** On whose behalf. Default: the anonymous account. */
  readonly account?: Account | undefined;
  /** Adds `router_metadata` to the answer. Default false. */
  readonly metadata?: boolean | undefined;
  /** Session for requests that name none in their body. */
  readonly sessionId?: string | undefined;
  /** Whether a chat request uses the response cache. Default: as configured. */
  readonly cache?: RequestedCache | undefined;
  /** Beta features of Anthropic to be requested, by commas, where the request goes there. */
  readonly anthropicBeta?: string | undefined;
  /** Where the caller's trace stands, for callers in other processes. One that is not valid is left out. */
  readonly traceContext?: TraceContext | undefined;
}

/** How the vectors of an answer are written, by the `encoding_format` of its request. */
export type VectorOf<Request extends EmbeddingRequest> = Request extends { readonly encoding_format: infer Format }
  ? 'base64' extends Format
    ? Format extends 'base64'
      ? string
      : readonly number[] | string
    : readonly number[]
  : readonly number[];

/** What comes with a body whose format follows from its path. */
export interface OpenOptions extends CallOptions {
  /** Shape of the body, if it is not a chat request. */
  readonly apiFormat?: ApiFormatName | undefined;
  /** True for a request of a batch; its generation id says so. Default false. */
  readonly batch?: boolean | undefined;
  /** Rules that hold besides those of the account. */
  readonly policies?: readonly RoutingPolicy[] | undefined;
  /** Long texts of the body that JSON writes as they are, without an escape. Default: none are known. */
  readonly verbatim?: readonly string[] | undefined;
  /** What an instance that is gone has sent of the answer, which this one goes on with. Default: nothing. */
  readonly sent?: SentBefore | undefined;
}

/** An answer on its way, as mounts use it. */
export type OpenedChat = {
  readonly id: string;
  /** Tokens of the prompt, by an estimate that comes with the API format that needs it. */
  readonly promptTokens: (estimate: PromptEstimate) => number;
  /**
   * How the response cache was used; undefined when it was not. To be called when the answer, or its first part, is
   * there.
   */
  readonly cache: () => CacheReport | undefined;
} & (
  | { readonly type: 'whole'; readonly answer: Promise<CompleteAnswer> }
  | { readonly type: 'stream'; readonly stream: ChatStreamSource }
);

/**
 * A model router. Made by {@link createRouter}.
 *
 * @typeParam Model - Model ids and aliases that complete in the editor.
 */
export interface Router<Model extends string = string> {
  /**
   * Answers a chat request as a whole (contract: chat result).
   *
   * @throws {@link RouterError} when the request is bad or nobody could answer it; the signal's reason when aborted.
   */
  chat(request: ChatRequest<Model>, options?: CallOptions): Promise<ChatResult>;
  /**
   * Answers a chat request as a stream of chunks (contract: stream chunk). Leaving the loop early ends the call
   * upstream.
   *
   * @throws {@link RouterError} before the first chunk when nobody could answer, and after it when the provider's stream
   * ended early; the signal's reason when aborted.
   */
  stream(request: ChatRequest<Model>, options?: CallOptions): AsyncIterable<ChatChunk>;
  /**
   * Turns texts into vectors (gaps 10). The same routing, fallback, accounting and events as for chat.
   *
   * @throws {@link RouterError} when the request is bad or nobody could answer it; the signal's reason when aborted.
   */
  embed<const Request extends EmbeddingRequest<Model>>(
    request: Request,
    options?: CallOptions,
  ): Promise<EmbeddingResult<VectorOf<Request>>>;
  /**
   * Counts the tokens of a prompt, its tools and media included. The provider that would answer first counts it, where
   * it has a call for that and no plugin takes part; otherwise the optional package `gpt-tokenizer`, or an estimate.
   * Costs nothing, and is in no budget and no rate limit.
   *
   * @throws {@link RouterError} when the request is bad.
   */
  countTokens(body: unknown, options?: OpenOptions): Promise<TokenCount>;
  /** Many requests at once, answered asynchronously (contract: batch). */
  readonly batches: Batches;
  /**
   * A dry run of the routing decision, without calling a provider: the endpoints that a chat request would try, in
   * order, and those that are excluded, with reasons.
   *
   * @throws {@link RouterError} when the request is bad.
   */
  explain(request: ChatRequest<Model>, options?: CallOptions): Promise<Explanation>;
  /**
   * The rest of a stream that is kept, byte for byte as it was sent: of one that was sent over HTTP, by its
   * `X-Generation-Id`, or of one that was given to {@link Router.keep}. Goes on as long as the stream does, at whichever
   * instance that is. Needs the option `streams`.
   *
   * @throws {@link RouterError} 404 for a stream that is not kept, or is another account's; 400 for a place that there is
   * not.
   */
  resume(id: string, options?: ResumeOptions): Promise<ReadableStream<Uint8Array>>;
  /**
   * Keeps a stream of events that the program sends itself, such as the messages of the AI SDK, so that
   * {@link Router.resume} finds it under this id. Reads it to its end, also when its client disconnects. Needs the option
   * `streams`.
   *
   * @returns When all of it is kept, or no more of it will be.
   */
  keep(id: string, stream: ReadableStream<string | Uint8Array>, options?: KeepOptions): Promise<void>;
  /**
   * Forgets what providers have refused, so that requests go there as their clients wrote them until it is refused again.
   * `explain` and the inspector show what is known, a warning `word_refused` tells of each word.
   *
   * @param which - Default: all of it.
   * @returns How many words of accounts were forgotten.
   */
  forgetRefusals(which?: ForgottenRefusals): number;
  /** Adds a listener; gives the function that removes it. */
  on<Name extends keyof RouterEvents>(name: Name, listener: RouterListener<Name>): () => void;
  /** What was kept of requests; undefined without the option `ledger`. What waits to be written is written first. */
  readonly ledger: ReadableLedger | undefined;
  /**
   * Changes the configuration, for requests that begin from now on; those under way end on the one that they began with.
   * The options that are named take the place of those in force, and all others stay: `authenticate`, limits and budgets
   * too. An option is removed where it is named as `undefined`. A function gets the configuration in force, and gives what
   * to change. Health, sessions, what was spent, counted and learnt, batches, and the connections of providers that are in
   * both go on. Options that belong to the process (`net`, `state`, `streams`, `ledger`, `batches`, `webhooks`,
   * `identitySecret`, `environment`, `on`) cannot change. An event `configuration` reports it.
   *
   * @throws {@link ConfigError} with everything that is wrong at once, and what the function throws; nothing has changed
   * then.
   */
  update(patch: ConfigurationPatch): ConfigurationVersion;
  /** The options in force, frozen, with their `version` and `since`. */
  readonly configuration: CurrentConfiguration;
  /** The version in force, and up to 10 before it; the latest last. */
  readonly versions: readonly ConfigurationVersion[];
  /**
   * Puts the options of an earlier version in force once more, as a version of its own. Nothing that was learnt, counted or
   * spent goes back.
   *
   * @throws {@link ConfigError} when the version is in force, is not kept, or cannot be used any more.
   */
  rollback(version: number): ConfigurationVersion;
  /** Frees connections. Calls under way fail. */
  close(): Promise<void>;
  /**
   * Starts answering a body that nobody has checked yet. For people who write mounts; changes with minor versions.
   *
   * @throws {@link RouterError} when the request is bad.
   */
  open(body: unknown, options: OpenOptions): OpenedChat | Promise<OpenedChat>;
  /** The parts that mounts need. For people who write mounts; changes with minor versions. */
  readonly internals: RouterInternals;
}

/** What mounts need of a router. */
export interface RouterInternals {
  /** The same router with the configuration that is in force now, whatever comes: a request is answered by one. */
  readonly pinned: Router;
  readonly config: ResolvedConfig;
  readonly services: RuntimeServices;
  /** Places for requests that are handled at the same time. */
  readonly admission: Concurrency;
  /** Room for the bodies of requests. */
  readonly bytesInHand: ByteBudget;
  /** Streams that can be resumed, loaded by the first that is; undefined without the option `streams`. */
  readonly streams: (() => MaybePromise<KeptStreams>) | undefined;
  /** What the first request begins: batches that an earlier process has left. Empty once it was called. */
  readonly first: { readonly request?: (() => void) | undefined };
  /**
   * Does nothing while the router is open.
   *
   * @throws {@link RouterError} 503 once it is closed.
   */
  readonly checkOpen: () => void;
}

/** Ids of the models that a list of providers serves. */
export type ModelOf<Providers extends readonly Provider[]> =
  Providers[number] extends Provider<infer Model> ? Model : never;

/** Names of the aliases of a configuration. */
export type AliasOf<Aliases> = Extract<keyof Aliases, string>;

/** Endings that change how endpoints are chosen. */
type RoutingVariant = 'nitro' | 'floor' | 'exacto' | 'online' | 'free' | 'extended' | 'thinking';

/**
 * What `model` may be for a TypeScript caller: a declared id with or without a variant, an alias, a router model, the
 * latest of a family, or a preset. Any text, as soon as one provider takes any model.
 */
export type RequestModel<Model extends string, Alias extends string = never> = string extends Model
  ? string
  :
      | Model
      | `${Model}:${RoutingVariant}`
      | Alias
      | `router/${string}`
      | `~${string}/${string}-latest`
      | `@preset/${string}`;
