/** Builds a provider from a codec: credentials, transport, limits and redaction for all of them. */
import type { CallTimeouts, Endpoint, EndpointDeclaration, NativeSearch } from '../catalog/endpoint.ts';
import type { NativeRequest, NormalizedRequest } from '../contracts/request.ts';
import type { TraceContext } from '../contracts/trace-context.ts';
import { ConfigError, type ConfigProblem } from '../protocol/router-error.ts';
import type { ApiFormatName } from '../protocol/api-format.ts';
import type { JsonValue } from '../protocol/json.ts';
import { checkProviderOptions } from './check-options.ts';
import {
  type BatchesOnFirstUse,
  batchesOnFirstUse,
  type Codec,
  type CodecOnFirstUse,
  codecSource,
  EncodeError,
  type OnFirstUse,
  onFirstUse,
  type BatchCodecs,
} from './codec.ts';
import { type EmbeddingsPart, joinEmbeddings } from './embedding-codec.ts';
import { addressOf, type ErrorContext, MAX_WHOLE_BYTES, readFailedStatus } from './upstream-failure.ts';
import { namedKeys, ProviderApi, type ProviderApiOptions } from './provider-api.ts';
import type { NativeBatches } from '../contracts/native-batches.ts';
import { ResponsePieceStream } from './piece-stream.ts';
import {
  type EmbeddingCall,
  type Provider,
  type ProviderCall,
  type ProviderTokenCount,
  type TokenCountCall,
  failedReply,
} from '../contracts/provider.ts';

import { serialize, serializeInParts } from './serialize.ts';
import { reportedLimits } from './limit-headers.ts';
import { parseObject } from '../platform/json.ts';
import { readText, TransportError, type TransportResponse } from '../net/transport.ts';
import type { EmbeddingReply, ProviderReply } from '../contracts/provider-reply.ts';
import { type AttemptFailure, failure } from '../contracts/failure.ts';

/** What an HTTP provider is made of. */
export interface HttpProviderOptions<Model extends string = string> extends ProviderApiOptions {
  /** Name of the provider in preferences: lower-case letters, digits and dashes. */
  readonly slug: string;
  /** Slug of the vendor, for what is known of its models. Default: the slug. */
  readonly vendor?: string | undefined;
  /** Default: the slug. */
  readonly name?: string | undefined;
  /** Models on offer. Left out: every model under the slug is passed on, with unknown price and abilities. */
  readonly models?: Readonly<Record<Model, EndpointDeclaration | readonly EndpointDeclaration[]>> | undefined;
  /** True when prompts are stored or trained on. Default false. */
  readonly dataCollection?: boolean | undefined;
  /** True when nothing is kept after the answer. Default false. */
  readonly zeroDataRetention?: boolean | undefined;
  /** Time limits of calls, in milliseconds, before those of the router. Default: none of its own. */
  readonly timeouts?: CallTimeouts | undefined;
  /** Whether the provider can search the web by itself. Default: it cannot. */
  readonly nativeSearch?: NativeSearch | undefined;
  /** True when its models read PDFs by themselves, as far as nothing else is known of them. Default false. */
  readonly readsFiles?: boolean | undefined;
  /** Whether a model, by its upstream name, goes on from an assistant message at the end. Default: unknown. */
  readonly prefill?: ((upstreamModel: string) => boolean) | undefined;
  /** Of which models the provider itself says why a prompt was not in its cache. Default: of none. */
  readonly diagnosesCache?: ((upstreamModel: string) => boolean) | undefined;
  /** How requests are written and responses read. */
  readonly codec: Codec | CodecOnFirstUse;
  /** Codecs for callers with requests in an API format that this provider supports natively. */
  readonly apiFormatCodecs?: Readonly<Partial<Record<ApiFormatName, Codec | CodecOnFirstUse>>> | undefined;
  /** The provider's own batch API, spoken with the same address and keys. Default: batches are run request by request. */
  readonly batches?: ((api: ProviderApi, codecs: BatchCodecs) => NativeBatches) | BatchesOnFirstUse | undefined;
}

/** Most bytes of a streamed answer, decompressed. */
const MAX_STREAM_BYTES = 512_000_000;
/** Most bytes of an answer with embeddings: as many vectors as a request may have inputs, written as numbers. */
const MAX_EMBEDDING_BYTES = 2 * MAX_WHOLE_BYTES;

