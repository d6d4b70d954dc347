/** The contract of codecs: how one API writes requests and reads responses. */
import type { Endpoint, EndpointTier } from '../catalog/endpoint.ts';
import type { ParameterName } from '../catalog/model.ts';
import type { NormalizedRequest, RequestedTier } from '../contracts/request.ts';
import type { ProviderTokenCount } from '../contracts/provider.ts';
import type { JsonObject } from '../protocol/json.ts';
import type { EmbeddingCodec } from './embedding-codec.ts';
import type { ErrorShape } from './error-shape.ts';
import type { ErrorContext } from './upstream-failure.ts';
import type { ReasoningEffort } from '../protocol/reasoning.ts';
import type { Note } from './adjustments.ts';
import type { NativeBatches } from '../contracts/native-batches.ts';
import type { ProviderApi } from './provider-api.ts';
import { type AttemptFailure, failure } from '../contracts/failure.ts';
import type { UpstreamResult, StreamPiece } from '../contracts/stream-piece.ts';

/** A decoded answer, or what is wrong with it. */
export type DecodedResult =
  | { readonly ok: true; readonly result: UpstreamResult }
  | { readonly ok: false; readonly failure: AttemptFailure };

/**
 * How one wire writes requests and reads answers. Pure: a codec never sends anything. Together with the shared
 * transport it makes a provider.
 */
export interface Codec {
  /**
   * The codec of another wire of the same server, for a request that this one does not serve with the endpoint's model.
   * Default: there is none.
   */
  insteadFor?(request: NormalizedRequest, endpoint: Endpoint): Codec | undefined;
  /** Path below the base URL. */
  path(request: NormalizedRequest, endpoint: Endpoint): string;
  /**
   * Body of the request, to be serialised once.
   *
   * @param note - Is called with what is changed in the request because the provider does not take it. Default: nobody
   * is.
   * @throws {@link EncodeError} when the wire cannot say what the request says.
   */
  encode(request: NormalizedRequest, endpoint: Endpoint, note?: Note): Readonly<Record<string, unknown>>;
  /** Headers that depend on the request, names and values in turn. */
  headers?(request: NormalizedRequest, endpoint: Endpoint): readonly string[];
  /** Reads a non-streaming response. */
  decodeResult(body: string, context: ErrorContext, request: NormalizedRequest): DecodedResult;
  /** Starts reading a stream. */
  streamDecoder(context: ErrorContext, request: NormalizedRequest): StreamDecoder;
  /**
   * Reads an error body, parsed when it is JSON, that has a form of this wire's own; undefined for any other, which is
   * read in the forms that are in use elsewhere. Default: every body is.
   */
  errorShape?(body: unknown): ErrorShape | undefined;
  /** Parameters that this wire has no words for. Requests that must have one of them are kept away. Default: none. */
  readonly unsupported?: readonly ParameterName[] | undefined;
  /** Whether servers of this wire cache only what is marked. Default false. */
  readonly cacheMarks?: boolean | undefined;
  /** Whether a server takes files by their addresses; otherwise they are fetched first. Default: it does. */
  takesAddresses?(endpoint: Endpoint): boolean;
  /** How the tokens of a prompt are counted; left out for wires that cannot. */
  readonly tokenCount?: TokenCountCodec | undefined;
  /** How embeddings are requested; left out for wires that have none. */
  readonly embeddings?: EmbeddingCodec | undefined;
}

/** How the number of tokens of a prompt is requested. */
export interface TokenCountCodec {
  /** Path below the base URL. */
  path(request: NormalizedRequest, endpoint: Endpoint): string;
  /**
   * Body of the request.
   *
   * @throws {@link EncodeError} when the wire cannot say what the request says.
   */
  encode(request: NormalizedRequest, endpoint: Endpoint): Readonly<Record<string, unknown>>;
  /** Reads the answer; undefined for one that holds no count. */
  decode(body: JsonObject): ProviderTokenCount | undefined;
}

/**
 * Thrown by a codec for a request that its wire cannot say. Nothing is sent then, and another provider may be called.
 */
export class EncodeError extends Error {
  readonly failure: AttemptFailure;

  /** @param problem - Where and what, as a sentence for the caller: `messages[2].content[0] is audio, which …`. */
  constructor(problem: string) {
    super(problem);
    this.name = 'EncodeError';
    this.failure = failure('unsupported_parameter', problem);
  }
}

/** A share of some number of tokens for each effort that reasons at all. */
export type EffortShares = Readonly<Record<Exclude<ReasoningEffort, 'none'>, number>>;

/** Shares of the token limit that efforts stand for where only a budget can be sent (gaps 2.5). */
export const EFFORT_SHARES: EffortShares = {
  max: 0.95,
  xhigh: 0.95,
  high: 0.8,
  medium: 0.5,
  low: 0.2,
  minimal: 0.1,
};

