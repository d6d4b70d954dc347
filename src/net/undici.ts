import { Agent, buildConnector, type Dispatcher, Pool } from 'undici';
import { guardedConnector, type Lookup } from './guarded-connector.ts';
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
import { decodeContent } from './content-decoding.ts';
import { skipContinue } from './interim-responses.ts';
import { failure } from '../core/fallback/failure.ts';
import { PENDING, Pollable, type Polled, soon } from '../platform/wait.ts';

/** A connection attempt that nobody waits for any more still ends after this many milliseconds. */
const MAX_CONNECT_MS = 60_000;

/**
 * Transport for Node: undici's `dispatch` with our own handlers, about a tenth of the CPU of `fetch`. Its own timeouts
 * are off, because deadlines are the router's business.
 */
export function createTransport(): Transport {
  return transportOver(buildConnector(CONNECTOR), skipContinue);
}

/**
 * A transport for URLs that users give: every address is checked when it is dialled, also those that a name leads to,
 * so nothing can change between the check and the connection.
 */
export function createGuardedTransport(guard: AddressGuard, lookup?: Lookup): Transport {
  return transportOver(guardedConnector(guard, CONNECTOR, lookup));
}

/** Servers whose connections are kept for good; a provider has one or two. */
const MAX_POOLS = 8;

const CONNECTOR = { timeout: MAX_CONNECT_MS, allowH2: false, autoSelectFamily: true } as const;

function transportOver(connector: buildConnector.connector, prepare?: typeof skipContinue): Transport {
  let opened = 0;
  const connect: buildConnector.connector = (options, callback) =>
    connector(options, (...result) => {
      opened += 1;
      if (result[0] === null) prepare?.(result[1]);
      callback(...result);
    });
  const options: Agent.Options = { connect, allowH2: false, headersTimeout: 0, bodyTimeout: 0 };
  // An agent looks after pools that come and go, at a cost for every call.
  const others = new Agent(options);
  const pools = new Map<string, Dispatcher>();
  const fresh = new Agent({ ...options, pipelining: 0 });
  const again: SendAgain = (call, request) => dispatch(fresh, placeOf(request.url), request, call);

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
      const before = opened;
      const call = new UndiciCall(request, () => opened === before, again);
      const place = placeOf(request.url);
      dispatch(poolOf(place.origin), place, request, call);
      return call.response;
    },
    async close() {
      await Promise.all([others, fresh, ...pools.values()].map((one) => one.destroy()));
    },
  };
}

/** A text of ASCII alone is the same bytes in both encodings, and this one is written faster. */
function bytesOf(text: string): Buffer {
  return Buffer.from(text, Buffer.byteLength(text) === text.length ? 'latin1' : 'utf8');
}

/** The bytes of texts one after the other. No character lies in two of them. */
function joinedBytes(texts: readonly string[]): Buffer {
  const sizes = texts.map((text) => Buffer.byteLength(text));
  const bytes = Buffer.allocUnsafe(sizes.reduce((sum, size) => sum + size, 0));
  let at = 0;
  texts.forEach((text, index) => {
    at += bytes.write(text, at, sizes[index] === text.length ? 'latin1' : 'utf8');
  });
  return bytes;
}

type Place = Pick<Dispatcher.DispatchOptions, 'path'> & { readonly origin: string };

/** A URL puts its parts together anew each time; those of providers are asked for with every call. */
const places = new WeakMap<URL, Place>();

function placeOf(url: URL): Place {
  let place = places.get(url);
  if (place === undefined) places.set(url, (place = { origin: url.origin, path: url.pathname + url.search }));
  return place;
}

function dispatch(dispatcher: Dispatcher, place: Place, request: TransportRequest, call: UndiciCall): void {
  const { method, headers, body, bodyParts } = request;
  request.connecting?.();
  dispatcher.dispatch(
    {
      origin: place.origin,
      path: place.path,
      method,
      headers: headers as string[],
      // As bytes: undici would convert a text itself, and hold on to both.
      body: body === undefined ? null : bodyParts === undefined ? bytesOf(body) : joinedBytes(bodyParts),
    },
    call,
  );
}

/** Sends a request once more, on a connection of its own. */
type SendAgain = (call: UndiciCall, request: TransportRequest) => void;

/** Errors of a socket that the other side had closed while it lay idle. */
const STALE = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']);

/** undici tells when the first byte of a response came, which its types do not know. */
type Handler = Dispatcher.DispatchHandler & { readonly onResponseStarted: () => void };

/**
 * One dispatch of undici, as its handler. undici holds on to handlers for a while after a call, so everything that
 * belongs to the request is let go when the call is over; else the collector would carry every prompt along.
 */
class UndiciCall implements Handler {
  readonly response: Promise<TransportResponse>;
  #request: TransportRequest | undefined;
  #usedOldConnection: (() => boolean) | undefined;
  #again: SendAgain | undefined;
  #answer: UndiciResponse | undefined;
  #resolve: ((answer: UndiciResponse) => void) | undefined;
  #reused = false;
  #answered = false;

