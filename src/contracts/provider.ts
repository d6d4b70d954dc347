/** The contract of providers. */
import type { CallTimeouts, CatalogProvider, Endpoint } from '../catalog/endpoint.ts';
import type { ProviderKey } from '../options/accounts.ts';
import type { NormalizedRequest, NormalizedEmbeddingRequest } from './request.ts';
import type { TraceContext } from './trace-context.ts';
import type { JsonObject, JsonValue } from '../protocol/json.ts';
import type { NativeBatches } from './native-batches.ts';
import type { ProviderReply, EmbeddingReply } from './provider-reply.ts';
import type { AttemptFailure } from './failure.ts';

/** One upstream call, as a provider gets it. */
export interface ProviderCall {
  readonly request: NormalizedRequest;
  readonly endpoint: Endpoint;
  /**
   * The account's own key, to be used instead of the provider's. A function gives it when it is needed; what
   * `httpProvider` makes calls it, other providers use `withKey` of `signalbox/provider`.
   */
  readonly apiKey?: ProviderKey | undefined;
  /** Headers for the call that let its trace go on at the provider. Absent when nobody traces. */
  readonly traceContext?: TraceContext | undefined;
  /** Aborted when the client disconnects, when a deadline passes, or when the answer is no longer wanted. */
  readonly signal: AbortSignal;
  /** What the provider reports while the call is under way. All are optional to call. */
  readonly progress: CallProgress;
}

/** One upstream call for embeddings, as a provider gets it. */
export interface EmbeddingCall extends Omit<ProviderCall, 'request'> {
  readonly request: NormalizedEmbeddingRequest;
}

/** One call that counts the tokens of a prompt. */
export type TokenCountCall = Pick<ProviderCall, 'request' | 'endpoint' | 'apiKey' | 'signal'>;

/** How many tokens a provider makes of a prompt. */
export interface ProviderTokenCount {
  readonly inputTokens: number;
  /** The provider's own answer, where the caller asked in the API format that the provider supports natively. */
  readonly native?: JsonObject | undefined;
}

/** What a provider may report about a call. */
export interface CallProgress {
  /** A connection is being made; the connect timeout runs from here to {@link CallProgress.connected}. */
  readonly connecting: () => void;
  readonly connected: () => void;
  /** The body that goes to the provider, for `debug.echo_upstream_body`. No headers and no keys. */
  readonly sending: (body: () => JsonValue) => void;
  /**
   * What the provider says in an answer about the requests and tokens that it will still take. Then it is not requested
   * more before there is room again. Absent where nobody wants to know.
   */
  readonly limits?: ((limits: ReportedLimits) => void) | undefined;
  /**
   * What was changed in the request so that the provider takes it, a sentence for each change, for
   * `router_metadata.attempts[].adjustments`. Absent where nobody wants to know.
   */
  readonly adjusted?: ((change: string) => void) | undefined;
  /**
   * Where the call goes: scheme, host and path, without query, key or user name. Errors name it; it is read only when the
   * call has failed. Absent where it is not used.
   */
  readonly calling?: ((address: () => string) => void) | undefined;
}

/**
 * A provider: who serves which models, and how to ask. Implement this to bring your own; `signalbox/testing` has the
 * list of checks that every provider must pass.
 *
 * @typeParam Model - Model ids it serves, for completion in the editor.
 */
export interface Provider<Model extends string = string> extends CatalogProvider {
  /** Time limits of calls, in milliseconds, before those of the router. Default: none of its own. */
  readonly timeouts?: CallTimeouts | undefined;
  /**
   * True when the provider caches of a prompt only what marks name (`cache_control`). The router then sets marks by
   * itself where an account repeats a prompt. Default false.
   */
  readonly cacheMarks?: boolean | undefined;
  /**
   * Whether the provider itself says of a model, by its upstream name, why a prompt was not in its cache, where
   * `request.cache.compareWith` names an earlier answer. It is asked for that where a ledger is kept. Default: it does not.
   */
  diagnosesCache?(upstreamModel: string): boolean;
  /** Only for the type system: carries the model ids. */
  readonly modelIds?: readonly Model[];
  /**
   * Makes one upstream call. Resolves when the answer's first bytes are in hand, or with a failure. Never retries:
   * the router does that.
   */
  chat(call: ProviderCall): Promise<ProviderReply>;
  /**
   * Makes one upstream call for embeddings. Resolves with one vector for each input, in their order, or with a failure.
   * Left out by providers that make none: they are then never called.
   */
  embed?(call: EmbeddingCall): Promise<EmbeddingReply>;
  /**
   * Counts the tokens of a prompt as the provider would, by a call that costs nothing. Resolves with the count, or with
   * undefined when it could not be had; never rejects. Left out by providers that have no such call.
   */
  countTokens?(call: TokenCountCall): Promise<ProviderTokenCount | undefined>;
  /**
   * Finds out whether the provider can be reached and takes its key, by a call that costs nothing. Resolves with what is
   * wrong, or undefined when nothing is; never rejects. Left out by providers that have no such call.
   */
  check?(signal: AbortSignal): Promise<string | undefined>;
  /** The provider's own batch API. Left out by providers that have none: their batches are run request by request. */
  readonly batches?: NativeBatches | undefined;
  /** Frees connections. Called by `router.close()`. */
  close?(): Promise<void>;
}

/** A reply that says that the call failed. */
export function failedReply(reason: AttemptFailure): Extract<ProviderReply, { type: 'failed' }> {
  return { type: 'failed', failure: reason };
}

/** What a provider says of one of its limits. */
export interface ReportedLimit {
  /** What is left of it. */
  readonly remaining: number;
  /** All of it; undefined where the provider does not say. */
  readonly limit?: number | undefined;
  /** Milliseconds until all of it is there again. */
  readonly resetMs: number;
}

/** What a provider says with an answer about what it will still take, as in `x-ratelimit-remaining-requests`. */
export interface ReportedLimits {
  readonly requests?: ReportedLimit | undefined;
  /** Of prompts, or of prompts and answers together, as the provider counts. */
  readonly tokens?: ReportedLimit | undefined;
}