/**
 * The service tier to ask a provider for (gaps 2.7). A tier endpoint requires its own tier. A default endpoint requires
 * the wanted one only where nobody declared tiers, so that the provider decides: where the tier has endpoints of its
 * own, the default ones are what a request falls back to, at their own price.
 *
 * @param wanted - Undefined also where the provider knows no tiers besides those that were declared.
 */
export function tierToAsk(
  { tier, declaredTiers }: Endpoint,
  wanted: RequestedTier | undefined,
): RequestedTier | EndpointTier | undefined {
  if (tier !== 'default') return tier;
  const isElsewhere = wanted !== undefined && wanted !== 'scale' && declaredTiers?.has(wanted) === true;
  return isElsewhere && wanted !== 'default' ? undefined : wanted;
}

/** A codec that the first call loads, with what a router must know before. A program names more providers than it calls. */
export interface CodecOnFirstUse extends Pick<Codec, 'unsupported' | 'cacheMarks'> {
  /** Whether it writes embeddings, too. */
  readonly hasEmbeddings: boolean;
  readonly load: () => Promise<Codec>;
}

/** A batch API that the first call loads, with what a router must know before. */
export interface BatchesOnFirstUse extends Pick<NativeBatches, 'accepts' | 'priceFactor'> {
  /** Whether it finds a batch whose creation was not answered; see {@link NativeBatches.find}. */
  readonly findsLost: boolean;
  readonly load: () => Promise<(api: ProviderApi, codecs: BatchCodecs) => LoadedBatches>;
}

/** The calls of a batch API; what a router must know before is in {@link BatchesOnFirstUse}. */
export type LoadedBatches = Omit<NativeBatches, 'accepts' | 'priceFactor'>;

/** What the first call loads. */
export interface OnFirstUse<Value extends object> {
  /** The value once it is there, so that nobody waits for it any more. */
  readonly loaded: Value | undefined;
  load(): Promise<Value>;
}

/** Loads a value when it is first needed, once. What failed may work the next time. */
export function onFirstUse<Value extends object>(load: () => Promise<Value>): OnFirstUse<Value> {
  let loading: Promise<Value> | undefined;
  const source = {
    loaded: undefined as Value | undefined,
    async load(): Promise<Value> {
      try {
        return (source.loaded = await (loading ??= load()));
      } catch (error) {
        loading = undefined;
        throw error;
      }
    },
  };
  return source;
}

/** The codec of a provider, loaded or to be loaded. */
export function codecSource(codec: Codec | CodecOnFirstUse): OnFirstUse<Codec> {
  return 'load' in codec ? onFirstUse(codec.load) : { loaded: codec, load: () => Promise.resolve(codec) };
}

/** A batch API whose code is loaded by its first call. */
export function batchesOnFirstUse(
  { accepts, priceFactor, findsLost, load }: BatchesOnFirstUse,
  api: ProviderApi,
  codecs: () => Promise<BatchCodecs>,
): NativeBatches {
  let ready: LoadedBatches | undefined;
  const native = async (): Promise<LoadedBatches> => (ready ??= (await load())(api, await codecs()));
  return {
    accepts,
    priceFactor,
    ...(findsLost
      ? { find: async (lookup) => (await (await native()).find?.(lookup)) ?? { ok: true, value: undefined } }
      : {}),
    submit: async (submission) => (await native()).submit(submission),
    poll: async (call) => (await native()).poll(call),
    async *results(call) {
      yield* (await native()).results(call);
    },
    read(body, request, endpoint) {
      // Only what `results` gave is read.
      if (ready === undefined) throw new TypeError('results of a batch are read before they were asked for');
      return ready.read(body, request, endpoint);
    },
    cancel: async (call) => (await native()).cancel(call),
    remove: async (call) => (await native()).remove(call),
  };
}

/** How a provider's requests are written and answers read, for its batch API. */
export interface BatchCodecs {
  /**
   * The codec for a request: that of its own API format where the provider supports it, or of the wire that its model
   * wants.
   */
  readonly codecFor: (request: NormalizedRequest, endpoint: Endpoint) => Codec;
  readonly embeddings: EmbeddingCodec | undefined;
}

/** Turns the events of one wire into pieces. Holds the state of one stream. */
export interface StreamDecoder {
  /** Appends the pieces of one event. After the wire's own end mark, events must be ignored. */
  event(event: SseEvent, pieces: StreamPiece[]): void;
  /**
   * Reads the events at `from` that differ from earlier ones in nothing but their text, in the text of a stream in which
   * an event begins there. Appends their pieces and gives where the first event begins that is not known. Default: none is.
   */
  known?(stream: string, from: number, pieces: StreamPiece[]): number;
  /** The body is over: the event that may follow was not closed by a blank line, so it may have been cut off. */
  closing?(): void;
  /** The body was no event stream after all: appends what a plain body means. */
  body(text: string, pieces: StreamPiece[]): void;
  /** The stream is over: appends what was held back. */
  end(pieces: StreamPiece[]): void;
}

/** One server-sent event. */
export interface SseEvent {
  readonly event?: string | undefined;
  readonly data: string;
}
