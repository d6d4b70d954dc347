/** Turns Web requests into calls, and replies into Web responses. */
import {
  BodyError,
  type Frames,
  type HttpCall,
  type HttpReply,
  PENDING,
  type Pollable,
  polledFrames,
} from '../src/entries/mount.ts';
import { type ClosableResponse, isCutOff } from './disconnect.ts';

/** What a Web `Request` does not have. */
export interface WebCallOptions {
  readonly remoteAddress?: ((request: Request) => string | undefined) | undefined;
  readonly waitUntil?: HttpCall['waitUntil'];
}

/** A Web request as the router sees it; undefined when it is not below the base path. */
export function webCall(request: Request, basePath: string, options: WebCallOptions): HttpCall | undefined {
  const address = addressOf(request.url, basePath);
  if (address === undefined) return undefined;
  let copied: ReadonlyMap<string, string> | undefined;
  const headers = (): ReadonlyMap<string, string> => (copied ??= copyOf(request.headers));
  return {
    method: request.method,
    path: address.path,
    query: address.query,
    // Some runtimes tell the host in the address only.
    header: (name) => headers().get(name) ?? (name === 'host' ? address.host : undefined),
    headerNames: () => [...headers().keys()],
    body: {
      type: 'unread',
      collect: (maxBytes, timeoutMs, onBytes) =>
        request.bodyUsed
          ? Promise.reject(new BodyError('taken'))
          : collect(request, headers().get('content-length'), { maxBytes, timeoutMs, onBytes }),
      chunks: (maxBytes, idleMs) => piecesOf(request, maxBytes, idleMs),
    },
    signal: disconnectOf(request),
    waitUntil: options.waitUntil,
    remoteAddress: options.remoteAddress?.(request),
  };
}

/** What srvx, the server below h3 and Nitro, gives with a request that came to one of Node's servers. */
interface NodeHosted {
  readonly runtime?: { readonly node?: { readonly res?: HostedResponse | undefined } | undefined } | undefined;
}

interface HostedResponse extends ClosableResponse {
  once(event: 'close', listener: () => void): unknown;
}

/** Signals of requests whose own is not used. */
const disconnects = new WeakMap<Request, AbortSignal>();

/**
 * Aborted when the client disconnects. The signal of the request, unless the host gives Node's response: srvx before
 * 0.9, which Nitro 3.0.0 brings, aborts the signal as soon as the body has been read.
 */
function disconnectOf(request: Request): AbortSignal {
  const response = (request as NodeHosted).runtime?.node?.res;
  if (response === undefined) return request.signal;
  const known = disconnects.get(request);
  if (known !== undefined) return known;
  const controller = new AbortController();
  response.once('close', () => {
    if (isCutOff(response)) controller.abort();
  });
  disconnects.set(request, controller.signal);
  return controller.signal;
}

/** Every look-up in Web headers checks and folds the name anew, which for the names we require costs more than this. */
function copyOf(headers: Headers): ReadonlyMap<string, string> {
  const copy = new Map<string, string>();
  headers.forEach((value, name) => copy.set(name, value));
  return copy;
}

/** Where a request is below the mount, and to which host it came. */
interface Address {
  readonly path: string;
  readonly query: string;
  readonly host: string;
}

/** Nearly every request has the address of the one before, and taking an address apart costs more than routing. */
let latest: { readonly url: string; readonly basePath: string; readonly address: Address | undefined } | undefined;

function addressOf(url: string, basePath: string): Address | undefined {
  if (latest === undefined || latest.url !== url || latest.basePath !== basePath) {
    latest = { url, basePath, address: split(new URL(url), basePath) };
  }
  return latest.address;
}

function split({ pathname, search, host }: URL, basePath: string): Address | undefined {
  if (!pathname.startsWith(basePath)) return undefined;
  const path = pathname.slice(basePath.length);
  if (path !== '' && !path.startsWith('/')) return undefined;
  return { path: path === '' ? '/' : path, query: search.slice(1), host };
}

