import type { EndpointDeclaration, NativeSearch } from '../catalog/endpoint.ts';
import { type AttemptFailure, failure } from '../core/fallback/failure.ts';
import type { NormalizedRequest } from '../core/normalize/normalized-request.ts';
import { ConfigError, type ConfigProblem } from '../errors.ts';
import type { DialectName } from '../protocol/dialect.ts';
import type { JsonValue } from '../protocol/json.ts';
import { checkProviderOptions } from './check-options.ts';
import type { Codec } from './codec.ts';
import type { EmbeddingCodec } from './embedding-codec.ts';
import { EncodeError } from './encode-error.ts';
import { mergeHeaders } from './headers.ts';
import { type EmbeddingsPart, joinEmbeddings } from './join-embeddings.ts';
import { ResponsePieceStream } from './piece-stream.ts';
import { MAX_WHOLE_BYTES } from './plain-body.ts';
import {
  type EmbeddingCall,
  type EmbeddingReply,
  type Provider,
  type ProviderCall,
  type ProviderReply,
  failedReply,
} from './provider.ts';
import { serialize } from './serialize.ts';
import { loadTransport } from './transport/load.ts';
import { type Transport, TransportError, type TransportResponse, readStart, readText } from './transport/transport.ts';
import { type ErrorContext, failureOfResponse } from './upstream-failure.ts';

/** What an HTTP provider is made of. */
export interface HttpProviderOptions<Model extends string = string> {
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
  /** Whether the provider can search the web by itself. Default: it cannot. */
  readonly nativeSearch?: NativeSearch | undefined;
  /** True when its models read PDFs by themselves, as far as nothing else is known of them. Default false. */
  readonly readsFiles?: boolean | undefined;
  readonly codec: Codec;
  /** Codecs for callers who ask in a dialect that this provider speaks itself. */
  readonly dialectCodecs?: Readonly<Partial<Record<DialectName, Codec>>> | undefined;
  /** Address that the codec's paths stand below. */
  readonly baseURL: string;
  /** Query of every request, for example an API version. */
  readonly query?: string | undefined;
  /** The key, or what gives one for each call, such as a token that is renewed. */
  readonly apiKey?: string | (() => string | Promise<string>) | undefined;
  /** Names and values, in turn, of the headers that carry the key. Default: `authorization`, with `Bearer` in front. */
  readonly authorization?: ((apiKey: string) => readonly string[]) | undefined;
  /** Headers of every request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** How requests are sent. Default: undici on Node, `fetch` elsewhere. */
  readonly transport?: Transport | undefined;
}

/** Headers of every request, unless the configuration says otherwise. Compression costs more than it saves. */
const USUAL_HEADERS = { 'content-type': 'application/json', 'accept-encoding': 'identity' };

/** Most bytes of a streamed answer, decompressed. */
const MAX_STREAM_BYTES = 512_000_000;
/** Most bytes of an answer with embeddings: as many vectors as a request may ask for, written as numbers. */
const MAX_EMBEDDING_BYTES = 2 * MAX_WHOLE_BYTES;
/** Bytes of an error body that are read: an error that needs more is a page of somebody else's. */
const MAX_ERROR_BYTES = 64 * 1024;

/** What is sent, besides what every request of a provider has. */
interface Sending {
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly accept: string;
  readonly headers: readonly string[];
  readonly maxBytes: number;
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
  const { slug, name = slug, models, dataCollection, zeroDataRetention, query } = options;
  const { nativeSearch, readsFiles, dialectCodecs = {} } = options;
  const all = [...checkProviderOptions(options), ...problems];
  if (all.length > 0) throw new ConfigError(all);
  const baseURL = options.baseURL.replace(/\/+$/, '');
  const authorization = options.authorization ?? ((apiKey: string) => ['authorization', `Bearer ${apiKey}`]);
  const headers = Object.entries(mergeHeaders(USUAL_HEADERS, options.headers)).flat();
  const ownSecrets = secretHeaders(headers);
  const urls = new Map<string, URL>();
  let transport: Transport | Promise<Transport> | undefined = options.transport;

  function codecFor({ native }: NormalizedRequest): Codec {
    return (native === undefined ? undefined : dialectCodecs[native.dialect]) ?? options.codec;
  }

  function urlFor(path: string): URL {
    let url = urls.get(path);
    if (url === undefined) {
      url = new URL(`${baseURL}${path}${query === undefined ? '' : `?${query}`}`);
      if (urls.size < 1_000) urls.set(path, url);
    }
    return url;
  }

  async function chat(call: ProviderCall): Promise<ProviderReply> {
    const { request, endpoint } = call;
    const { stream } = request;
    const codec = codecFor(request);
    try {
      const { response, context } = await post(call, codec, {
        path: codec.path(request, endpoint),
        body: codec.encode(request, endpoint),
        accept: stream ? 'text/event-stream' : 'application/json',
        headers: codec.headers?.(request, endpoint) ?? [],
        maxBytes: stream ? MAX_STREAM_BYTES : MAX_WHOLE_BYTES,
      });
      return await readReply(response, codec, request, context);
    } catch (error) {
      return failedReply(failureOf(error));
    }
  }

