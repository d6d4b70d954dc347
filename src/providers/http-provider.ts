import type { CallTimeouts, EndpointDeclaration, NativeSearch } from '../catalog/endpoint.ts';
import { type AttemptFailure, failure, failedReply } from '../core/fallback/failure.ts';
import type { NormalizedRequest } from '../core/normalize/normalized-request.ts';
import type { TraceContext } from '../core/trace-context.ts';
import { ConfigError, type ConfigProblem } from '../protocol/router-error.ts';
import type { DialectName } from '../protocol/dialect.ts';
import type { JsonValue } from '../protocol/json.ts';
import { checkProviderOptions } from './check-options.ts';
import { type Codec, EncodeError } from './codec.ts';
import { type EmbeddingCodec, type EmbeddingsPart, joinEmbeddings } from './embedding-codec.ts';
import { type ErrorContext, MAX_WHOLE_BYTES, readFailedStatus } from './upstream-failure.ts';
import { type ApiExchange, ProviderApi, type ProviderApiOptions } from './provider-api.ts';
import type { BatchCodecs } from './batch-codecs.ts';
import type { NativeBatches } from '../contracts/native-batches.ts';
import { ResponsePieceStream } from './piece-stream.ts';
import type { EmbeddingCall, EmbeddingReply, Provider, ProviderCall, ProviderReply } from '../contracts/provider.ts';

import { serialize } from './serialize.ts';
import { reportedLimits } from './limit-headers.ts';
import { andThen, type MaybePromise } from '../platform/wait.ts';
import { readText, TransportError, type TransportResponse } from '../net/transport.ts';

/** What an HTTP provider is made of. */
export interface HttpProviderOptions<Model extends string = string> extends ProviderApiOptions {
  /** Name of the provider in preferences: lower-case letters, digits and dashes. */
  readonly slug: string;
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
  readonly codec: Codec;
  /** Codecs for callers who ask in a dialect that this provider speaks itself. */
  readonly dialectCodecs?: Readonly<Partial<Record<DialectName, Codec>>> | undefined;
  /** The provider's own batch API, spoken with the same address and keys. Default: batches are run request by request. */
  readonly batches?: ((api: ProviderApi, codecs: BatchCodecs) => NativeBatches) | undefined;
}

/** Most bytes of a streamed answer, decompressed. */
const MAX_STREAM_BYTES = 512_000_000;
/** Most bytes of an answer with embeddings: as many vectors as a request may ask for, written as numbers. */
const MAX_EMBEDDING_BYTES = 2 * MAX_WHOLE_BYTES;

/** What sending needs of a call. */
type PostedCall = Pick<ProviderCall, 'apiKey' | 'signal' | 'progress' | 'traceContext'>;

/** What is sent, besides what every request of a provider has. */
interface Sending {
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly accept: string;
  readonly headers: readonly string[];
  readonly maxBytes: number;
  readonly verbatim?: readonly string[] | undefined;
}

/**
 * Builds a provider from a codec and the shared transport: connections, deadlines, cancellation, limits of size, the
 * reading of event streams, error bodies and the hiding of keys are all here.
 *
 * @param problems - What else is wrong with the configuration, to be told together with what is found here.
 * @throws {@link ConfigError} when the slug, the address or the key cannot be right.
 */
