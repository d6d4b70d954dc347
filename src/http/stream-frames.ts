import type { KeepAlive } from '../router-config.ts';
import type { ChatStreamSource, StreamItem } from '../runtime/chat-stream.ts';
import type { Environment } from '../runtime/environment.ts';
import type { Frames } from './exchange.ts';
import type { FrameWriter } from './frame-writer.ts';

/** What the frames of one stream depend on. */
export interface StreamFramesOptions {
  readonly source: ChatStreamSource;
  readonly writer: FrameWriter;
  readonly keepAlive: KeepAlive;
  readonly environment: Environment;
  /** Called once when the stream is over, however it ended. */
  readonly onEnd: () => void;
}

type Items = readonly StreamItem[] | undefined;

/**
 * A stream as server-sent events. Frames are made when they are asked for, so a client that does not read holds the
 * provider back; what arrived together is one frame. While nothing arrives, comments keep the connection open.
 */
export class StreamFrames implements Frames {
  readonly #options: StreamFramesOptions;
  #pending: Promise<Items> | undefined;
  #opening: string | undefined;
  #quietMs: number;
  #over = false;

  constructor(options: StreamFramesOptions) {
    this.#options = options;
    this.#quietMs = options.keepAlive.firstMs;
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
        const items = await this.#itemsOrComment();
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
  #itemsOrComment(): Promise<Items | string> {
    const { environment, source, writer, keepAlive } = this.#options;
    const pending = (this.#pending ??= source.next());
    return new Promise((resolve, reject) => {
      const timer = environment.setTimer(() => {
        this.#quietMs = keepAlive.everyMs;
        resolve(writer.keepAlive());
      }, this.#quietMs);
      pending.then(
        (items) => {
          environment.clearTimer(timer);
          this.#pending = undefined;
          resolve(items);
        },
        (error: unknown) => {
          environment.clearTimer(timer);
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
    this.#options.onEnd();
  }
}
