/** Turns requests of Node's servers into calls, and writes replies to their sockets with backpressure. */
import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse, ServerHttp2Stream } from 'node:http2';
import {
  BodyError,
  type HttpCall,
  type HttpReply,
  type ParsedBody,
  PENDING,
  type Pollable,
  polledFrames,
  type UnreadBody,
} from '../src/entries/mount.ts';
import { isCutOff } from './disconnect.ts';

/** Where a request is below the mount. */
export interface Location {
  readonly path: string;
  readonly query: string;
}

/** Splits an address into path and query, below a base path; undefined when it is not below it. */
export function locate(url: string, basePath: string): Location | undefined {
  if (!url.startsWith(basePath)) return undefined;
  const rest = url.slice(basePath.length);
  const mark = rest.indexOf('?');
  const path = mark < 0 ? rest : rest.slice(0, mark);
  if (path !== '' && !path.startsWith('/')) return undefined;
  return { path: path === '' ? '/' : path, query: mark < 0 ? '' : rest.slice(mark + 1) };
}

/** A request of one of Node's servers. What HTTP/2 has in its place is used as one of HTTP/1. */
export type NodeRequest = IncomingMessage | Http2ServerRequest;

/** A response of one of Node's servers. */
export type NodeResponse = ServerResponse | Http2ServerResponse;

/** The HTTP/2 stream that a response is written to, where it is one of HTTP/2. */
function streamOf(response: NodeResponse): ServerHttp2Stream | undefined {
  return 'stream' in response ? response.stream : undefined;
}

/** True when nothing that is written reaches the client any more. Responses of HTTP/2 have no `destroyed`. */
function isClosed(response: ServerResponse): boolean {
  return response.destroyed || streamOf(response)?.destroyed === true;
}

/** A Node request as the router sees it. The client is gone when the response closes before it was finished. */
export function nodeCall(
  request: IncomingMessage,
  response: ServerResponse,
  { path, query }: Location,
  given?: HttpCall['body'],
): HttpCall {
  const controller = new AbortController();
  response.on('close', () => {
    if (isCutOff(response)) controller.abort();
  });
  if (isClosed(response)) controller.abort();
  return {
    method: request.method ?? 'GET',
    path,
    query,
    header: (name) => {
      // A parser of the host has undone the compression that the header still tells of.
      if (given !== undefined && name === 'content-encoding') return undefined;
      // HTTP/2 has the host in a header of its own.
      const value = request.headers[name] ?? (name === 'host' ? request.headers[':authority'] : undefined);
      return Array.isArray(value) ? value.join(', ') : value;
    },
    headerNames: () => Object.keys(request.headers),
    body: given ?? {
      type: 'unread',
      collect: (maxBytes, timeoutMs, onBytes) => collect(request, maxBytes, timeoutMs, onBytes),
      chunks: (maxBytes, idleMs) => piecesOf(request, maxBytes, idleMs),
    },
    signal: controller.signal,
    remoteAddress: request.socket.remoteAddress,
    httpVersion: request.httpVersion,
  };
}

/** The body that a parser of the host has read and left on the request; undefined where it is still to be read. */
export function parsedBody(request: IncomingMessage & { body?: unknown }): UnreadBody | ParsedBody | undefined {
  return request.body !== undefined && request.readableEnded ? bodyOf(request.body) : undefined;
}

/** A body that a parser of the host has left: text and bytes are parsed by us, anything else is taken as it is. */
function bodyOf(value: unknown): UnreadBody | ParsedBody {
  if (typeof value === 'string') return givenBytes(Buffer.from(value));
  return value instanceof Uint8Array ? givenBytes(value) : { type: 'parsed', value };
}

function givenBytes(bytes: Uint8Array): UnreadBody {
  return {
    type: 'unread',
    collect: (maxBytes) =>
      bytes.byteLength > maxBytes ? Promise.reject(new BodyError('too_large')) : Promise.resolve(bytes),
  };
}

async function* piecesOf(request: IncomingMessage, maxBytes: number, idleMs: number): AsyncGenerator<Buffer, void> {
  let length = 0;
  if (isTaken(request)) throw new BodyError('taken');
  try {
    while (!request.readableEnded) {
      const chunk = request.read() as Buffer | null;
      if (chunk === null) {
        await moreOf(request, idleMs);
        continue;
      }
      length += chunk.length;
      if (length > maxBytes) throw new BodyError('too_large');
      yield chunk;
    }
  } finally {
    request.on('error', ignore);
  }
}

