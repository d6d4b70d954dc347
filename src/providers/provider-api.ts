/** Sends requests to one provider: address, credentials and headers. */
import type { ProviderKey, ProviderKeyFunction } from '../options/accounts.ts';
import type { NetworkOptions } from '../options/http.ts';
import type { Endpoint, EndpointKey } from '../catalog/endpoint.ts';
import type { ErrorShape } from './error-shape.ts';
import type { Transport, TransportRequest, TransportResponse } from '../net/transport.ts';
import type { ErrorContext } from './upstream-failure.ts';
import { type MaybePromise, onDemand } from '../platform/wait.ts';
import { loadTransport } from '../net/load-transport.ts';
import type { ApiExchange } from './api-exchange.ts';

/** Where a provider is, and how it knows us. */
export interface ProviderApiOptions {
  /** Address that paths are below. */
  readonly baseURL: string;
  /** Query of every request, for example an API version. */
  readonly query?: string | undefined;
  /** The key, or a function that gives keys or tokens. */
  readonly apiKey?: ProviderKey | undefined;
  /** Several keys, each for endpoints of its own: takes the place of `apiKey`. */
  readonly keys?: readonly (ProviderKey | NamedKey)[] | undefined;
  /** Names and values, in turn, of the headers that carry the key. Default: `authorization`, with `Bearer` in front. */
  readonly authorization?: ((apiKey: string) => readonly string[]) | undefined;
  /** Headers of every request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Proxy and certificate authorities of this provider. Node only. Default: those of the router. */
  readonly net?: NetworkOptions | undefined;
  /** How requests are sent. Default: undici on Node, `fetch` elsewhere. */
  readonly transport?: Transport | undefined;
}

/** One of several keys of a provider. */
export interface NamedKey extends Partial<EndpointKey> {
  /** The key, or a function that gives keys or tokens. */
  readonly apiKey: ProviderKey;
}

/** Several keys, all with a name: those without one are `key-1`, `key-2` and so on, by their place. */
export function namedKeys(keys: readonly (ProviderKey | NamedKey)[]): readonly (NamedKey & EndpointKey)[] {
  return keys.map((one, index) => {
    const given = typeof one === 'object' ? one : { apiKey: one };
    return { ...given, name: given.name ?? `key-${index + 1}` };
  });
}

/** One request to a provider. */
export interface ApiRequest extends Pick<
  TransportRequest,
  'method' | 'body' | 'bodyParts' | 'signal' | 'maxBytes' | 'connecting' | 'connected'
> {
  /** Path below the base URL. */
  readonly path: string;
  /** Whether the same path will be requested often. Default false. */
  readonly frequent?: boolean | undefined;
  readonly accept: string;
  /** Type of the body. Default: JSON. */
  readonly contentType?: string | undefined;
  /** Headers of this request, names and values in turn. */
  readonly headers?: readonly string[] | undefined;
  /** The account's own key, to be used instead of the provider's. */
  readonly apiKey?: ProviderKey | undefined;
  /** Where it goes: the provider's key that is for this endpoint is used. Default: the first. */
  readonly endpoint?: Pick<Endpoint, 'key'> | undefined;
  /** Reads error bodies of a form of their own. */
  readonly errorShape?: ((body: unknown) => ErrorShape | undefined) | undefined;
}

/** An answer, and what its errors are to be read with. */
export interface ApiAnswer {
  readonly response: TransportResponse;
  readonly context: ErrorContext;
}

/** Headers of every request, unless the configuration says otherwise. Compression costs more than it saves. */
const USUAL_HEADERS = { 'content-type': 'application/json', 'accept-encoding': 'identity' };

/** A provider's API as far as all its operations have it in common: address, headers, keys, connections. */
export class ProviderApi {
  readonly #options: ProviderApiOptions;
  readonly #keys: ReadonlyMap<string, ProviderKey>;
  readonly #firstKey: ProviderKey | undefined;
  readonly #baseURL: string;
  readonly #headers: readonly string[];
  readonly #ownSecrets: readonly string[];
  readonly #usualSecrets: readonly string[];
  /** The latest token of each function. */
  readonly #issued = new WeakMap<ProviderKeyFunction, string>();
  readonly #urls = new Map<string, URL>();
  /** By what they accept: one of two or three types. */
  readonly #usual = new Map<string, readonly string[]>();
  #transport: Transport | Promise<Transport> | undefined;

