/** The transport on Node, over undici's dispatcher. */
import { Agent, buildConnector, Client, type Dispatcher, Pool } from 'undici';
import type { NetworkOptions } from '../options/http.ts';
import { guardedConnector, guardedHost, type Lookup } from './guarded-connector.ts';
import { proxiedConnector, trusting } from './proxy.ts';
import {
  type AddressGuard,
  type Transport,
  type TransportRequest,
  MAX_HEADERS,
  tooManyHeaders,
  TransportError,
  type TransportResponse,
} from './transport.ts';
import { connectionFailure } from './connection-failure.ts';
import { decompressBody, type ByteFilter } from './content-decoding.ts';
import { skipContinue } from './interim-responses.ts';
import { areAscii, LONG_TEXT } from '../platform/decode-text.ts';
import { PENDING, Pollable, type Polled, soon } from '../platform/wait.ts';
import { failure } from '../contracts/failure.ts';
import { isLatin1 } from '../protocol/base64.ts';

/** A connection attempt that nobody waits for any more still ends after this many milliseconds. */
const MAX_CONNECT_MS = 60_000;

/**
 * Transport for Node: undici's `dispatch` with our own handlers, about a tenth of the CPU of `fetch`. Its own timeouts
 * are off, because deadlines are the router's business.
 */
export function createTransport(network?: NetworkOptions): Transport {
  const direct = buildConnector({ ...CONNECTOR, ...trusting(network) });
  return transportOver(proxiedConnector(network, CONNECTOR, direct), skipContinue);
}

/**
 * A transport for URLs that users give: every address is checked when it is dialled, also those that a name leads to,
 * so nothing can change between the check and the connection.
 */
export function createGuardedTransport(guard: AddressGuard, lookup?: Lookup, network?: NetworkOptions): Transport {
  const direct = guardedConnector(guard, { ...CONNECTOR, ...trusting(network) }, lookup);
  return transportOver(proxiedConnector(network, CONNECTOR, direct, guardedHost(guard, lookup)));
}

/** Servers whose connections are kept for good; a provider has one or two. */
const MAX_POOLS = 8;

const CONNECTOR = { timeout: MAX_CONNECT_MS, allowH2: false, autoSelectFamily: true } as const;

function transportOver(connector: buildConnector.connector, prepare?: typeof skipContinue): Transport {
  const connect: buildConnector.connector = (options, callback) =>
    connector(options, (...result) => {
      if (result[0] === null) prepare?.(result[1]);
      callback(...result);
    });
  const options: Pool.Options = {
    connect,
    allowH2: false,
    headersTimeout: 0,
    bodyTimeout: 0,
    factory: (origin, inner) => new CountingClient(origin, { ...inner, connect }),
  };
  // An agent looks after pools that come and go, at a cost for every call.
  const others = new Agent({ factory: (origin) => new Pool(origin, options) });
  const pools = new Map<string, Dispatcher>();
  const fresh = new Agent({ factory: (origin) => new Pool(origin, { ...options, pipelining: 0 }) });
  /** A URL puts its parts together anew each time; those of providers are requested with every call. */
  const places = new WeakMap<URL, Place>();
  const sendAgain: SendAgain = (request, call) =>
    dispatch({ ...placeOf(request.url), dispatcher: fresh }, request, call);

  function placeOf(url: URL): Place {
    const { origin } = url;
    const place = { origin, path: url.pathname + url.search, dispatcher: poolOf(origin) };
    places.set(url, place);
    return place;
  }

  function poolOf(origin: string): Dispatcher {
    const known = pools.get(origin);
    if (known !== undefined) return known;
    if (pools.size >= MAX_POOLS) return others;
    const pool = new Pool(origin, options);
    pools.set(origin, pool);
    return pool;
  }

  return {
    send(request) {
      if (request.signal.aborted) return Promise.reject(cancelled());
      const call = new UndiciResponse(request, sendAgain);
      dispatch(places.get(request.url) ?? placeOf(request.url), request, call);
      return call.started;
    },
    async close() {
      await Promise.all([others, fresh, ...pools.values()].map((one) => one.destroy()));
    },
  };
}

/** Sends a request once more, on a connection of its own. */
type SendAgain = (request: TransportRequest, call: UndiciResponse) => void;

/** What is counted of one connection. */
interface ConnectionUse {
  /** Calls that began on it so far; 0 also while it is being opened. */
  calls: number;
}

/** A client of undici, which has one connection at a time, that counts the calls on it. */
class CountingClient extends Client {
  readonly #use: ConnectionUse;