export function httpProvider<const Model extends string = string>(
  options: HttpProviderOptions<Model>,
  problems: readonly ConfigProblem[] = [],
): Provider<Model> {
  const { slug, name = slug, models, dataCollection, zeroDataRetention } = options;
  const { nativeSearch, readsFiles, dialectCodecs = {} } = options;
  const all = [...checkProviderOptions(options), ...problems];
  if (all.length > 0) throw new ConfigError(all);
  const api = new ProviderApi(options);

  function codecFor({ native }: NormalizedRequest): Codec {
    return (native === undefined ? undefined : dialectCodecs[native.dialect]) ?? options.codec;
  }

  function chat(call: ProviderCall): Promise<ProviderReply> {
    const { request, endpoint } = call;
    const { stream } = request;
    const codec = codecFor(request);
    try {
      const posted = post(call, codec, {
        path: codec.path(request, endpoint),
        body: codec.encode(request, endpoint),
        accept: stream ? 'text/event-stream' : 'application/json',
        headers: codec.headers?.(request, endpoint) ?? NONE,
        maxBytes: stream ? MAX_STREAM_BYTES : MAX_WHOLE_BYTES,
        verbatim: request.verbatim,
      });
      const read = ({ response, context }: ApiExchange): Promise<ProviderReply> =>
        response.then((one) => {
          tellLimits(one, context, call);
          return readReply(one, codec, request, context);
        }, failedBy);
      return posted instanceof Promise ? posted.then(read, failedBy) : read(posted);
    } catch (error) {
      return Promise.resolve(failedBy(error));
    }
  }

  async function embed(call: EmbeddingCall, embeddings: EmbeddingCodec): Promise<EmbeddingReply> {
    try {
      const encoded = embeddings.encode(call.request, call.endpoint);
      const parts: EmbeddingsPart[] = [];
      for (const { path, body, inputs = call.request.inputs.length } of [encoded].flat()) {
        const sending = { path, body, accept: 'application/json', headers: [], maxBytes: MAX_EMBEDDING_BYTES };
        const { response: answered, context } = await post(call, options.codec, sending);
        const response = await answered;
        tellLimits(response, context, call);
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

  function post(
    { apiKey, signal, progress, traceContext }: PostedCall,
    codec: Codec,
    { body: fields, verbatim, ...sending }: Sending,
  ): MaybePromise<ApiExchange> {
    const body = serialize(fields, verbatim);
    progress.sending(() => JSON.parse(body) as JsonValue);
    const { connecting, connected } = progress;
    const errorShape = codec.errorShape?.bind(codec);
    return api.begin({
      ...sending,
      method: 'POST',
      headers: traceContext === undefined ? sending.headers : [...sending.headers, ...traceHeaders(traceContext)],
      frequent: true,
      body,
      apiKey,
      signal,
      errorShape,
      connecting,
      connected,
    });
  }

  /** Lists models: every wire here has that under the same path, and nobody charges for it. */
  async function check(signal: AbortSignal): Promise<string | undefined> {
    try {
      const accept = 'application/json';
      const { response } = await api.send({
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

  const { embeddings } = options.codec;
  return {
    slug,
    name,
    models: models ?? {},
    acceptsAnyModel: models === undefined,
    dataCollection,
    zeroDataRetention,
    timeouts: options.timeouts,
    nativeSearch,
    readsFiles,
    dialects: Object.keys(dialectCodecs) as DialectName[],
    unsupported: options.codec.unsupported,
    cacheMarks: options.codec.cacheMarks,
    chat,
    check,
    ...(embeddings === undefined ? {} : { embed: (call: EmbeddingCall) => embed(call, embeddings) }),
    ...(options.batches === undefined ? {} : { batches: options.batches(api, { codecFor, embeddings }) }),
    close: () => api.close(),
  };
}

/** Reads a response. Whatever goes wrong is a failure, never thrown. */
/** Tells what an answer says about what the provider will still take. */
function tellLimits(response: TransportResponse, { wallClock }: ErrorContext, { progress }: PostedCall): void {
  const told = progress.limits && reportedLimits((field) => response.header(field), wallClock);
  if (told !== undefined) progress.limits?.(told);
}

function readReply(
  response: TransportResponse,
  codec: Codec,
  request: NormalizedRequest,
  context: ErrorContext,
): MaybePromise<ProviderReply> {
  try {
    const reply = andThen(readFailedStatus(response, context), (failed) =>
      failed === undefined ? readAnswer(response, codec, request, context) : failedReply(failed),
    );
    return reply instanceof Promise ? reply.catch(failedBy) : reply;
  } catch (error) {
    return failedBy(error);
  }
}

/** The reply of a call that something was thrown in. */
function failedBy(thrown: unknown): ReturnType<typeof failedReply> {
  return failedReply(failureOf(thrown));
}

const NONE: readonly string[] = [];

/** Reads what came with a good status. */
function readAnswer(
  response: TransportResponse,
  codec: Codec,
  request: NormalizedRequest,
  context: ErrorContext,
): MaybePromise<ProviderReply> {
  const answer = { ...context, header: (name: string) => response.header(name) };
  // What a streamed request gets is looked at as it comes, because servers name the type of a stream in many ways.
  if (request.stream || response.header('content-type')?.toLowerCase().startsWith('text/event-stream') === true) {
    return { type: 'stream', stream: new ResponsePieceStream(response, codec.streamDecoder(answer, request)) };
  }
  return andThen(readText(response), (text) => {
    const decoded = codec.decodeResult(text, answer, request);
    return decoded.ok ? { type: 'whole', result: decoded.result } : failedReply(decoded.failure);
  });
}

function traceHeaders({ traceparent, tracestate }: TraceContext): readonly string[] {
  return ['traceparent', traceparent, ...(tracestate === undefined ? [] : ['tracestate', tracestate])];
}

function failureOf(thrown: unknown): AttemptFailure {
  if (thrown instanceof TransportError || thrown instanceof EncodeError) return thrown.failure;
  return failure('adapter', 'The request could not be made');
}
