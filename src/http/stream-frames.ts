import type { KeepAlive } from '../config/router.ts';
import type { ChatStreamSource, StreamItem } from '../runtime/chat/chat-stream.ts';
import type { Environment, Timer } from '../platform/environment.ts';
import type { MaybePromise } from '../platform/wait.ts';
import type { Frames } from './exchange.ts';
import { commentFrame, dataFrame, DONE_FRAME } from '../core/stream/sse-frames.ts';
import { errorOfUnknown } from '../runtime/chat/router-errors.ts';
import { spell, type Spelling } from './body.ts';
import { errorBody } from './error-reply.ts';

/** What the frames of one stream depend on. */
interface StreamFramesOptions {
  readonly source: ChatStreamSource;
  readonly writer: FrameWriter;
  readonly keepAlive: KeepAlive;
  readonly environment: Environment;
}

type Items = readonly StreamItem[] | undefined;

/**
 * A stream as server-sent events. Frames are made when they are asked for, so a client that does not read holds the
 * provider back; what arrived together is one frame. While nothing arrives, comments keep the connection open.
 */
export class StreamFrames implements Frames {
  readonly #options: StreamFramesOptions;
  #pending: MaybePromise<Items> | typeof NONE = NONE;
  #opening: string | undefined;
  readonly #silence: Silence;
  #over = false;
  #onEnd: () => void = () => {};

  constructor(options: StreamFramesOptions) {
    this.#options = options;
    this.#silence = new Silence(options.environment, options.keepAlive);
  }

  /**
   * Waits for the first frame: content, or the first comment if that takes long. Until then a failure is an ordinary
   * HTTP error.
   *
   * @throws What {@link ChatStreamSource.next} throws.
   */
  async open(): Promise<void> {
    const first = await this.#itemsOrComment();
    this.#opening = typeof first === 'string' ? first : this.#render(first);
  }

  /** Calls back when the stream is over, however it ended; at once when it is. */
  onEnd(listener: () => void): void {
    this.#onEnd = listener;
    if (this.#over) listener();
  }

  get ended(): boolean {
    return this.#over && this.#opening === undefined;
  }

  async next(): Promise<IteratorResult<string, undefined>> {
    if (this.#opening !== undefined) {
      const value = this.#opening;
      this.#opening = undefined;
      return { done: false, value };
    }
    if (this.#over) return { done: true, value: undefined };
    try {
      let value = '';
      // What a dialect holds back for later makes no frame.
      while (value === '' && !this.#over) {
        const found = this.#itemsOrComment();
        const items = found instanceof Promise ? await found : found;
        value = typeof items === 'string' ? items : this.#render(items);
      }
      return { done: false, value };
    } catch (error) {
      this.#end();
      return { done: false, value: this.#options.writer.fail(error) };
    }
  }

  return(): Promise<IteratorResult<string, undefined>> {
    this.#end();
    this.#options.source.cancel();
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** The next items, or a comment when they take too long; the wait for them then goes on behind it. */
  #itemsOrComment(): MaybePromise<Items | string> {
    const { source, writer } = this.#options;
    const pending = this.#pending === NONE ? source.next() : this.#pending;
    if (!(pending instanceof Promise)) return pending;
    this.#pending = pending;
    return new Promise((resolve, reject) => {
      this.#silence.begin(() => resolve(writer.keepAlive()));
      pending.then(
        (items) => {
          this.#silence.end();
          this.#pending = NONE;
          resolve(items);
        },
        (error: unknown) => {
          this.#silence.close();
          reject(error);
        },
      );
    });
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

/** Marks that nothing is waited for. */
const NONE = Symbol('none');

/**
 * Tells when nothing has come for too long. One timer for the whole stream: what comes moves a number, and the timer is
 * only set again when it has fired.
 */
class Silence {
  readonly #environment: Environment;
  readonly #everyMs: number;
  #quietMs: number;
  #timer: Timer | undefined;
  #endsAt = Infinity;
  #onQuiet: (() => void) | undefined;

  constructor(environment: Environment, { firstMs, everyMs }: KeepAlive) {
    this.#environment = environment;
    this.#quietMs = firstMs;
    this.#everyMs = everyMs;
  }

  /** Something is waited for from now on. */
  begin(onQuiet: () => void): void {
    this.#onQuiet = onQuiet;
    this.#endsAt = this.#environment.now() + this.#quietMs;
    this.#timer ??= this.#environment.setTimer(this.#look, this.#quietMs);
  }

  /** It came. */
  end(): void {
    this.#onQuiet = undefined;
  }

  close(): void {
    this.end();
    if (this.#timer !== undefined) this.#environment.clearTimer(this.#timer);
    this.#timer = undefined;
  }

  readonly #look = (): void => {
    this.#timer = undefined;
    const onQuiet = this.#onQuiet;
    if (onQuiet === undefined) return;
    const left = this.#endsAt - this.#environment.now();
    // Timers of the platform may fire up to a millisecond early.
    if (left > 1) this.#timer = this.#environment.setTimer(this.#look, left);
    else {
      this.#onQuiet = undefined;
      this.#quietMs = this.#everyMs;
      onQuiet();
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
    const { source, spelling } = this.#options;
    let frames = '';
    for (const item of items) {
      if (typeof item === 'string') frames += source.envelope.textFrame(item);
      else if (!('type' in item)) frames += dataFrame(JSON.stringify(spell(item, spelling)));
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
    const { error, router_metadata: metadata } = errorBody(errorOfUnknown(thrown), wantsMetadata);
    const chunk = source.envelope.error(error, metadata);
    return dataFrame(JSON.stringify(spell(chunk, spelling))) + DONE_FRAME;
  }
}
