import type { KeepAlive } from '../config.ts';
import { DONE_FRAME, commentFrame, dataFrame } from '../core/stream/sse-frames.ts';
import type { ChatStreamSource, StreamItem } from '../runtime/chat-stream.ts';
import type { Environment } from '../runtime/environment.ts';
import { errorOfUnknown } from '../runtime/router-errors.ts';
import { type Spelling, spell } from './brand.ts';
import { errorBody } from './error-reply.ts';
import type { Frames } from './exchange.ts';

/** What the frames of one stream depend on. */
export interface StreamFramesOptions {
  readonly source: ChatStreamSource;
  readonly keepAlive: KeepAlive;
  readonly environment: Environment;
  readonly spelling: Spelling;
  readonly wantsMetadata: boolean;
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
      const items = await this.#itemsOrComment();
      return { done: false, value: typeof items === 'string' ? items : this.#render(items) };
    } catch (error) {
      this.#end();
      return { done: false, value: this.#errorFrames(error) };
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
    const { environment, source, spelling, keepAlive } = this.#options;
    const pending = (this.#pending ??= source.next());
    return new Promise((resolve, reject) => {
      const timer = environment.setTimer(() => {
        this.#quietMs = keepAlive.everyMs;
        resolve(commentFrame(spelling.processing));
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
    const { source, spelling } = this.#options;
    let frames = '';
    for (const item of items ?? []) {
      frames +=
        typeof item === 'string' ? source.envelope.textFrame(item) : dataFrame(JSON.stringify(spell(item, spelling)));
    }
    if (items === undefined || source.ended) {
      this.#end();
      frames += DONE_FRAME;
    }
    return frames;
  }

  #end(): void {
    this.#over = true;
    this.#options.onEnd();
  }

  /** A failure after the stream began: one error chunk, then the end as always (gaps 4.4). */
  #errorFrames(thrown: unknown): string {
    const { source, spelling, wantsMetadata } = this.#options;
    const error = errorOfUnknown(thrown);
    const { error: detail, router_metadata: metadata } = errorBody(error, wantsMetadata);
    const chunk = source.envelope.error(detail, metadata);
    return dataFrame(JSON.stringify(spell(chunk, spelling))) + DONE_FRAME;
  }
}