  constructor(options: ProviderApiOptions) {
    this.#options = options;
    this.#baseURL = options.baseURL.replace(/\/+$/, '');
    this.#headers = Object.entries(mergeHeaders(USUAL_HEADERS, options.headers)).flat();
    this.#ownSecrets = secretHeaders(this.#headers);
    this.#keys = new Map(namedKeys(options.keys ?? []).map(({ name, apiKey }) => [name, apiKey]));
    [this.#firstKey = options.apiKey] = this.#keys.values();
    this.#usualSecrets = this.#secretsWith(typeof this.#firstKey === 'string' ? this.#firstKey : undefined);
    this.#transport = options.transport;
  }

  /** Sends a request and waits for its response. Rejects with a {@link TransportError}. */
  async send(request: ApiRequest): Promise<ApiAnswer> {
    const { response, context } = await this.begin(request);
    return { response: await response, context };
  }

  /** Sends a request: at once, unless a transport must be loaded or a key fetched first. */
  begin(request: ApiRequest): MaybePromise<ApiExchange> {
    const transport = (this.#transport ??= loadTransport(this.#options.net));
    if (transport instanceof Promise) return this.#beginLater(transport, request);
    const named = request.endpoint?.key;
    const apiKey = request.apiKey ?? (named === undefined ? undefined : this.#keys.get(named)) ?? this.#firstKey;
    if (typeof apiKey === 'function') return this.#beginWithToken(transport, request, apiKey);
    return this.#dispatch(transport, request, apiKey);
  }

  async #beginWithToken(transport: Transport, request: ApiRequest, give: ProviderKeyFunction): Promise<ApiExchange> {
    const { sendWithToken } = await tokens();
    return sendWithToken(give, (token) => {
      this.#issued.set(give, token);
      return this.#dispatch(transport, request, token);
    });
  }

  async #beginLater(loading: Promise<Transport>, request: ApiRequest): Promise<ApiExchange> {
    this.#transport = await loading;
    return this.begin(request);
  }

  #dispatch(transport: Transport, request: ApiRequest, apiKey: string | undefined): ApiExchange {
    const { path, accept, contentType, headers = NONE, errorShape } = request;
    const isConfigured = apiKey === this.#firstKey;
    const isUsual = isConfigured && contentType === undefined && headers.length === 0;
    const url = this.#urls.get(path) ?? (request.frequent === true ? this.#keptUrl(path) : this.#newUrl(path));
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
    const apiKey = this.#firstKey;
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

  /**
   * What must not appear in texts that did not come as the answer to a request just made.
   *
   * @param apiKey - The account's own key. Default: the provider's.
   */
  secrets(apiKey: ProviderKey | undefined = this.#firstKey): readonly string[] {
    return this.#secretsWith(typeof apiKey === 'function' ? this.#issued.get(apiKey) : apiKey);
  }

  /** What errors are read with that did not come as the answer to a request just made. */
  get context(): ErrorContext {
    return { secrets: this.secrets(), wallClock: Date.now() };
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

  #keptUrl(path: string): URL {
    const url = this.#newUrl(path);
    if (this.#urls.size < MAX_URLS) this.#urls.set(path, url);
    return url;
  }

  #newUrl(path: string): URL {
    const { query } = this.#options;
    // A path may bring parameters of its own.
    const mark = path.includes('?') ? '&' : '?';
    return new URL(`${this.#baseURL}${path}${query === undefined ? '' : `${mark}${query}`}`);
  }
}

/** Addresses that are kept: one for each path of a wire, and for each model where paths name it. */
const MAX_URLS = 1_000;

const NONE: readonly string[] = [];

function withContentType(headers: readonly string[], contentType: string): readonly string[] {
  const others = headers.filter((_, index) => headers[index - (index % 2)] !== 'content-type');
  return [...others, 'content-type', contentType];
}

/** What calls functions that give keys: most programs have none. */
const tokens = onDemand(() => import('./issued-tokens.ts'));

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