  /**
   * @param usedOldConnection - Whether no connection was opened between the dispatch and its start.
   * @param again - Used once, when the request went out on a connection that the other side had closed before.
   */
  constructor(request: TransportRequest, usedOldConnection: () => boolean, again: SendAgain) {
    this.#request = request;
    this.#usedOldConnection = usedOldConnection;
    this.#again = again;
    this.response = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#answer = new UndiciResponse(request.signal, request.maxBytes, (error) => {
        this.#release();
        reject(error);
      });
    });
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#reused = this.#usedOldConnection?.() ?? false;
    this.#request?.connected?.();
    if (this.#answer === undefined) controller.abort(new Error('The call is over'));
    else this.#answer.attach(controller);
  }

  onResponseStarted(): void {
    this.#answered = true;
  }

  onResponseStart(
    { rawHeaders }: Dispatcher.DispatchController,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): void {
    const answer = this.#answer;
    if (answer === undefined || status < 200) return;
    // Names and values in turn: one that was sent several times counts as often.
    if (Array.isArray(rawHeaders) && rawHeaders.length > 2 * MAX_HEADERS) return answer.abort(tooManyHeaders());
    answer.begin(status, headers);
    this.#resolve?.(answer);
    const coding = headers['content-encoding'];
    if (coding !== undefined) decodeContent(answer, coding);
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Uint8Array): void {
    this.#answer?.push(chunk);
  }

  onResponseEnd(): void {
    this.#answer?.end();
    this.#release();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    const request = this.#request;
    const again = this.#again;
    if (request !== undefined && again !== undefined && !request.signal.aborted && this.#isStale(error)) {
      this.#again = undefined;
      return again(this, request);
    }
    this.#answer?.fail(error instanceof TransportError ? error : new TransportError(connectionFailure(error)));
    this.#release();
  }

  /**
   * True when the call went out on a connection that the other side had closed before it was used: it failed like
   * one, and not a single byte came back.
   */
  #isStale(error: Error): boolean {
    const code = (error as { code?: unknown } | null)?.code;
    return this.#reused && !this.#answered && typeof code === 'string' && STALE.has(code);
  }

  #release(): void {
    this.#request = undefined;
    this.#usedOldConnection = undefined;
    this.#again = undefined;
    this.#answer = undefined;
    this.#resolve = undefined;
  }
}

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** Bytes that may wait to be read before the connection is paused. */
const HIGH_WATER = 256 * 1024;

/** A step between the wire and the reader, such as decompression. */
interface ByteFilter {
  write(chunk: Uint8Array): void;
  end(): void;
  /** Stops and continues the output, for a reader who does not keep up. */
  pause(): void;
  resume(): void;
  destroy(): void;
}

/**
 * The response side of one undici dispatch. Bytes wait here until they are read; what arrived together is read
 * together, and a reader who does not come pauses the connection instead of filling memory.
 */
export class UndiciResponse extends Pollable<readonly Uint8Array[] | undefined> implements TransportResponse {
  status = 0;
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
  #signal: AbortSignal | undefined;
  readonly #onAbort = (): void => this.cancel();
  readonly #wakeReader = (): void => {
    this.#isWaking = false;
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  };
  readonly #onFailure: (error: TransportError) => void;

  /** @param onFailure - Told of the first failure, also of one before any header came. */
  constructor(signal: AbortSignal, maxBytes: number, onFailure: (error: TransportError) => void) {
    super();
    this.#signal = signal;
    this.#left = maxBytes;
    this.#onFailure = onFailure;
    signal.addEventListener('abort', this.#onAbort);
  }

  /** The connection is there and the request is being written. */
  attach(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#signal?.aborted === true) controller.abort(cancelled());
  }

  begin(status: number, headers: Headers): void {
    this.status = status;
    this.#headers = headers;
  }

  /** Puts a filter between the wire and the reader; its output comes back through {@link UndiciResponse.deliver}. */
  filterThrough(filter: ByteFilter): void {
    this.#filter = filter;
  }

  push(chunk: Uint8Array): void {
    if (this.#filter === undefined) this.deliver(chunk);
    else this.#filter.write(chunk);
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
    this.#news();
  }

  end(): void {
    if (this.#filter === undefined) this.finish();
    else this.#filter.end();
  }

  /** Nothing more will be delivered. */
  finish(): void {
    this.#ended = true;
    this.#release();
    this.#news();
  }

  /** The connection failed. What was read before stays valid. */
  fail(error: TransportError): void {
    if (this.#ended) return;
    this.#error = error;
    this.finish();
    this.#onFailure(error);
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
    if (this.#queue.length > 0) return this.#take();
    if (this.#error !== undefined) throw this.#error;
    if (this.#ended) return undefined;
    this.#wake = wake;
    return PENDING;
  }

  /** The reader is woken a little later than the first bytes come: more may come in the same turn. */
  #news(): void {
    if (this.#wake === undefined || this.#isWaking) return;
    this.#isWaking = true;
    soon(this.#wakeReader);
  }

  #take(): readonly Uint8Array[] {
    const chunks = this.#queue;
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

  cancel(): void {
    this.#queue = [];
    if (!this.#ended) this.abort(cancelled());
  }

  #release(): void {
    this.#signal?.removeEventListener('abort', this.#onAbort);
    this.#signal = undefined;
    if (this.#error !== undefined) this.#filter?.destroy();
  }
}

/** The failure of a call that nobody wants any more. */
function cancelled(): TransportError {
  return new TransportError(failure('aborted', 'The call was cancelled'));
}
