/** The normalized request: the form that all rooms behind normalization work with. */
import type { Endpoint, EndpointTier } from '../catalog/endpoint.ts';
import type { FallbackPolicy } from '../options/fallback.ts';
import type { Modality, Operation, ParameterName, ToolChoiceKind } from '../catalog/model.ts';
import type { CacheControl } from '../protocol/content-part.ts';
import type { ApiFormatName } from '../protocol/api-format.ts';
import type { JsonObject } from '../protocol/json.ts';
import type { Message } from '../protocol/message.ts';
import type { RoutingStrategy } from '../protocol/metadata.ts';
import type { PluginEntry } from '../protocol/plugins.ts';
import type { Quantization, SortKey } from '../protocol/provider-preferences.ts';
import type { ReasoningEffort, ResponseFormat, StopCondition } from '../protocol/reasoning.ts';
import type { FunctionTool, ServerTool, ToolChoice } from '../protocol/tools.ts';
import type { Account } from './account.ts';
import type { TraceContext } from './trace-context.ts';
import type { RateTicket } from './account-limits.ts';
import type { EmbeddingItem, EncodingFormat } from '../protocol/embedding.ts';
import type { Split } from '../options/rules.ts';

/** One of the models that a request may be answered by, with everyone who serves it. */
export interface ModelTarget {
  /** As it was sent: alias, variants and all. */
  readonly requested: string;
  /** Id in the catalog. */
  readonly model: string;
  readonly endpoints: readonly Endpoint[];
  readonly strategy: RoutingStrategy;
  /** From `:nitro`, `:floor` or `:exacto`. */
  readonly sort?: SortKey | undefined;
  /** Tier that competes beside the default one, from `:nitro` or `:floor`. */
  readonly admitTier?: EndpointTier | undefined;
  /** Router model that this one was put in the place of, such as `router/auto`; at the router model itself, its slug. */
  readonly router?: string | undefined;
  /**
   * True for models of a router model that stand in for each other only where one is not there: a request that one of
   * them refuses goes to none of them. Default false.
   */
  readonly refusedTogether?: boolean | undefined;
  /**
   * True for models of a router model that it would not choose: they are tried behind everything else, and never beside a
   * call that is late. Default false.
   */
  readonly spare?: boolean | undefined;
  /** True for `router/free`: the endpoints are tried in random order. */
  readonly shuffled?: boolean | undefined;
  /**
   * Endpoints that get a shortened prompt, so that its length excludes none of them. They are tried behind those that
   * take the whole prompt, unless the request orders providers by name.
   */
  readonly shortened?: readonly Endpoint[] | undefined;
}

/**
 * Parameters that go to the provider as they are, under their wire names and only if the caller set them.
 * The two names of the token limit are one here.
 */
export interface RequestParameters {
  readonly temperature?: number;
  readonly top_p?: number;
  readonly top_k?: number;
  readonly min_p?: number;
  readonly top_a?: number;
  readonly frequency_penalty?: number;
  readonly presence_penalty?: number;
  readonly repetition_penalty?: number;
  readonly logit_bias?: Readonly<Record<string, number>>;
  readonly logprobs?: boolean;
  readonly top_logprobs?: number;
  readonly max_completion_tokens?: number;
  readonly seed?: number;
  readonly stop?: readonly string[];
  readonly prediction?: JsonObject;
  readonly parallel_tool_calls?: boolean;
  readonly web_search_options?: JsonObject;
  readonly verbosity?: string;
}

/** Reasoning as one value, whichever spelling it came in. */
export interface ReasoningRequest {
  readonly effort?: ReasoningEffort | undefined;
  /** Budget in tokens, instead of an effort. */
  readonly maxTokens?: number | undefined;
  /** Leave the reasoning out of the answer. */
  readonly exclude: boolean;
  readonly summary?: 'auto' | 'concise' | 'detailed' | undefined;
  readonly context?: string | undefined;
  readonly mode?: string | undefined;
}

/** What an endpoint must be able to do for this request. */
export interface Needs {
  readonly inputModalities: readonly Modality[];
  readonly outputModalities: readonly Modality[];
  readonly tools: boolean;
  readonly toolChoice?: ToolChoiceKind | undefined;
  /** Every parameter of the vocabulary that the request uses. */
  readonly parameters: readonly ParameterName[];
  /** Rough number of tokens in the prompt; a floor, so that nobody is turned away by a bad guess. */
  readonly promptTokens: number;
  readonly outputTokens?: number | undefined;
  /** Images in the prompt, for prices per image. */
  readonly images: number;
  /** True for a prompt with files, which plugins may read for models that cannot. Default false. */
  readonly files?: boolean | undefined;
  /** True for a prompt with finished calls of server tools from earlier turns. Default false. */
  readonly serverCalls?: boolean | undefined;
}

