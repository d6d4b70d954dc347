/** One request to a fault upstream, and the means to answer it well or badly. */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type FaultWire, type WireError, spacedWords, type RecordedRequest } from './wire.ts';

/** What an exchange is made of. */
export interface FaultExchangeOptions {
  readonly request: RecordedRequest;
  /** Requests on this connection so far, this one included. */
  readonly requestOnConnection: number;
  readonly socket: Socket;
  readonly response: ServerResponse;
  readonly settings: FaultSettings;
  readonly wire: FaultWire;
  /** What a good answer says. */
  readonly text: string;
  /** Factor for all waits. */
  readonly timeScale: number;
  /** Called when the upstream itself ends the connection, so that this does not count as the client's doing. */
  readonly onEnd: () => void;
}

/** Time for the other side to read what was sent before the connection is reset: a reset throws unread bytes away. */
const READING_MS = 5;

/** One request to a fault upstream and the means to answer it, well or badly. */
export class FaultExchange {
  readonly request: RecordedRequest;
  readonly requestOnConnection: number;
  readonly socket: Socket;
  readonly response: ServerResponse;
  readonly afterChunks: number;
  readonly cutAt: number | undefined;
  readonly wire: FaultWire;
  readonly text: string;
  readonly #timeScale: number;
  readonly #onEnd: () => void;

  constructor(options: FaultExchangeOptions) {
    this.request = options.request;
    this.requestOnConnection = options.requestOnConnection;
    this.socket = options.socket;
    this.response = options.response;
    this.afterChunks = options.settings.afterChunks ?? 0;
    this.cutAt = options.settings.cutAt;
    this.wire = options.wire;
    this.text = options.text;
    this.#timeScale = options.timeScale;
    this.#onEnd = options.onEnd;
  }

  /** True when the request is for a stream. */
  get streaming(): boolean {
    return this.wire.streams(this.request);
  }

  /** Model of the request. */
  get model(): string {
    return this.wire.modelOf(this.request) ?? 'unknown';
  }

  /** A good non-streaming response, to be sent or spoiled. */
  get completion(): Record<string, unknown> {
    return this.wire.completion(this);
  }

  /** A good stream, to be sent or spoiled. */
  get streamBody(): string {
    return this.#events.join('');
  }

  /** Body of a good answer in the form that was requested. */
  get body(): string {
    return this.streaming ? this.streamBody : JSON.stringify(this.completion);
  }

  /** Content type of an answer in the form that was requested. */
  get contentType(): string {
    return this.streaming ? 'text/event-stream' : 'application/json';
  }

  /** Answers as a good provider does. */
  answer(headers: Readonly<Record<string, string | string[]>> = {}): void {
    this.response.writeHead(200, { 'content-type': this.contentType, ...headers });
    if (this.streaming) for (const one of this.#events) this.response.write(one);
    this.response.end(this.streaming ? undefined : this.body);
  }

  /** Answers with a status and a body. */
  reply(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): void {
    this.response.writeHead(status, { 'content-type': 'application/json', ...headers });
    this.response.end(typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body));
  }

  /**
   * Begins a good answer: headers, and of a stream the chunks that come before the fault. Of a non-streaming response nothing
   * follows by itself, although its length is announced.
   */
  async begin(headers: Readonly<Record<string, string>> = {}): Promise<void> {
    const length = this.streaming ? {} : { 'content-length': String(Buffer.byteLength(this.body)) };
    this.response.writeHead(200, { 'content-type': this.contentType, ...length, ...headers });
    this.response.flushHeaders();
    if (this.streaming) await this.write(this.opening);
  }

  /** Chunks of a stream that come before the fault. */
  get opening(): string {
    const words = spacedWords(this.text).slice(0, this.afterChunks);
    return [...this.wire.opening(this), ...words.map((word) => this.chunk(word))].join('');
  }

  /** A chunk with some text. */
  chunk(text: string): string {
    return this.wire.chunk(this, text);
  }

  /** The end of a good stream. */
  get ending(): string {
    return this.wire.ending(this).join('');
  }

  /** Fails inside the stream, or with a status where nothing was said yet. */
  async refuse(status: number, error: WireError, headers: Readonly<Record<string, string>> = {}): Promise<void> {
    if (!this.streaming || this.afterChunks === 0) {
      return this.reply(status, this.wire.errorBody(error, status), headers);
    }
    await this.begin();
    this.response.end(this.wire.errorEvents(error, status));
  }

  /** Writes a piece of the body and waits until it has left. */
  write(piece: string | Uint8Array): Promise<void> {
    return new Promise((resolve) => {
      this.response.write(piece, () => resolve());
    });
  }

  /** Writes bytes as they are, past everything that knows HTTP. */
  raw(bytes: string | Uint8Array): Promise<void> {
    return new Promise((resolve) => {
      this.socket.write(bytes, () => resolve());
    });
  }

  /** Waits, unless the client leaves first. Scaled; less than a millisecond is one turn of the event loop. */
  wait(ms: number): Promise<void> {
    const scaled = ms * this.#timeScale;
    return new Promise((resolve) => {
      if (this.socket.destroyed) return resolve();
      if (scaled < 1) return void setImmediate(resolve);
      const finish = (): void => {
        clearTimeout(timer);
        this.socket.off('close', finish);
        resolve();
      };
      const timer = setTimeout(finish, scaled);
      this.socket.on('close', finish);
    });
  }

  /** Sends the body in pieces of a size, with a wait after each. */
  async trickle(body: string, size: number, ms: number): Promise<void> {
    const bytes = Buffer.from(body);
    for (let start = 0; start < bytes.length && !this.socket.destroyed; start += size) {
      await this.write(bytes.subarray(start, start + size));
      await this.wait(ms);
    }
  }

  /** Says nothing more until the client leaves. */
  silence(): Promise<void> {
    return new Promise((resolve) => {
      if (this.socket.destroyed) resolve();
      else this.socket.once('close', () => resolve());
    });
  }

  /** Ends the connection with a FIN, whatever was announced. */
  hangUp(): void {
    this.#onEnd();
    this.socket.end();
  }

  /** Ends the connection with a RST, after the other side had time to read what was sent. */
  async reset(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, READING_MS));
    this.#onEnd();
    this.socket.resetAndDestroy();
  }

  get #events(): readonly string[] {
    const words = spacedWords(this.text).map((word) => this.chunk(word));
    return [...this.wire.opening(this), ...words, ...this.wire.ending(this)];
  }
}

/** When in an answer a fault happens. */
export interface FaultSettings {
  /**
   * Content chunks of a stream that come before the fault. Default 0: it comes before any content, so that a router
   * may still fall back.
   */
  readonly afterChunks?: number | undefined;
  /** For `U-15`: bytes of the response body before the cut. Default: right where the fault would happen. */
  readonly cutAt?: number | undefined;
}