/** Most bytes of an answer that is a number. */
const MAX_COUNT_BYTES = 64_000;

/**
 * Builds a provider from a codec and the shared transport: connections, deadlines, cancellation, limits of size, the
 * reading of event streams, error bodies and the hiding of keys are all here.
 *
 * @param problems - What else is wrong with the configuration, to be reported together with what is found here.
 * @throws {@link ConfigError} when the slug, the address or the key cannot be right.
 */
export function httpProvider<const Model extends string = string>(
  options: HttpProviderOptions<Model>,
  problems: readonly ConfigProblem[] = [],
): Provider<Model> {
  const { slug, name = slug, models, dataCollection, zeroDataRetention } = options;
  const { nativeSearch, readsFiles, prefill, apiFormatCodecs = {} } = options;
  const all = [...checkProviderOptions(options), ...problems];
  if (all.length > 0) throw new ConfigError(all);
  const api = new ProviderApi(options);
  const codecs = new ProviderCodecs(options.codec, apiFormatCodecs);
  const calls = new HttpCalls(api, codecs);
  const hasEmbeddings = 'load' in options.codec ? options.codec.hasEmbeddings : options.codec.embeddings !== undefined;
  return {
    slug,
    name,
    vendor: options.vendor,
    keys: options.keys && namedKeys(options.keys).map(({ apiKey: _, ...key }) => key),
    models: models ?? {},
    acceptsAnyModel: models === undefined,
    dataCollection,
    zeroDataRetention,
    timeouts: options.timeouts,
    nativeSearch,
    readsFiles,
    prefill,
    apiFormats: Object.keys(apiFormatCodecs) as ApiFormatName[],
    unsupported: options.codec.unsupported,
    cacheMarks: options.codec.cacheMarks,
    ...(options.diagnosesCache === undefined ? {} : { diagnosesCache: options.diagnosesCache }),
    chat: (call) => calls.chat(call),
    check: (signal) => calls.check(signal),
    countTokens: (call) => calls.countTokens(call),
    ...(hasEmbeddings ? { embed: (call: EmbeddingCall) => calls.embed(call) } : {}),
    ...(options.batches === undefined ? {} : { batches: batchesOf(options.batches, api, codecs) }),
    close: () => calls.close(),
  };
}

/** The codecs of a provider: its own, and those for requests in an API format that it supports natively. */
class ProviderCodecs {
  readonly #own: Codec | CodecOnFirstUse;
  readonly #natives: readonly (readonly [apiFormat: string, codec: Codec | CodecOnFirstUse])[];
  /** The provider's own, for everything that comes in no such format. */
  readonly main: OnFirstUse<Codec>;
  readonly #sources: ReadonlyMap<string, OnFirstUse<Codec>>;

  constructor(own: Codec | CodecOnFirstUse, natives: NonNullable<HttpProviderOptions['apiFormatCodecs']>) {
    this.#own = own;
    this.#natives = Object.entries(natives);
    this.main = codecSource(own);
    this.#sources = new Map(this.#natives.map(([apiFormat, codec]) => [apiFormat, codecSource(codec)]));
  }

  sourceFor({ apiFormat }: Pick<NativeRequest, 'apiFormat'>): OnFirstUse<Codec> {
    return this.#sources.get(apiFormat) ?? this.main;
  }

