/** Writes streams as server-sent events. */
import type { KeepAlive } from '../config/router.ts';
import type { ChatStreamSource, StreamItem } from '../runtime/chat/chat-stream.ts';
import type { Environment, Timer } from '../platform/environment.ts';
import { PENDING, Pollable, pollable, type Polled, whenThere } from '../platform/wait.ts';
import type { Frames } from '../contracts/exchange.ts';
import { commentFrame, dataFrame, DONE_FRAME } from '../core/stream/envelope.ts';
import { errorOfUnknown } from '../runtime/chat/router-errors.ts';
import { spell, type Spelling } from './spelling.ts';
import { errorBody } from './error-reply.ts';
import type { RouterError } from '../protocol/router-error.ts';

/** What the frames of one stream depend on. */
interface StreamFramesOptions {
  readonly source: ChatStreamSource;
  readonly writer: FrameWriter;
  readonly keepAlive: KeepAlive;
  /** Longest wait in milliseconds before an endpoint is called again. */
  readonly maxWaitMs: number;
  readonly environment: Environment;
}

type Items = readonly StreamItem[] | undefined;

/**
 * A stream as server-sent events. Frames are made when they are requested, so a client that does not read holds the
 * provider back; what arrived together is one frame. While nothing arrives, comments keep the connection open.
 */
export class StreamFrames extends Pollable<string | undefined> implements Frames {
  readonly #options: StreamFramesOptions;
  #opening: string | undefined;
  readonly #silence: Silence;
  #over = false;
  #onEnd: () => void = () => {};

  constructor(options: StreamFramesOptions) {
    super();
    this.#options = options;
    this.#silence = new Silence(options.environment, options.keepAlive, () => this.#excusedMs());
  }