/** How much of a body is taken, for how long, and what is called with the bytes that have come. */
interface BodyLimits {
  readonly maxBytes: number;
  readonly timeoutMs: number;
  readonly onBytes?: ((bytes: number) => void) | undefined;
}

/** A body whose length is known is taken at once, where hosts have a short way for that; others are counted. */
function collect(
  request: Request,
  length: string | undefined,
  { maxBytes, timeoutMs, onBytes = () => {} }: BodyLimits,
): Promise<Uint8Array> {
  const declared = Number(length ?? Number.NaN);
  return declared <= maxBytes
    ? takeComplete(request, maxBytes, timeoutMs)
    : takePieces(request, maxBytes, timeoutMs, onBytes);
}

function takeComplete(request: Request, maxBytes: number, timeoutMs: number): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new BodyError('timeout')), timeoutMs);
    request.arrayBuffer().then(
      (buffer) => {
        clearTimeout(timer);
        if (buffer.byteLength > maxBytes) reject(new BodyError('too_large'));
        else resolve(new Uint8Array(buffer));
      },
      () => {
        clearTimeout(timer);
        reject(new BodyError('incomplete'));
      },
    );
  });
}

async function takePieces(
  request: Request,
  maxBytes: number,
  timeoutMs: number,
  onBytes: (bytes: number) => void,
): Promise<Uint8Array> {
  const reader = readerOf(request);
  if (reader === undefined) return new Uint8Array();
  let timedOut = false;
  const timer = setTimeout(() => {
    timedOut = true;
    void reader.cancel();
  }, timeoutMs);
  try {
    const bytes = await readAll(reader, maxBytes, onBytes);
    if (!timedOut) return bytes;
  } catch (error) {
    if (!timedOut) throw error;
  } finally {
    clearTimeout(timer);
  }
  throw new BodyError('timeout');
}

/** Reads the body piece by piece, unless the host has read it or reads it now. */
function readerOf(request: Request): ReadableStreamDefaultReader<Uint8Array> | undefined {
  if (request.bodyUsed || request.body?.locked === true) throw new BodyError('taken');
  return request.body?.getReader();
}

async function* piecesOf(request: Request, maxBytes: number, idleMs: number): AsyncGenerator<Uint8Array, void> {
  const reader = readerOf(request);
  if (reader === undefined) return;
  let length = 0;
  try {
    for (;;) {
      const { done, value } = await nextOf(reader, idleMs);
      if (done) return;
      length += value.byteLength;
      if (length > maxBytes) throw new BodyError('too_large');
      yield value;
    }
  } finally {
    // Also where the reader wants no more: the rest is thrown away by the runtime.
    reader.cancel().catch(() => {});
  }
}

/** The next piece of a body, unless it takes too long. */
async function nextOf(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  idleMs: number,
): Promise<Awaited<ReturnType<typeof reader.read>>> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const tooLate = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new BodyError('timeout')), idleMs);
  });
  try {
    return await Promise.race([reader.read(), tooLate]);
  } catch (error) {
    throw error instanceof BodyError ? error : new BodyError('incomplete');
  } finally {
    clearTimeout(timer);
  }
}

async function readAll(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  maxBytes: number,
  onBytes: (bytes: number) => void,
): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read().catch(() => {
      throw new BodyError('incomplete');
    });
    if (done) break;
    length += value.byteLength;
    try {
      if (length > maxBytes) throw new BodyError('too_large');
      onBytes(value.byteLength);
    } catch (error) {
      void reader.cancel();
      throw error;
    }
    chunks.push(value);
  }
  return joined(chunks, length);
}

function joined(chunks: readonly Uint8Array[], length: number): Uint8Array {
  if (chunks.length === 1 && chunks[0]) return chunks[0];
  const whole = new Uint8Array(length);
  let offset = 0;
  for (const chunk of chunks) {
    whole.set(chunk, offset);
    offset += chunk.byteLength;
  }
  return whole;
}