/** Waits until there is something to read, or the end. */
function moreOf(request: IncomingMessage, idleMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    if (request.readableEnded) return resolve();
    if (request.destroyed) return reject(new BodyError('incomplete'));
    const timer = setTimeout(() => settle(new BodyError('timeout')), idleMs);
    const onMore = (): void => settle(undefined);
    const onCut = (): void => settle(request.readableEnded ? undefined : new BodyError('incomplete'));
    const settle = (error: BodyError | undefined): void => {
      clearTimeout(timer);
      request.off('readable', onMore).off('end', onMore).off('close', onCut).off('error', onCut);
      if (error === undefined) resolve();
      else reject(error);
    };
    request.on('readable', onMore).on('end', onMore).on('close', onCut).on('error', onCut);
  });
}

/** True when the host has read the body, or the beginning of it. */
function isTaken(request: IncomingMessage): boolean {
  return request.readableDidRead || request.readableEnded;
}

function collect(
  request: IncomingMessage,
  maxBytes: number,
  timeoutMs: number,
  onBytes: (bytes: number) => void = ignore,
): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    if (isTaken(request)) return reject(new BodyError('taken'));
    if (request.destroyed) return reject(new BodyError('incomplete'));
    let chunks: Buffer[] = [];
    let length = 0;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let settled = false;
    const onData = (chunk: Buffer): void => {
      length += chunk.length;
      if (length > maxBytes) return settle(new BodyError('too_large'));
      try {
        onBytes(chunk.length);
        chunks.push(chunk);
      } catch (error) {
        settle(error as Error);
      }
    };
    const onEnd = (): void => settle(undefined);
    // Every request is closed in the end, and an error is dear to make.
    const onCut = (): void => {
      if (!settled) settle(new BodyError('incomplete'));
    };
    const settle = (error: Error | undefined): void => {
      if (settled) return;
      settled = true;
      if (timer !== undefined) clearTimeout(timer);
      // The listeners stay as long as the request, which may be a long stream's; the body must not.
      const taken = chunks;
      chunks = [];
      if (error === undefined) return resolve(taken.length === 1 && taken[0] ? taken[0] : Buffer.concat(taken));
      request.off('data', onData).on('error', ignore);
      request.pause();
      reject(error);
    };
    request.on('data', onData).on('end', onEnd).on('close', onCut).on('error', onCut);
    const declared = Number(request.headers['content-length']);
    // A body that came together with its headers, and was told of by now, needs no clock.
    process.nextTick(() => {
      if (!settled && length !== declared) timer = setTimeout(() => settle(new BodyError('timeout')), timeoutMs);
    });
  });
}

/** Milliseconds for which a body that nobody wants is still taken: a closed connection would hide the answer. */
const LINGER_MS = 2_000;

/** Writes an answer. Headers that the host has set before stay, unless the answer sets them itself. */
export function writeReply(
  request: IncomingMessage,
  response: ServerResponse,
  reply: HttpReply,
): Promise<void> | undefined {
  if (reply.type === 'stream') return writeFrames(response, reply);
  if (isClosed(response) || response.headersSent) return undefined;
  const length = Buffer.byteLength(reply.body);
  const isRead = request.complete;
  const headers: Record<string, string | number> = { ...reply.headers };
  // What is left of a body that nobody reads would be taken for the next request; not where each has a stream.
  if (!isRead && request.httpVersionMajor < 2) headers['connection'] = 'close';
  // Without a body; of a 304 it would be the length of the body that is not sent.
  if (reply.status !== 204 && reply.status !== 304) headers['content-length'] = length;
  response.writeHead(reply.status, headers);
  const body = request.method === 'HEAD' ? '' : reply.body;
  if (!isRead) return writeAndDrop(request, response, body);
  response.end(body, length === reply.body.length ? 'latin1' : 'utf8');
  return undefined;
}

/** Writes an answer to a client that is still sending. */
async function writeAndDrop(request: IncomingMessage, response: ServerResponse, body: string): Promise<void> {
  response.write(body);
  await drop(request);
  response.end();
}

/** Throws away what is left of a body. */
function drop(request: IncomingMessage): Promise<void> {
  return new Promise((resolve) => {
    if (request.destroyed) return resolve();
    const finish = (): void => {
      clearTimeout(timer);
      request.off('end', finish).off('close', finish);
      resolve();
    };
    const timer = setTimeout(finish, LINGER_MS);
    request.on('end', finish).on('close', finish).on('error', ignore).resume();
  });
}

async function writeFrames(response: ServerResponse, reply: StreamReply): Promise<void> {
  if (isClosed(response) || response.headersSent) {
    await reply.frames.return?.();
    return;
  }
  response.on('error', ignore);
  response.writeHead(reply.status, reply.headers);
  await new Promise<void>((resolve, reject) => new FrameWriting(response, reply, resolve, reject).goOn());
}

