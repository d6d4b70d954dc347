import type { Endpoint, EndpointDeclaration } from '../catalog/endpoint.ts';
import { failure } from '../core/fallback/failure.ts';
import type { NormalizedRequest } from '../core/normalize/normalized-request.ts';
import type { DialectName } from '../protocol/dialect.ts';
import type { JsonValue } from '../protocol/json.ts';
import type { Codec } from './codec.ts';
import { EncodeError } from './encode-error.ts';
import { ResponsePieceStream } from './piece-stream.ts';
import { MAX_WHOLE_BYTES } from './plain-body.ts';
import { type Provider, type ProviderCall, type ProviderReply, failedReply } from './provider.ts';
import { serialize } from './serialize.ts';
import { loadTransport } from './transport/load.ts';
import { type Transport, TransportError, type TransportResponse, readStart, readText } from './transport/transport.ts';
import { type ErrorContext, failureOfResponse } from './upstream-failure.ts';

/** What an HTTP provider is made of. */
export interface HttpProviderOptions<Model extends string> {
  readonly slug: string;
  readonly name: string;
  readonly models: Readonly<Record<Model, EndpointDeclaration | readonly EndpointDeclaration[]>>;
  readonly acceptsAnyModel: boolean;
  readonly dataCollection?: boolean | undefined;
  readonly zeroDataRetention?: boolean | undefined;
  readonly codec: Codec;
  /** Codecs for callers who ask in a dialect that this provider speaks itself. */
  readonly dialectCodecs?: Readonly<Partial<Record<DialectName, Codec>>> | undefined;
  /** Base address without a slash at the end. */
  readonly baseURL: string;
  /** Query of every request, for example an API version. */
  readonly query?: string | undefined;
  /** The key, or what gives one for each call, such as a token that is renewed. */
  readonly apiKey?: string | (() => string | Promise<string>) | undefined;
  /** Names and values of the header that carries the key. */
  readonly authorization: (apiKey: string) => readonly string[];
  /** Headers of every request, names and values in turn. */
  readonly headers: readonly string[];
  readonly transport?: Transport | undefined;
}

/** Most bytes of a streamed answer, decompressed. */
const MAX_STREAM_BYTES = 512_000_000;
/** Bytes of an error body that are read: an error that needs more is a page of somebody else's. */
const MAX_ERROR_BYTES = 64 * 1024;

/** Builds a provider from a codec and the shared transport. */
export function httpProvider<Model extends string>(options: HttpProviderOptions<Model>): Provider<Model> {
  const { slug, name, models, acceptsAnyModel, dataCollection, zeroDataRetention, query } = options;
  const { dialectCodecs = {} } = options;
  const ownSecrets = secretHeaders(options.headers);
  const urls = new Map<string, URL>();
  let transport: Transport | Promise<Transport> | undefined = options.transport;

  function codecFor({ native }: NormalizedRequest): Codec {
    return (native === undefined ? undefined : dialectCodecs[native.dialect]) ?? options.codec;
  }

  function urlFor(codec: Codec, request: NormalizedRequest, endpoint: Endpoint): URL {
    const path = codec.path(request, endpoint);
    let url = urls.get(path);
    if (url === undefined) {
      url = new URL(`${options.baseURL}${path}${query === undefined ? '' : `?${query}`}`);
      if (urls.size < 1_000) urls.set(path, url);
    }
    return url;
  }

  async function chat(call: ProviderCall): Promise<ProviderReply> {
    try {
      return await send(call);
    } catch (error) {
      if (error instanceof TransportError || error instanceof EncodeError) return failedReply(error.failure);
      return failedReply(failure('adapter', 'The request could not be made'));
    }
  }

  async function send(call: ProviderCall): Promise<ProviderReply> {
    const { request, endpoint, signal, progress } = call;
    const codec = codecFor(request);
    const body = serialize(codec.encode(request, endpoint));
    progress.sending(() => JSON.parse(body) as JsonValue);
    transport ??= loadTransport();
    if (transport instanceof Promise) transport = await transport;
    const apiKey =
      call.apiKey ?? (typeof options.apiKey === 'function' ? await tokenOf(options.apiKey) : options.apiKey);
    const context: ErrorContext = {
      secrets: apiKey === undefined ? ownSecrets : [apiKey, ...ownSecrets],
      wallClock: Date.now(),
    };
    const response = await transport.send({
      method: 'POST',
      url: urlFor(codec, request, endpoint),
      headers: [
        ...options.headers,
        ...(apiKey === undefined ? [] : options.authorization(apiKey)),
        'accept',
        request.stream ? 'text/event-stream' : 'application/json',
        ...(codec.headers?.(request, endpoint) ?? []),
      ],
      body,
      signal,
      maxBytes: request.stream ? MAX_STREAM_BYTES : MAX_WHOLE_BYTES,
      connecting: progress.connecting,
      connected: progress.connected,
    });
    return readReply(response, codec, request, context);
  }

  return {
    slug,
    name,
    models,
    acceptsAnyModel,
    dataCollection,
    zeroDataRetention,
    dialects: Object.keys(dialectCodecs) as DialectName[],
    chat,
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
  const { status } = response;
  if (status < 200 || status >= 300) return readFailure(response, context);
  if (status !== 200 && status !== 201) {
    response.cancel();
    return failedReply(failure('bad_response', `The provider answered ${status} without an answer in it`, { status }));
  }
  const answer = { ...context, header: (name: string) => response.header(name) };
  // What a streamed request gets is looked at as it comes, because servers name the type of a stream in many ways.
  if (request.stream || response.header('content-type')?.toLowerCase().startsWith('text/event-stream') === true) {
    return { type: 'stream', stream: new ResponsePieceStream(response, codec.streamDecoder(answer, request)) };
  }
  const decoded = codec.decodeResult(await readText(response), answer, request);
  return decoded.ok ? { type: 'whole', result: decoded.result } : failedReply(decoded.failure);
}

/** An error body that cannot be read must not hide the status. */
async function readFailure(response: TransportResponse, context: ErrorContext): Promise<ProviderReply> {
  const body = await readStart(response, MAX_ERROR_BYTES);
  return failedReply(failureOfResponse(response.status, (name) => response.header(name), body, context));
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
