import { failure } from '../core/fallback/failure.ts';
import type { ErrorShape } from './error-shape.ts';
import {
  loadTransport,
  type Transport,
  TransportError,
  type TransportRequest,
  type TransportResponse,
} from '../net/transport.ts';
import type { ErrorContext } from './upstream-failure.ts';
import type { MaybePromise } from '../platform/wait.ts';

/** Where a provider is, and how it knows us. */
export interface ProviderApiOptions {
  /** Address that paths are below. */
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

/** One request to a provider. */
export interface ApiRequest extends Pick<
  TransportRequest,
  'method' | 'body' | 'bodyParts' | 'signal' | 'maxBytes' | 'connecting' | 'connected'
> {
  /** Path below the base URL. */
  readonly path: string;
  /** Whether the same path will be asked for often. Default false. */
  readonly frequent?: boolean | undefined;
  readonly accept: string;
  /** Type of the body. Default: JSON. */
  readonly contentType?: string | undefined;
  /** Headers of this request, names and values in turn. */
  readonly headers?: readonly string[] | undefined;
  /** The account's own key, to be used instead of the provider's. */
  readonly apiKey?: string | undefined;
  /** Reads error bodies of a form of their own. */
  readonly errorShape?: ((body: unknown) => ErrorShape | undefined) | undefined;
}

/** An answer, and what its errors are to be read with. */
export interface ApiAnswer {
  readonly response: TransportResponse;
  readonly context: ErrorContext;
}

/** A request that is on its way. */
export interface ApiExchange {
  /** Rejects with a {@link TransportError}. */
  readonly response: Promise<TransportResponse>;
  readonly context: ErrorContext;
}

/** Headers of every request, unless the configuration says otherwise. Compression costs more than it saves. */
const USUAL_HEADERS = { 'content-type': 'application/json', 'accept-encoding': 'identity' };

/** A provider's API as far as all its operations have it in common: address, headers, keys, connections. */
export class ProviderApi {
  readonly #options: ProviderApiOptions;
  readonly #baseURL: string;
  readonly #headers: readonly string[];
  readonly #ownSecrets: readonly string[];
  readonly #usualSecrets: readonly string[];
  readonly #urls = new Map<string, URL>();
  /** By what they accept: one of two or three types. */
  readonly #usual = new Map<string, readonly string[]>();
  #transport: Transport | Promise<Transport> | undefined;

  constructor(options: ProviderApiOptions) {
    this.#options = options;
    this.#baseURL = options.baseURL.replace(/\/+$/, '');
    this.#headers = Object.entries(mergeHeaders(USUAL_HEADERS, options.headers)).flat();
    this.#ownSecrets = secretHeaders(this.#headers);
    this.#usualSecrets = this.#secretsWith(typeof options.apiKey === 'string' ? options.apiKey : undefined);
    this.#transport = options.transport;
  }

  /** Sends a request and waits for its response. Rejects with a {@link TransportError}. */
  async send(request: ApiRequest): Promise<ApiAnswer> {
    const { response, context } = await this.begin(request);
    return { response: await response, context };
  }

  /** Sends a request: at once, unless a transport must be loaded or a key fetched first. */
  begin(request: ApiRequest): MaybePromise<ApiExchange> {
    const transport = (this.#transport ??= loadTransport());
    if (transport instanceof Promise) return this.#beginLater(transport, request);
    const { apiKey: configured } = this.#options;
    const apiKey = request.apiKey ?? (typeof configured === 'function' ? tokenOf(configured) : configured);
    if (apiKey instanceof Promise) return apiKey.then((key) => this.#dispatch(transport, request, key));
    return this.#dispatch(transport, request, apiKey);
  }

  async #beginLater(loading: Promise<Transport>, request: ApiRequest): Promise<ApiExchange> {
    this.#transport = await loading;
    return this.begin(request);
  }

  #dispatch(transport: Transport, request: ApiRequest, apiKey: string | undefined): ApiExchange {
    const { path, accept, contentType, headers = NONE, errorShape } = request;
    const isConfigured = apiKey === this.#options.apiKey;
    const isUsual = isConfigured && contentType === undefined && headers.length === 0;
    const url = this.#urls.get(path) ?? this.#newUrl(path, request.frequent === true);
    const response = transport.send({
      method: request.method,
      body: request.body,
      bodyParts: request.bodyParts,
      signal: request.signal,
      maxBytes: request.maxBytes,
      connecting: request.connecting,
      connected: request.connected,
      url,
      headers: isUsual
        ? (this.#usual.get(accept) ?? this.#usualHeaders(accept))
        : this.#headersWith(apiKey, accept, headers, contentType),
    });
    const secrets = isConfigured ? this.#usualSecrets : this.#secretsWith(apiKey);
    return { response, context: { secrets, url, wallClock: Date.now(), errorShape } };
  }

  /** Headers of the requests that have none of their own, kept for those that follow. */
  #usualHeaders(accept: string): readonly string[] {
    const { apiKey } = this.#options;
    const headers = this.#headersWith(typeof apiKey === 'string' ? apiKey : undefined, accept, NONE);
    this.#usual.set(accept, headers);
    return headers;
  }

  #headersWith(
    apiKey: string | undefined,
    accept: string,
    headers: readonly string[],
    contentType?: string,
  ): readonly string[] {
    return [
      ...(contentType === undefined ? this.#headers : withContentType(this.#headers, contentType)),
      ...(apiKey === undefined ? [] : this.#authorization(apiKey)),
      'accept',
      accept,
      ...headers,
    ];
  }

  /** What errors are read with that did not come as the answer to a request just made. */
  get context(): ErrorContext {
    return { secrets: this.#usualSecrets, wallClock: Date.now() };
  }

  /** Frees connections. */
  async close(): Promise<void> {
    await (await this.#transport)?.close();
  }

  /** What must not appear in any text: headers that hold keys, and the key of the call. */
  #secretsWith(apiKey: string | undefined): readonly string[] {
    return apiKey === undefined ? this.#ownSecrets : [apiKey, ...this.#ownSecrets];
  }

  #authorization(apiKey: string): readonly string[] {
    return this.#options.authorization?.(apiKey) ?? ['authorization', `Bearer ${apiKey}`];
  }

  #newUrl(path: string, frequent: boolean): URL {
    const { query } = this.#options;
    // A path may bring parameters of its own.
    const mark = path.includes('?') ? '&' : '?';
    const url = new URL(`${this.#baseURL}${path}${query === undefined ? '' : `${mark}${query}`}`);
    if (frequent && this.#urls.size < MAX_URLS) this.#urls.set(path, url);
    return url;
  }
}

/** Addresses that are kept: one for each path of a wire, and for each model where paths name it. */
const MAX_URLS = 1_000;

const NONE: readonly string[] = [];

function withContentType(headers: readonly string[], contentType: string): readonly string[] {
  const others = headers.filter((_, index) => headers[index - (index % 2)] !== 'content-type');
  return [...others, 'content-type', contentType];
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

/**
 * Headers from several places, their names in lower case. Later ones take the place of earlier ones with the same name,
 * however it is written.
 */
export function mergeHeaders(
  ...groups: readonly (Readonly<Record<string, string>> | undefined)[]
): Readonly<Record<string, string>> {
  const headers = groups.flatMap((group) => Object.entries(group ?? {}));
  return Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), value]));
}