  constructor(origin: URL, options: Client.Options & { readonly connect: buildConnector.connector }) {
    const use: ConnectionUse = { calls: 0 };
    const connect: buildConnector.connector = (connection, callback) => {
      use.calls = 0;
      options.connect(connection, callback);
    };
    super(origin, { ...options, connect });
    this.#use = use;
  }

  override dispatch(options: Dispatcher.DispatchOptions, call: Dispatcher.DispatchHandler): boolean {
    if (call instanceof UndiciResponse) call.use = this.#use;
    return super.dispatch(options, call);
  }
}

/** A text of ASCII alone is the same bytes in both encodings, and this one is written faster. */
function bytesOf(text: string): Buffer {
  return Buffer.from(text, Buffer.byteLength(text) === text.length ? 'latin1' : 'utf8');
}

/**
 * The bytes of texts one after the other. No character lies in two of them. Long ones are nearly always base64, of which
 * the bytes are not counted before they are written, but looked at afterwards, while the cache has them.
 */
function joinedBytes(texts: readonly string[]): Buffer {
  const sizes = texts.map((text) => (isLongLatin(text) ? text.length : Buffer.byteLength(text)));
  const bytes = Buffer.allocUnsafe(sizes.reduce((sum, size) => sum + size, 0));
  let at = 0;
  for (const [index, text] of texts.entries()) {
    const from = at;
    at += bytes.write(text, at, sizes[index] === text.length ? 'latin1' : 'utf8');
    if (isLongLatin(text) && !areAscii(bytes.subarray(from, at))) return Buffer.from(texts.join(''));
  }
  return bytes;
}

function isLongLatin(text: string): boolean {
  return text.length >= LONG_TEXT && isLatin1(text);
}

/** Where requests for a URL go, and over which connections. */
interface Place {
  readonly origin: string;
  readonly path: string;
  readonly dispatcher: Dispatcher;
}

function dispatch({ origin, path, dispatcher }: Place, request: TransportRequest, call: UndiciResponse): void {
  const { method, headers, body, bodyParts } = request;
  request.connecting?.();
  dispatcher.dispatch(
    {
      origin,
      path,
      method,
      headers: headers as string[],
      // As bytes: undici would convert a text itself, and hold on to both.
      body: body === undefined ? null : bodyParts === undefined ? bytesOf(body) : joinedBytes(bodyParts),
    },
    call,
  );
}

/** Errors of a socket that the other side had closed while it lay idle. */
const STALE = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']);

/** undici tells when the first byte of a response came, which its types do not know. */
type Handler = Dispatcher.DispatchHandler & { readonly onResponseStarted: () => void };

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** Bytes that may wait to be read before the connection is paused. */
const HIGH_WATER = 256 * 1024;

/**
 * One dispatch of undici: its handler, and the response that comes of it. Bytes wait here until they are read; what
 * arrived together is read together, and a reader who does not come pauses the connection instead of filling memory.
 *
 * undici holds on to handlers for a while after a call, so everything that belongs to the request is let go when the
 * call is over; else the collector would carry every prompt along.
 */
export class UndiciResponse extends Pollable<readonly Uint8Array[] | undefined> implements Handler, TransportResponse {
  /** Resolves when the headers are in. Rejects with a {@link TransportError}. */
  readonly started: Promise<TransportResponse>;
  status = 0;
  #request: TransportRequest | undefined;
  readonly #sendAgain: SendAgain;
  /** The connection that the call waits for, or has begun on. */
  use: ConnectionUse | undefined;
  #resolve: ((response: TransportResponse) => void) | undefined;
  #reject: ((error: TransportError) => void) | undefined;
  /** Calls that had begun on the same connection before; undefined until this one begins. */
  #callsBefore: number | undefined;
  /** True when the request was sent a second time, because the other side had closed its connection before. */
  #isRepeated = false;
  #isAnswered = false;
  #headers: Headers = {};
  #controller: Dispatcher.DispatchController | undefined;
  #filter: ByteFilter | undefined;
  #queue: Uint8Array[] = [];
  #queued = 0;
  #left: number;
  #ended = false;
  #error: TransportError | undefined;
  #wake: (() => void) | undefined;
  /** True between the first news of a turn and the waking of the reader. */
  #isWaking = false;
  readonly #onAbort = (): void => this.cancel();