  /**
   * Waits for the first frame: content, or the first comment if that takes long. Until then a failure is an ordinary
   * HTTP error.
   *
   * @throws What {@link ChatStreamSource.next} throws.
   */
  async open(): Promise<void> {
    try {
      const first = whenThere((wake) => this.#pollFrame(wake));
      this.#opening = first instanceof Promise ? await first : first;
    } catch (error) {
      this.#silence.close();
      throw error;
    }
  }

  /** Calls back when the stream is over, however it ended; at once when it is. */
  onEnd(listener: () => void): void {
    this.#onEnd = listener;
    if (this.#over) listener();
  }

  get ended(): boolean {
    return this.#over && this.#opening === undefined;
  }

  /** The first frame, until it is read. */
  get opening(): string {
    return this.#opening ?? '';
  }

  /** True where nothing follows what was made. */
  get isOver(): boolean {
    return this.#over;
  }

  poll(wake: () => void): Polled<string | undefined> {
    if (this.#opening !== undefined) {
      const opening = this.#opening;
      this.#opening = undefined;
      if (opening !== '' || this.#over) return opening;
    }
    if (this.#over) return undefined;
    try {
      // What an API format holds back for later makes no frame.
      for (;;) {
        const frame = this.#pollFrame(wake);
        if (frame !== '' || this.#over) return frame;
      }
    } catch (error) {
      this.#end();
      return this.#options.writer.fail(error);
    }
  }

  async next(): Promise<IteratorResult<string, undefined>> {
    const value = await this.read();
    return value === undefined ? { done: true, value } : { done: false, value };
  }

  /** Ends the stream early, also at its provider. Gives its last frames, which say why. */
  stop(error: RouterError): string {
    if (this.#over) return '';
    this.#end();
    this.#options.source.cancel();
    return this.#options.writer.fail(error);
  }

  return(): Promise<IteratorResult<string, undefined>> {
    this.#end();
    this.#options.source.cancel();
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** The frames of the next items, or a comment when they take too long. */
  #pollFrame(wake: () => void): Polled<string> {
    const { source, writer } = this.#options;
    const items = source.poll(wake);
    if (items === PENDING) return this.#silence.poll(wake) ? writer.keepAlive() : PENDING;
    this.#silence.end();
    return this.#render(items);
  }

  /**
   * Milliseconds for which silence says nothing: every endpoint has failed, and a comment while the router waits to call
   * one again would turn the error that may follow into a 200.
   */
  #excusedMs(): number {
    const { source, keepAlive, maxWaitMs, environment } = this.#options;
    const failedAt = source.exhaustedAt;
    if (failedAt === undefined) return 0;
    return failedAt + Math.min(maxWaitMs + keepAlive.firstMs, keepAlive.everyMs) - environment.now();
  }

  #render(items: Items): string {
    const { source, writer } = this.#options;
    const frames = items === undefined ? '' : writer.items(items);
    if (items !== undefined && !source.ended) return frames;
    this.#end();
    return frames + writer.end();
  }

  #end(): void {
    this.#over = true;
    this.#silence.close();
    this.#onEnd();
  }
}

/**
 * Tells when nothing has come for too long. One timer for the whole stream: what comes moves a number, and the timer is
 * only set again when it has fired.
 */
class Silence {
  readonly #environment: Environment;
  readonly #everyMs: number;
  readonly #excusedMs: () => number;
  #quietMs: number;
  #timer: Timer | undefined;
  #endsAt = Infinity;
  #isQuiet = false;
  /** Absent while nothing is waited for. */
  #wake: (() => void) | undefined;

  constructor(environment: Environment, { firstMs, everyMs }: KeepAlive, excusedMs: () => number) {
    this.#environment = environment;
    this.#excusedMs = excusedMs;
    this.#quietMs = firstMs;
    this.#everyMs = everyMs;
  }

  /** Something is waited for: true once that has taken too long, and then the wait begins anew. */
  poll(wake: () => void): boolean {
    const isQuiet = this.#isQuiet;
    if (isQuiet) this.end();
    else {
      if (this.#wake === undefined) {
        this.#endsAt = this.#environment.now() + this.#quietMs;
        this.#timer ??= this.#environment.setTimer(this.#look, this.#quietMs);
      }
      this.#wake = wake;
    }
    return isQuiet;
  }

  /** It came. */
  end(): void {
    this.#isQuiet = false;
    this.#wake = undefined;
  }

  close(): void {
    this.end();
    if (this.#timer !== undefined) this.#environment.clearTimer(this.#timer);
    this.#timer = undefined;
  }

  readonly #look = (): void => {
    this.#timer = undefined;
    const wake = this.#wake;
    if (wake === undefined) return;
    const left = Math.max(this.#endsAt - this.#environment.now(), this.#excusedMs());
    // Timers of the platform may fire up to a millisecond early.
    if (left > 1) this.#timer = this.#environment.setTimer(this.#look, left);
    else {
      this.#isQuiet = true;
      this.#quietMs = this.#everyMs;
      wake();
    }
  };
}

/** Writes what a stream consists of as server-sent events. Holds the state of one stream. */
export interface FrameWriter {
  items(items: readonly StreamItem[]): string;
  /** Keeps a quiet connection open. */
  keepAlive(): string;
  /** The stream was whole. */
  end(): string;
  /** The stream broke after it had begun. */
  fail(thrown: unknown): string;
}

/** What the frames of a chat stream depend on. */
interface ChatFrameOptions {
  readonly source: ChatStreamSource;
  readonly spelling: Spelling;
  readonly wantsMetadata: boolean;
}

/** Chunks of chat completions. */
export class ChatFrameWriter implements FrameWriter {
  readonly #options: ChatFrameOptions;

  constructor(options: ChatFrameOptions) {
    this.#options = options;
  }

  items(items: readonly StreamItem[]): string {
    const { source, spelling, wantsMetadata } = this.#options;
    let frames = '';
    for (const item of items) {
      if (typeof item === 'string') frames += source.envelope.textFrame(item);
      else if (!('type' in item)) frames += dataFrame(JSON.stringify(wantsMetadata ? spell(item, spelling) : item));
    }
    return frames;
  }

  keepAlive(): string {
    return commentFrame(this.#options.spelling.processing);
  }

  end(): string {
    return DONE_FRAME;
  }

  /** One error chunk, then the end as always (gaps 4.4). */
  fail(thrown: unknown): string {
    const { source, spelling, wantsMetadata } = this.#options;
    const { error, router_metadata: metadata } = errorBody(errorOfUnknown(thrown), { wantsMetadata });
    const chunk = source.envelope.error(error, metadata);
    return dataFrame(JSON.stringify(spell(chunk, spelling))) + DONE_FRAME;
  }
}

/**
 * Frames for a mount that writes as fast as it can: each is requested by a poll, which makes no promise where it is
 * there, and gives undefined at the end.
 */
export function polledFrames(frames: Frames): Pollable<string | undefined> {
  if (frames instanceof Pollable) return frames as Pollable<string | undefined>;
  return pollable({ read: async () => (await frames.next()).value });
}