/** Prices in numbers: USD per million tokens, or per unit. */
export interface PriceLimits {
  readonly prompt?: number;
  readonly completion?: number;
  readonly request?: number;
  readonly image?: number;
  readonly audio?: number;
}

/** Cutoffs at percentiles. */
export interface Cutoffs {
  readonly p50?: number;
  readonly p75?: number;
  readonly p90?: number;
  readonly p99?: number;
}

/** Provider preferences after the account's and the router's policies were folded in. */
export interface Preferences {
  readonly order: readonly string[];
  /** Allow-lists that an endpoint must all be in. */
  readonly only: readonly (readonly string[])[];
  readonly ignore: readonly string[];
  /** Whether the account may use a model; absent where it may use all. */
  readonly models?: ((model: string) => boolean) | undefined;
  /** The rule that keeps the request from a model; absent where none could. */
  readonly denied?: ((model: string) => DeniedModel | undefined) | undefined;
  readonly allowFallbacks: boolean;
  readonly requireParameters: boolean;
  readonly denyDataCollection: boolean;
  readonly zeroDataRetention: boolean;
  readonly distillableOnly: boolean;
  /** Lists of regions, of each of which an endpoint must be in one. Absent where any will do. */
  readonly regions?: readonly (readonly string[])[] | undefined;
  readonly quantizations?: ReadonlySet<Quantization> | undefined;
  readonly sort?: SortKey | undefined;
  /** False: the endpoints of all requested models are sorted together. */
  readonly sortWithinModel: boolean;
  readonly maxPrice?: PriceLimits | undefined;
  /** Tokens per second. */
  readonly minThroughput?: Cutoffs | undefined;
  /** Seconds to the first token. */
  readonly maxLatency?: Cutoffs | undefined;
  /** True: a refusal goes to the caller, and no other model is called. */
  readonly returnRefusals: boolean;
  /** What follows when a stream breaks after its first token. Absent: as the router is configured. */
  readonly afterFirstToken?: FallbackPolicy['afterFirstToken'] | undefined;
}

/** What ties requests of one conversation to one provider. */
export interface Session {
  /** `session_id`, for grouping; absent when the caller gave none. */
  readonly id?: string | undefined;
  /**
   * Key of the sticky entry, without the account, when the caller named the session. Otherwise the key is derived from
   * the first messages, by those who need it.
   */
  readonly key?: string | undefined;
  /** The number by which it draws its endpoints, where its key is not known any more: in a replay. */
  readonly draw?: number | undefined;
}

/** Service tier after aliases: `fast` is priority, `auto` is none. */
export type RequestedTier = 'default' | 'priority' | 'flex' | 'scale';

/** Options about prompt caches; each provider takes what it understands. */
export interface CacheOptions {
  readonly control?: CacheControl | undefined;
  readonly key?: string | undefined;
  readonly options?: JsonObject | undefined;
  /**
   * The provider's id of the last answer of the session, with whose prompt it is to compare this one; null where there
   * is none yet. Absent where the provider is not asked for that.
   */
  readonly compareWith?: string | null | undefined;
}

/** Where a request stands that a plugin or server tool makes, or that is a copy. */
export interface Within {
  /** Generation id of the request that it is a part of. */
  readonly parent: string;
  readonly depth: number;
  /** Ids of the plugins and types of the tools whose calls lead here, the outermost first. */
  readonly by: readonly string[];
  /** Number of the hook or tool call that makes this request, among those of its parent. */
  readonly stage?: number | undefined;
  /** Alias whose mirror it belongs to, when it is a copy of its parent that nobody is shown. */
  readonly mirror?: string | undefined;
}

/** What the configuration has made of a request: rules that changed something, models that aliases divide, a copy. */
export interface AppliedConfiguration {
  /** Ids of rules, in the order in which they applied. */
  readonly rules?: readonly string[] | undefined;
  readonly splits?: readonly SplitChoice[] | undefined;
  /** Who gets a copy once the request is answered. */
  readonly mirror?: MirrorChoice | undefined;
}

