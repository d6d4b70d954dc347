import type { CallTimeouts, CatalogProvider, Endpoint } from '../catalog/endpoint.ts';
import type { NormalizedEmbeddingRequest } from '../core/normalize/normalize-embedding.ts';
import type { NormalizedRequest } from '../core/normalize/normalized-request.ts';
import type { TraceContext } from '../core/trace-context.ts';
import type { JsonObject, JsonValue } from '../protocol/json.ts';
import type { NativeBatches } from './native-batches.ts';
import type { UpstreamEmbeddings, UpstreamResult } from '../core/stream/upstream-result.ts';
import type { AttemptFailure } from '../core/fallback/failure.ts';
import type { ReportedLimits } from '../core/selection/adaptive/endpoint-limits.ts';
import type { StreamPiece } from '../core/stream/pieces.ts';

/** One upstream call, as a provider gets it. */
export interface ProviderCall {
  readonly request: NormalizedRequest;
  readonly endpoint: Endpoint;
  /** The account's own key, to be used instead of the provider's. */
  readonly apiKey?: string | undefined;
  /** Headers for the call that let its trace go on at the provider. Absent when nobody traces. */
  readonly traceContext?: TraceContext | undefined;
  /** Aborted when the client disconnects, when a deadline passes, or when the answer is no longer wanted. */
  readonly signal: AbortSignal;
  /** What the provider tells while the call is under way. All are optional to call. */
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
  /** The provider's own answer, where the caller asked in the dialect that the provider speaks. */
  readonly native?: JsonObject | undefined;
}

/** What a provider may tell about a call. */
export interface CallProgress {
  /** A connection is being made; the connect timeout runs from here to {@link CallProgress.connected}. */
  readonly connecting: () => void;
  readonly connected: () => void;
  /** The body that goes to the provider, for `debug.echo_upstream_body`. No headers and no keys. */
  readonly sending: (body: () => JsonValue) => void;
  /**
   * What the provider says in an answer about the requests and tokens that it will still take. Then it is not asked for
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

export type { ReportedLimit, ReportedLimits } from '../core/selection/adaptive/endpoint-limits.ts';

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
   * True when the provider caches of a prompt only what marks tell it to (`cache_control`). The router then sets marks by
   * itself where an account repeats a prompt. Default false.
   */
  readonly cacheMarks?: boolean | undefined;
  /** Only for the type system: carries the model ids. */
  readonly modelIds?: readonly Model[];
  /**
   * Makes one upstream call. Resolves when the answer's first bytes are in hand, or with a failure. Never retries:
   * the router does that.
   */
  chat(call: ProviderCall): Promise<ProviderReply>;
  /**
   * Makes one upstream call for embeddings. Resolves with one vector for each input, in their order, or with a failure.
   * Left out by providers that make none: they are then never asked.
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

/** The pieces of a stream, as they come. */
export interface PieceStream {
  /**
   * The pieces that arrived since the last call, waiting for some if there are none; undefined at the end.
   * An empty list means that bytes came which mean nothing by themselves, such as a keep-alive comment.
   * Failures of the connection come as a piece; a rejection counts as a fault of the adapter.
   */
  read(): Promise<readonly StreamPiece[] | undefined>;
  /** Ends the call and frees its connection. May be called more than once, and after the end. */
  cancel(): void;
}

/** How a provider answers. A non-streaming response to a request for a stream, and the reverse, is fine: the router converts. */
export type ProviderReply =
  | { readonly type: 'failed'; readonly failure: AttemptFailure }
  | { readonly type: 'whole'; readonly result: UpstreamResult }
  | { readonly type: 'stream'; readonly stream: PieceStream };

/** How a provider answers a call for embeddings. */
export type EmbeddingReply =
  | { readonly type: 'failed'; readonly failure: AttemptFailure }
  | { readonly type: 'embedded'; readonly result: UpstreamEmbeddings };