  constructor(request: TransportRequest, sendAgain: SendAgain) {
    super();
    this.#request = request;
    this.#sendAgain = sendAgain;
    this.#left = request.maxBytes;
    this.started = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    request.signal.addEventListener('abort', this.#onAbort);
  }

  /** The connection is there and the request is being written. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#ended) return controller.abort(cancelled());
    if (this.use !== undefined) this.#callsBefore = this.use.calls++;
    this.#request?.connected?.();
  }

  onResponseStarted(): void {
    this.#isAnswered = true;
  }

  onResponseStart({ rawHeaders }: Dispatcher.DispatchController, status: number, headers: Headers): void {
    if (this.#ended || status < 200) return;
    // Names and values in turn: one that was sent several times counts as often.
    if (Array.isArray(rawHeaders) && rawHeaders.length > 2 * MAX_HEADERS) return this.abort(tooManyHeaders());
    this.status = status;
    this.#headers = headers;
    this.#resolve?.(this);
    const coding = headers['content-encoding'];
    if (coding !== undefined) decompressBody(this, coding);
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Uint8Array): void {
    if (this.#filter === undefined) this.deliver(chunk);
    else this.#filter.write(chunk);
  }

  onResponseEnd(): void {
    if (this.#filter === undefined) this.finish();
    else this.#filter.end();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    const request = this.#request;
    if (request !== undefined && !this.#isRepeated && this.#isStale(error)) {
      this.#isRepeated = true;
      return this.#sendAgain(request, this);
    }
    this.fail(error instanceof TransportError ? error : new TransportError(connectionFailure(error)));
  }

  /**
   * True when the call met a connection that the other side had closed while it lay idle: there were calls on it before,
   * it failed like one, and not a single byte came back. undici looks at an idle connection before it writes to it; where
   * the reset comes in that moment, the call fails without having begun.
   */
  #isStale(error: Error): boolean {
    const code = (error as { code?: unknown } | null)?.code;
    const isReused = (this.#callsBefore ?? this.use?.calls ?? 0) > 0;
    return isReused && !this.#isAnswered && typeof code === 'string' && STALE.has(code);
  }

  /** Puts a filter between the wire and the reader; its output comes back through {@link UndiciResponse.deliver}. */
  filterThrough(filter: ByteFilter): void {
    this.#filter = filter;
  }

  /** Bytes for the reader. */
  deliver(chunk: Uint8Array): void {
    if (this.#ended) return;
    this.#left -= chunk.byteLength;
    if (this.#left < 0) {
      this.abort(new TransportError(failure('bad_response', 'The provider sent more than is accepted')));
      return;
    }
    this.#queue.push(chunk);
    this.#queued += chunk.byteLength;
    if (this.#queued > HIGH_WATER) {
      this.#controller?.pause();
      this.#filter?.pause();
    }
    if (this.#wake !== undefined) this.#news();
  }

  /** Nothing more will be delivered. */
  finish(): void {
    this.#ended = true;
    this.#request?.signal.removeEventListener('abort', this.#onAbort);
    this.#request = undefined;
    this.#resolve = undefined;
    this.#reject = undefined;
    if (this.#wake !== undefined) this.#news();
  }

  /** The connection failed. What was read before stays valid. */
  fail(error: TransportError): void {
    if (this.#ended) return;
    this.#error = error;
    this.#reject?.(error);
    this.#filter?.destroy();
    this.finish();
  }

  /** Fails and closes the connection. */
  abort(error: TransportError): void {
    this.fail(error);
    this.#controller?.abort(error);
  }

  header(name: string): string | undefined {
    const value = this.#headers[name];
    return Array.isArray(value) ? value.join(', ') : value;
  }

  poll(wake: () => void): Polled<readonly Uint8Array[] | undefined> {
    const chunks = this.#queue;
    if (chunks.length === 0) {
      if (this.#error !== undefined) throw this.#error;
      if (this.#ended) return undefined;
      this.#wake = wake;
      return PENDING;
    }
    const paused = this.#queued > HIGH_WATER;
    this.#queue = [];
    // Counted anew first: resuming may deliver more, and pause again, before it returns.
    this.#queued = 0;
    if (paused) {
      this.#controller?.resume();
      this.#filter?.resume();
    }
    return chunks;
  }

  /** The reader is woken a little later than the first bytes come: more may come in the same turn. */
  #news(): void {
    if (this.#isWaking) return;
    this.#isWaking = true;
    soon(() => {
      this.#isWaking = false;
      const wake = this.#wake;
      this.#wake = undefined;
      wake?.();
    });
  }

  cancel(): void {
    this.#queue = [];
    if (!this.#ended) this.abort(cancelled());
  }
}

/** The failure of a call that nobody wants any more. */
function cancelled(): TransportError {
  return new TransportError(failure('aborted', 'The call was cancelled'));
}