/** What routing, attempts and accounting need of a request, whatever it requires. */
export interface RoutedRequest {
  readonly operation: Operation;
  /** Generation id. */
  readonly id: string;
  /** Unix seconds. */
  readonly created: number;
  readonly stream: boolean;
  /** What the caller requested, for `router_metadata`. */
  readonly requested: string;
  readonly targets: readonly ModelTarget[];
  /** Absent where neither rules nor splits nor mirrors took part. */
  readonly applied?: AppliedConfiguration | undefined;
  /**
   * What was changed in it so that any provider takes it, a sentence for each change. Absent where nothing was. What is
   * changed for one endpoint alone is in its attempt.
   */
  readonly adjustments?: readonly string[] | undefined;
  /** Absent where the operation has none. */
  readonly tools?: readonly FunctionTool[];
  readonly reasoning?: ReasoningRequest | undefined;
  readonly serviceTier?: RequestedTier | undefined;
  readonly needs: Needs;
  readonly preferences: Preferences;
  readonly session: Session;
  /** Keyed hash that stands for the end user upstream. */
  readonly endUser: string;
  readonly account: Account;
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  readonly trace?: JsonObject | undefined;
  /** Where the caller's own trace stands, as far as it sent it. */
  readonly traceContext?: TraceContext | undefined;
  readonly wantsMetadata: boolean;
  /** Present when a plugin or server tool makes this request, or when it is a copy: of which other one, and how deep. */
  readonly within?: Within | undefined;
  /** API format in which it came. Absent for that of chat. */
  readonly format?: ApiFormatName | undefined;
  /** The caller's own body, when it came in an API format that some endpoints have natively. */
  readonly native?: NativeRequest | undefined;
  /** True for a request of a batch. Absent otherwise. */
  readonly batched?: boolean | undefined;
  /** What it took of the account's rate limits. Absent where nothing is limited. */
  readonly rateTicket?: RateTicket | undefined;
  /** Beta features that the caller wants of Anthropic. */
  readonly anthropicBetas?: readonly string[] | undefined;
  /** Long texts of the body that JSON writes as they are, without an escape, such as images. */
  readonly verbatim?: readonly string[] | undefined;
  /** Fields that this contract does not define; they go to the provider untouched. */
  readonly extra: JsonObject;
}

/** A chat request after parsing: no nulls, no aliases, no deprecated fields, defaults applied. */
export interface NormalizedRequest extends RoutedRequest {
  readonly operation: 'chat';
  readonly messages: readonly Message[];
  readonly parameters: RequestParameters;
  readonly tools: readonly FunctionTool[];
  readonly serverTools: readonly ServerTool[];
  readonly toolChoice?: ToolChoice | undefined;
  readonly maxToolSteps: number;
  readonly stopConditions: readonly StopCondition[];
  readonly responseFormat?: ResponseFormat | undefined;
  readonly outputModalities?: readonly Modality[] | undefined;
  /** Voice and format of audio output, and image options: opaque to us. */
  readonly audio?: JsonObject | undefined;
  readonly imageConfig?: JsonObject | undefined;
  readonly cache: CacheOptions;
  /** What the preset of the request says about the response cache. */
  readonly responseCache?:
    | { readonly enabled?: boolean | undefined; readonly ttlSeconds?: number | undefined }
    | undefined;
  readonly plugins: readonly PluginEntry[];
  readonly echoUpstreamBody: boolean;
  /** What makes the call cheaper for a request that another model of the same account refused. Set for one call. */
  readonly fallbackCredit?: string | undefined;
}

/** A caller's body in an API format, for endpoints that have it natively. */
export interface NativeRequest {
  readonly apiFormat: ApiFormatName;
  /**
   * The body as the caller sent it, without the routing fields. The codec that sends it writes the endpoint's model
   * name, `stream`, and the stand-in of the end user over what is there.
   */
  readonly body: JsonObject;
  /**
   * Path of something that only the API format itself can say. When present, endpoints that do not support the API
   * format are left out, and without any that do the caller is told about this path.
   */
  readonly requiredBy?: string | undefined;
}

/** Which candidate gets a copy of a request. */
export interface MirrorChoice {
  readonly alias: string;
  readonly model: string;
  readonly by: SplitChoice['by'];
}

/** A request for embeddings after parsing: no nulls, no aliases, defaults applied. */
export interface NormalizedEmbeddingRequest extends RoutedRequest {
  readonly operation: 'embeddings';
  /** What becomes one vector each, in order. */
  readonly inputs: readonly EmbeddingItem[];
  /** How the caller wants the vectors. How a provider is called is its codec's business. */
  readonly encodingFormat: EncodingFormat;
  /** Length that the vectors must have. */
  readonly dimensions?: number | undefined;
  /** In the caller's words. */
  readonly inputType?: string | undefined;
  /** Likely number of tokens in all inputs together, for usage that a provider did not report. */
  readonly likelyTokens: number;
}

/** A model that a rule keeps a request from. */
export interface DeniedModel {
  readonly rule: string;
  readonly reason: string;
}

/** Which model of an alias a request got. */
export interface SplitChoice {
  readonly alias: string;
  readonly model: string;
  readonly by: NonNullable<Split['by']>;
}