  /** All of them, loaded: a batch has requests in any of them. */
  async load(): Promise<BatchCodecs> {
    const main = await this.main.load();
    const natives = new Map<string, Codec>();
    for (const [apiFormat, source] of this.#sources) natives.set(apiFormat, await source.load());
    return codecsOf(main, natives);
  }

  /** The same where none has to be loaded first. */
  get loaded(): BatchCodecs {
    const natives = this.#natives.map(([apiFormat, codec]) => [apiFormat, loadedCodec(codec)] as const);
    return codecsOf(loadedCodec(this.#own), new Map(natives));
  }
}

/** The calls of a provider over HTTP. */
class HttpCalls {
  readonly #api: ProviderApi;
  readonly #codecs: ProviderCodecs;
  readonly #fileAddresses = onFirstUse(async () => new (await import('./file-addresses.ts')).FileAddresses());

  constructor(api: ProviderApi, codecs: ProviderCodecs) {
    this.#api = api;
    this.#codecs = codecs;
  }

  /** What is there is not waited for: from here to the transport, a call goes on in one turn. */
  async chat(call: ProviderCall): Promise<ProviderReply> {
    const { endpoint, signal, progress, traceContext } = call;
    let { request } = call;
    const { stream, verbatim, needs, native } = request;
    try {
      const source = native === undefined ? this.#codecs.main : this.#codecs.sourceFor(native);
      const usual = source.loaded ?? (await source.load());
      const codec = usual.insteadFor?.(request, endpoint) ?? usual;
      if (needs.files === true && codec.takesAddresses?.(endpoint) === false) {
        request = await (await this.#fileAddresses.load()).withData(request, signal);
      }
      const encoded = codec.encode(request, endpoint, progress.adjusted);
      const fields = endpoint.refusedFields === undefined ? encoded : withoutRefusedFields(encoded, endpoint);
      const bodyParts = verbatim?.length ? serializeInParts(fields, verbatim) : undefined;
      // Added up, and not joined: nobody copies its long texts until somebody reads it.
      const body = bodyParts === undefined ? serialize(fields) : bodyParts.reduce((text, part) => text + part, '');
      progress.sending(() => JSON.parse(body) as JsonValue);
      const headers = codec.headers?.(request, endpoint) ?? NONE;
      const sent = this.#api.begin({
        method: 'POST',
        path: codec.path(request, endpoint),
        frequent: true,
        body,
        bodyParts,
        accept: stream ? 'text/event-stream' : 'application/json',
        headers: traceContext === undefined ? headers : [...headers, ...traceHeaders(traceContext)],
        endpoint,
        apiKey: call.apiKey,
        signal,
        maxBytes: stream ? MAX_STREAM_BYTES : MAX_WHOLE_BYTES,
        errorShape: codec.errorShape?.bind(codec),
        connecting: progress.connecting,
        connected: progress.connected,
      });
      const { response: answered, context } = sent instanceof Promise ? await sent : sent;
      progress.calling?.(() => addressOf(context));
      const response = await answered;
      notifyLimits(response, context, call);
      const failed = response.status === 200 ? undefined : readFailedStatus(response, context);
      if (failed !== undefined) return failedReply(await failed);
      const { secrets, wallClock, errorShape } = context;
      const answer: ErrorContext = { secrets, wallClock, errorShape, header: (name) => response.header(name) };
      // What a streamed request gets is looked at as it comes, because servers name the type of a stream in many ways.
      if (stream || response.header('content-type')?.toLowerCase().startsWith('text/event-stream') === true) {
        return { type: 'stream', stream: new ResponsePieceStream(response, codec.streamDecoder(answer, request)) };
      }
      const text = readText(response);
      const decoded = codec.decodeResult(typeof text === 'string' ? text : await text, answer, request);
      return decoded.ok ? { type: 'whole', result: decoded.result } : failedReply(decoded.failure);
    } catch (error) {
      return failedReply(failureOf(error));
    }
  }

  async embed(call: EmbeddingCall): Promise<EmbeddingReply> {
    const { endpoint, apiKey, signal, progress, traceContext } = call;
    try {
      const codec = await this.#codecs.main.load();
      const { embeddings } = codec;
      if (embeddings === undefined) return failedReply(failure('adapter', 'The provider makes no embeddings'));
      const encoded = embeddings.encode(call.request, endpoint);
      const parts: EmbeddingsPart[] = [];
      for (const { path, body: fields, inputs = call.request.inputs.length } of [encoded].flat()) {
        const body = serialize(fields);
        progress.sending(() => JSON.parse(body) as JsonValue);
        const { response: answered, context } = await this.#api.begin({
          method: 'POST',
          path,
          frequent: true,
          body,
          accept: 'application/json',
          headers: traceContext === undefined ? NONE : traceHeaders(traceContext),
          endpoint,
          apiKey,
          signal,
          maxBytes: MAX_EMBEDDING_BYTES,
          errorShape: codec.errorShape?.bind(codec),
          connecting: progress.connecting,
          connected: progress.connected,
        });
        progress.calling?.(() => addressOf(context));
        const response = await answered;
        notifyLimits(response, context, call);
        const failed = await readFailedStatus(response, context);
        if (failed !== undefined) return failedReply(failed);
        const decoded = embeddings.decode(await readText(response), context);
        if (!decoded.ok) return failedReply(decoded.failure);
        parts.push({ result: decoded.result, inputs });
      }
      const joined = joinEmbeddings(parts);
      return 'vectors' in joined ? { type: 'embedded', result: joined } : failedReply(joined);
    } catch (error) {
      return failedReply(failureOf(error));
    }
  }