type StreamReply = Extract<HttpReply, { type: 'stream' }>;

/** Writes frames as they come, in the turn in which they come, and waits while the client does not read. */
class FrameWriting {
  readonly #response: ServerResponse;
  readonly #reply: StreamReply;
  readonly #source: Pollable<string | undefined>;
  readonly #onEnd: () => void;
  readonly #onError: (error: unknown) => void;
  /** True where we write the framing of chunks ourselves. */
  readonly #isFramed: boolean;
  #isOver = false;
  #isFull = false;
  #hasBegun = false;

  constructor(response: ServerResponse, reply: StreamReply, onEnd: () => void, onError: (error: unknown) => void) {
    this.#response = response;
    this.#reply = reply;
    this.#source = polledFrames(reply.frames);
    this.#onEnd = onEnd;
    this.#onError = onError;
    this.#isFramed = takeOverChunks(response);
  }

  readonly goOn = (): void => {
    try {
      while (!this.#isOver && !this.#isFull) {
        const frame = this.#source.poll(this.goOn);
        if (frame === PENDING) return this.#sendHeaders();
        this.#write(frame);
      }
    } catch (error) {
      this.#isOver = true;
      this.#onError(error);
    }
  };

  /** Headers go with the first frame, unless that is not there yet. */
  #sendHeaders(): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    this.#response.flushHeaders();
  }

  #write(frame: string | undefined): void {
    const response = this.#response;
    this.#hasBegun = true;
    if (frame === undefined) return this.#end();
    if (isClosed(response)) {
      void this.#reply.frames.return?.();
      return this.#end();
    }
    const isLast = this.#reply.frames.ended;
    // The last frame and the end in one system call.
    if (isLast) return this.#end(frame);
    if (this.#send(frame)) return;
    this.#isFull = true;
    void drained(response, this.#reply.stallMs).then(this.#onDrain);
  }

  #send(frame: string): boolean {
    // A chunk without bytes would be the last one.
    if (frame === '') return true;
    if (!this.#isFramed) return this.#response.write(frame, encodingOf(frame));
    const { text, encoding } = chunkOf(frame);
    return this.#response.write(text, encoding);
  }

  readonly #onDrain = (): void => {
    this.#isFull = false;
    this.goOn();
  };

  #end(last = ''): void {
    this.#isOver = true;
    if (!this.#isFramed) this.#response.end(last, encodingOf(last));
    else if (last === '') this.#response.end(LAST_CHUNK, 'latin1');
    else {
      const { text, encoding } = chunkOf(last, LAST_CHUNK);
      this.#response.end(text, encoding);
    }
    this.#onEnd();
  }
}

/** The chunk without bytes that ends a body in chunks. */
const LAST_CHUNK = '0\r\n\r\n';

/**
 * A text as one chunk of a body in chunks, and what is written behind it. The bytes are counted in what will be written:
 * a text of many parts is copied into one to be counted, and not once more to be written.
 */
function chunkOf(text: string, behind = ''): { readonly text: string; readonly encoding: 'latin1' | 'utf8' } {
  const ascii = `${text.length.toString(16)}\r\n${text}\r\n${behind}`;
  const more = Buffer.byteLength(ascii) - ascii.length;
  if (more === 0) return { text: ascii, encoding: 'latin1' };
  return { text: `${(text.length + more).toString(16)}\r\n${text}\r\n${behind}`, encoding: 'utf8' };
}

/**
 * Takes over the framing of a body in chunks from Node, which writes four pieces for each of them where one does. Not
 * where the host has its own way of writing, such as compression.
 */
function takeOverChunks(response: ServerResponse): boolean {
  const own = response as ServerResponse & { chunkedEncoding: boolean };
  if (!own.chunkedEncoding || own.write !== PLAIN.write || own.end !== PLAIN.end) return false;
  own.chunkedEncoding = false;
  return true;
}

/** What hosts replace that change what is written. */
const PLAIN = ServerResponse.prototype;

/** A text of ASCII alone is the same bytes in both encodings, and `latin1` is written faster. */
function encodingOf(text: string): 'latin1' | 'utf8' {
  return Buffer.byteLength(text) === text.length ? 'latin1' : 'utf8';
}

/** Waits until the client reads on. One who does not for too long is cut off. */
function drained(response: ServerResponse, stallMs: number): Promise<void> {
  return new Promise((resolve) => {
    if (isClosed(response)) return resolve();
    const timer = setTimeout(() => response.destroy(), stallMs);
    const finish = (): void => {
      clearTimeout(timer);
      response.off('drain', finish).off('close', finish);
      resolve();
    };
    response.on('drain', finish).on('close', finish);
  });
}

function ignore(): void {}