  async function embed(call: EmbeddingCall, embeddings: EmbeddingCodec): Promise<EmbeddingReply> {
    try {
      const encoded = embeddings.encode(call.request, call.endpoint);
      const parts: EmbeddingsPart[] = [];
      for (const { path, body, inputs = call.request.inputs.length } of [encoded].flat()) {
        const sending = { path, body, accept: 'application/json', headers: [], maxBytes: MAX_EMBEDDING_BYTES };
        const { response, context } = await post(call, options.codec, sending);
        const failed = await readFailedStatus(response, context);
        if (failed !== undefined) return failed;
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

  async function post(
    { apiKey: ownKey, signal, progress }: Pick<ProviderCall, 'apiKey' | 'signal' | 'progress'>,
    codec: Codec,
    sending: Sending,
  ): Promise<{ readonly response: TransportResponse; readonly context: ErrorContext }> {
    const body = serialize(sending.body);
    progress.sending(() => JSON.parse(body) as JsonValue);
    transport ??= loadTransport();
    if (transport instanceof Promise) transport = await transport;
    const apiKey = ownKey ?? (typeof options.apiKey === 'function' ? await tokenOf(options.apiKey) : options.apiKey);
    const context: ErrorContext = {
      secrets: apiKey === undefined ? ownSecrets : [apiKey, ...ownSecrets],
      wallClock: Date.now(),
      errorShape: codec.errorShape?.bind(codec),
    };
    const response = await transport.send({
      method: 'POST',
      url: urlFor(sending.path),
      headers: [
        ...headers,
        ...(apiKey === undefined ? [] : authorization(apiKey)),
        'accept',
        sending.accept,
        ...sending.headers,
      ],
      body,
      signal,
      maxBytes: sending.maxBytes,
      connecting: progress.connecting,
      connected: progress.connected,
    });
    return { response, context };
  }

  const { embeddings } = options.codec;
  return {
    slug,
    name,
    models: models ?? {},
    acceptsAnyModel: models === undefined,
    dataCollection,
    zeroDataRetention,
    nativeSearch,
    readsFiles,
    dialects: Object.keys(dialectCodecs) as DialectName[],
    unsupported: options.codec.unsupported,
    chat,
    ...(embeddings === undefined ? {} : { embed: (call: EmbeddingCall) => embed(call, embeddings) }),
    async close() {
      await (await transport)?.close();
    },
  };
}

async function readReply(
  response: TransportResponse,
  codec: Codec,
  request: NormalizedRequest,
  context: ErrorContext,
): Promise<ProviderReply> {
  const failed = await readFailedStatus(response, context);
  if (failed !== undefined) return failed;
  const answer = { ...context, header: (name: string) => response.header(name) };
  // What a streamed request gets is looked at as it comes, because servers name the type of a stream in many ways.
  if (request.stream || response.header('content-type')?.toLowerCase().startsWith('text/event-stream') === true) {
    return { type: 'stream', stream: new ResponsePieceStream(response, codec.streamDecoder(answer, request)) };
  }
  const decoded = codec.decodeResult(await readText(response), answer, request);
  return decoded.ok ? { type: 'whole', result: decoded.result } : failedReply(decoded.failure);
}

/** The failure that a status tells of. An error body that cannot be read must not hide it. */
async function readFailedStatus(
  response: TransportResponse,
  context: ErrorContext,
): Promise<ReturnType<typeof failedReply> | undefined> {
  const { status } = response;
  if (status === 200 || status === 201) return undefined;
  if (status >= 200 && status < 300) {
    response.cancel();
    return failedReply(failure('bad_response', `The provider answered ${status} without an answer in it`, { status }));
  }
  const body = await readStart(response, MAX_ERROR_BYTES);
  return failedReply(failureOfResponse(response.status, (name) => response.header(name), body, context));
}

function failureOf(thrown: unknown): AttemptFailure {
  if (thrown instanceof TransportError || thrown instanceof EncodeError) return thrown.failure;
  return failure('adapter', 'The request could not be made');
}

async function tokenOf(source: () => string | Promise<string>): Promise<string> {
  try {
    const token: unknown = await source();
    if (typeof token === 'string' && /^[\x21-\x7e]+$/.test(token)) return token;
  } catch {
    // What a program's own function says may hold secrets, so nobody is told.
  }
  throw new TransportError(failure('adapter', 'There is no access token for the provider'));
}

/** Values of configured headers that hold keys by their name. They must not come back to a caller either. */
function secretHeaders(headers: readonly string[]): readonly string[] {
  const values = headers.filter((_, index) => index % 2 === 1 && HOLDS_KEYS.test(headers[index - 1] ?? ''));
  return values.flatMap((value) => value.split(/\s+/)).filter((word) => word.length >= SHORTEST_KEY);
}

const HOLDS_KEYS = /auth|key|token|secret|cookie/i;
/** Shorter words in such headers are names of schemes. */
const SHORTEST_KEY = 8;
