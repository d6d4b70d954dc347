import { DONE_FRAME, commentFrame, dataFrame } from '../core/stream/sse-frames.ts';
import type { ChatStreamSource, StreamItem } from '../runtime/chat-stream.ts';
import { errorOfUnknown } from '../runtime/router-errors.ts';
import { type Spelling, spell } from './brand.ts';
import { errorBody } from './error-reply.ts';

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
export interface ChatFrameOptions {
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