  async countTokens(call: TokenCountCall): Promise<ProviderTokenCount | undefined> {
    const { request, endpoint, apiKey, signal } = call;
    try {
      const { native } = request;
      const source = native === undefined ? this.#codecs.main : this.#codecs.sourceFor(native);
      const codec = await source.load();
      if (codec.tokenCount === undefined) return undefined;
      const { response, context } = await this.#api.send({
        method: 'POST',
        path: codec.tokenCount.path(request, endpoint),
        body: JSON.stringify(codec.tokenCount.encode(request, endpoint)),
        accept: 'application/json',
        headers: codec.headers?.(request, endpoint) ?? [],
        endpoint,
        apiKey,
        signal,
        maxBytes: MAX_COUNT_BYTES,
      });
      if ((await readFailedStatus(response, context)) !== undefined) return undefined;
      const answer = parseObject(await readText(response));
      return answer && codec.tokenCount.decode(answer);
    } catch {
      // Why it could not be had helps nobody: the count is made without the provider then.
      return undefined;
    }
  }

  /** Lists models: every wire here has that under the same path, and nobody charges for it. */
  async check(signal: AbortSignal): Promise<string | undefined> {
    try {
      const accept = 'application/json';
      const { response } = await this.#api.send({
        method: 'GET',
        path: '/models',
        accept,
        signal,
        maxBytes: MAX_WHOLE_BYTES,
      });
      response.cancel();
      const { status } = response;
      if (status === 401 || status === 403) return `refuses the key (${status})`;
      // Servers without a list of models are there all the same.
      return status < 400 || status === 404 || status === 405 ? undefined : `answers ${status}`;
    } catch (error) {
      return signal.aborted ? 'does not answer in time' : `cannot be reached: ${failureOf(error).message}`;
    }
  }

  async close(): Promise<void> {
    await this.#fileAddresses.loaded?.close();
    await this.#api.close();
  }
}

function batchesOf(
  batches: NonNullable<HttpProviderOptions['batches']>,
  api: ProviderApi,
  codecs: ProviderCodecs,
): NativeBatches {
  if (typeof batches !== 'function') return batchesOnFirstUse(batches, api, () => codecs.load());
  return batches(api, codecs.loaded);
}

function codecsOf(main: Codec, natives: ReadonlyMap<string, Codec>): BatchCodecs {
  return {
    codecFor(request, endpoint) {
      const { native } = request;
      const codec = (native === undefined ? undefined : natives.get(native.apiFormat)) ?? main;
      return codec.insteadFor?.(request, endpoint) ?? codec;
    },
    embeddings: main.embeddings,
  };
}

function loadedCodec(codec: Codec | CodecOnFirstUse): Codec {
  if (!('load' in codec)) return codec;
  throw new TypeError('where the codec is loaded on first use, `batches` must be, too');
}

/** Tells what an answer says about what the provider will still take. */
function notifyLimits(
  response: TransportResponse,
  { wallClock }: ErrorContext,
  { progress }: Pick<ProviderCall, 'progress'>,
): void {
  const stated = progress.limits && reportedLimits(response, wallClock);
  if (stated !== undefined) progress.limits?.(stated);
}

/** A body without fields that the provider has refused, or with the names that it wants. */
function withoutRefusedFields(
  body: Readonly<Record<string, unknown>>,
  { refusedFields: refused }: Endpoint,
): Readonly<Record<string, unknown>> {
  if (refused === undefined) return body;
  const kept = Object.entries(body).flatMap(([name, value]): [string, unknown][] => {
    const instead = refused.get(name);
    if (instead !== undefined) return [[instead, value]];
    return refused.has(name) ? [] : [[name, value]];
  });
  return Object.fromEntries(kept);
}

const NONE: readonly string[] = [];

function traceHeaders({ traceparent, tracestate }: TraceContext): readonly string[] {
  return ['traceparent', traceparent, ...(tracestate === undefined ? [] : ['tracestate', tracestate])];
}

function failureOf(thrown: unknown): AttemptFailure {
  if (thrown instanceof TransportError || thrown instanceof EncodeError) return thrown.failure;
  return failure('adapter', 'The request could not be made', { thrown });
}
