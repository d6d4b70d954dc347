/** Builds a provider from a codec: credentials, transport, limits and redaction for all of them. */
import type { CallTimeouts, Endpoint, EndpointDeclaration, NativeSearch } from '../catalog/endpoint.ts';
import type { NormalizedRequest } from '../contracts/request.ts';
import type { TraceContext } from '../contracts/trace-context.ts';
import { ConfigError, type ConfigProblem } from '../protocol/router-error.ts';
import type { ApiFormatName } from '../protocol/api-format.ts';
import type { JsonValue } from '../protocol/json.ts';
import { checkProviderOptions } from './check-options.ts';
import {
  type Codec,
  type CodecOnFirstUse,
  type DecodedResult,
  EncodeError,
  type OnFirstUse,
  onFirstUse,
} from './codec.ts';
import { type EmbeddingsPart, joinEmbeddings } from './embedding-codec.ts';
import { addressOf, type ErrorContext, MAX_WHOLE_BYTES, readFailedStatus } from './upstream-failure.ts';
import { namedKeys, ProviderApi, type ProviderApiOptions } from './provider-api.ts';
import { ResponsePieceStream } from './piece-stream.ts';
import {
  type EmbeddingCall,
  type Provider,
  type ProviderCall,
  type ProviderTokenCount,
  type TokenCountCall,
  failedReply,
} from '../contracts/provider.ts';

import { type ApiFormatCodecs, type BatchesOption, batchesOf, ProviderCodecs } from './provider-codecs.ts';
import { serialize, serializeInParts } from './serialize.ts';
import { reportedLimits } from './limit-headers.ts';
import { parseObject } from '../platform/json.ts';
import { andThen, type MaybePromise } from '../platform/wait.ts';
import type { ApiExchange } from './api-exchange.ts';
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
  readonly apiFormatCodecs?: ApiFormatCodecs | undefined;
  /** The provider's own batch API, spoken with the same address and keys. Default: batches are run request by request. */
  readonly batches?: BatchesOption | undefined;
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
  chat(call: ProviderCall): Promise<ProviderReply> {
    const { request, endpoint } = call;
    const { native, needs } = request;
    const source = native === undefined ? this.#codecs.main : this.#codecs.sourceFor(native);
    const { loaded } = source;
    if (loaded === undefined || needs.files === true) return this.#chatLater(call, source);
    try {
      const codec = loaded.insteadFor?.(request, endpoint) ?? loaded;
      const sent = this.#send(call, request, codec);
      if (sent instanceof Promise) return sent.then((one) => readReply(one, call, request, codec), failedWith);
      return readReply(sent, call, request, codec);
    } catch (error) {
      return Promise.resolve(failedWith(error));
    }
  }

  /** The same where a codec must be loaded, or files may have to be fetched. */
  async #chatLater(call: ProviderCall, source: OnFirstUse<Codec>): Promise<ProviderReply> {
    const { endpoint, signal } = call;
    let { request } = call;
    try {
      const usual = await source.load();
      const codec = usual.insteadFor?.(request, endpoint) ?? usual;
      if (request.needs.files === true && codec.takesAddresses?.(endpoint) === false) {
        request = await (await this.#fileAddresses.load()).withData(request, signal);
      }
      return await readReply(await this.#send(call, request, codec), call, request, codec);
    } catch (error) {
      return failedWith(error);
    }
  }

  #send(call: ProviderCall, request: NormalizedRequest, codec: Codec): MaybePromise<ApiExchange> {
    const { endpoint, apiKey, signal, progress, traceContext } = call;
    const { stream, verbatim } = request;
    const encoded = codec.encode(request, endpoint, progress.adjusted);
    const fields = endpoint.refusedFields === undefined ? encoded : withoutRefusedFields(encoded, endpoint);
    const bodyParts = verbatim?.length ? serializeInParts(fields, verbatim) : undefined;
    // Added up, and not joined: nobody copies its long texts until somebody reads it.
    const body = bodyParts === undefined ? serialize(fields) : bodyParts.reduce((text, part) => text + part, '');
    progress.sending(() => JSON.parse(body) as JsonValue);
    const headers = codec.headers?.(request, endpoint) ?? NONE;
    return this.#api.begin({
      method: 'POST',
      path: codec.path(request, endpoint),
      frequent: true,
      body,
      bodyParts,
      accept: stream ? 'text/event-stream' : 'application/json',
      headers: traceContext === undefined ? headers : [...headers, ...traceHeaders(traceContext)],
      endpoint,
      apiKey,
      signal,
      maxBytes: stream ? MAX_STREAM_BYTES : MAX_WHOLE_BYTES,
      errorShape: codec.errorShape?.bind(codec),
      connecting: progress.connecting,
      connected: progress.connected,
    });
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
      return failedWith(error);
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

/** Reads the answer to a request when it comes. Not by `await`: an async function keeps all it has until it goes on. */
function readReply(
  { response: answered, context }: ApiExchange,
  call: ProviderCall,
  request: NormalizedRequest,
  codec: Codec,
): Promise<ProviderReply> {
  call.progress.calling?.(() => addressOf(context));
  return answered.then((response): MaybePromise<ProviderReply> => {
    try {
      notifyLimits(response, context, call);
      const failed = response.status === 200 ? undefined : readFailedStatus(response, context);
      if (failed !== undefined) return andThen(failed, failedReply, failedWith);
      const { secrets, wallClock, errorShape } = context;
      const answer: ErrorContext = { secrets, wallClock, errorShape, header: (name) => response.header(name) };
      // What a streamed request gets is looked at as it comes, because servers name the type of a stream in many ways.
      if (request.stream || response.header('content-type')?.toLowerCase().startsWith('text/event-stream') === true) {
        return { type: 'stream', stream: new ResponsePieceStream(response, codec.streamDecoder(answer, request)) };
      }
      const text = readText(response);
      if (typeof text === 'string') return wholeReply(codec.decodeResult(text, answer, request));
      return text.then((late) => wholeReply(codec.decodeResult(late, answer, request))).catch(failedWith);
    } catch (error) {
      return failedWith(error);
    }
  }, failedWith);
}

function wholeReply(decoded: DecodedResult): ProviderReply {
  return decoded.ok ? { type: 'whole', result: decoded.result } : failedReply(decoded.failure);
}

/** The reply of a call that was given up with an error. */
function failedWith(thrown: unknown): ReturnType<typeof failedReply> {
  return failedReply(failureOf(thrown));
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