/** Statuses whose answers have no body, not even an empty one. */
const BODILESS = new Set([204, 205, 304]);

/**
 * An answer as a Web response. Frames are pulled one by one, so a client that does not read holds everything back.
 * The request is kept alive as long as the response: once it is collected, its signal is never aborted.
 */
export function webResponse(request: Request, reply: HttpReply): Response {
  const { status, headers } = reply;
  if (reply.type === 'whole') {
    const empty = request.method === 'HEAD' || BODILESS.has(status);
    return new Response(empty ? null : reply.body, { status, headers });
  }
  return new Response(new ReadableStream(new FrameSource(request, reply), PULLED), { status, headers });
}

/** Nothing is made before it is requested. */
const PULLED = { highWaterMark: 0 };
const ENCODER = new TextEncoder();

/** The frames of a stream as the source of a Web stream. */
class FrameSource {
  readonly #request: Request;
  readonly #frames: Frames;
  readonly #source: Pollable<string | undefined>;
  readonly #stallMs: number;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  #stall: Stall | undefined;
  /** True while a reader waits. */
  #isWanted = false;

  constructor(request: Request, { frames, stallMs }: Extract<HttpReply, { type: 'stream' }>) {
    this.#request = request;
    this.#frames = frames;
    this.#source = polledFrames(frames);
    this.#stallMs = stallMs;
  }

  pull(controller: ReadableStreamDefaultController<Uint8Array>): void {
    this.#controller = controller;
    this.#stall?.end();
    this.#isWanted = true;
    this.#goOn();
  }

  cancel(): void {
    this.#isWanted = false;
    this.#stall?.close();
    void this.#frames.return?.();
  }

  readonly #goOn = (): void => {
    const controller = this.#controller;
    if (!this.#isWanted || controller === undefined) return;
    try {
      const frame = this.#source.poll(this.#goOn);
      if (frame !== PENDING) this.#give(frame, controller);
    } catch (error) {
      this.#isWanted = false;
      this.#stall?.close();
      controller.error(error);
    }
  };

  #give(frame: string | undefined, controller: ReadableStreamDefaultController<Uint8Array>): void {
    this.#isWanted = false;
    const isLast = frame === undefined || disconnectOf(this.#request).aborted;
    if (!isLast) {
      this.#beginStall(controller);
      controller.enqueue(ENCODER.encode(frame));
      if (!this.#frames.ended) return;
    }
    this.#stall?.close();
    controller.close();
  }

  #beginStall(controller: ReadableStreamDefaultController<Uint8Array>): void {
    this.#stall ??= new Stall(this.#stallMs, () => {
      controller.error(stalledError());
      void this.#frames.return?.();
    });
    this.#stall.begin();
  }
}

/** Hosts print what ends a response. It is nobody's mistake, so there is nothing to see in a stack. */
function stalledError(): Error {
  const error = new Error('The client does not read on');
  error.name = 'TimeoutError';
  error.stack = `${error.name}: ${error.message}`;
  return error;
}

/** Tells when a client has left a frame unread for too long. One timer for a stream: it is set again when it has fired. */
class Stall {
  readonly #ms: number;
  readonly #onStall: () => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Since when a frame lies unread. */
  #since: number | undefined;

  constructor(ms: number, onStall: () => void) {
    this.#ms = ms;
    this.#onStall = onStall;
  }

  begin(): void {
    this.#since = performance.now();
    this.#timer ??= setTimeout(this.#look, this.#ms);
  }

  end(): void {
    this.#since = undefined;
  }

  close(): void {
    this.end();
    clearTimeout(this.#timer);
  }

  readonly #look = (): void => {
    this.#timer = undefined;
    if (this.#since === undefined) return;
    const left = this.#since + this.#ms - performance.now();
    // Timers of the platform may fire up to a millisecond early.
    if (left <= 1) this.#onStall();
    else this.#timer = setTimeout(this.#look, left);
  };
}
