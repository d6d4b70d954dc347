import type { Dialect, DialectContext, DialectError, DialectStreamWriter } from '../core/dialects/dialect.ts';
import type { JsonObject } from '../protocol/json.ts';
import type { ChatStreamSource, StreamItem } from '../runtime/chat/chat-stream.ts';
import { errorOfUnknown } from '../runtime/chat/router-errors.ts';
import type { Spelling } from './body.ts';
import { errorBody } from './error-reply.ts';
import type { FrameWriter } from './stream-frames.ts';

/** Wraps an error as a dialect does. */
export function dialectError(thrown: unknown, wantsMetadata: boolean, requestId?: string): DialectError {
  const error = errorOfUnknown(thrown);
  const { error: detail, router_metadata: metadata } = errorBody(error, wantsMetadata);
  return { status: error.status, detail, metadata, requestId };
}

/** The frames of a stream in a dialect. */
export class DialectFrameWriter implements FrameWriter {
  readonly #source: ChatStreamSource;
  readonly #writer: DialectStreamWriter;
  readonly #wantsMetadata: boolean;
  readonly #requestId: string | undefined;

  constructor(
    dialect: Dialect,
    context: DialectContext,
    source: ChatStreamSource,
    asked: { readonly wantsMetadata: boolean; readonly requestId?: string | undefined },
  ) {
    this.#source = source;
    this.#writer = dialect.streamWriter(context);
    this.#wantsMetadata = asked.wantsMetadata;
    this.#requestId = asked.requestId;
  }

  items(items: readonly StreamItem[]): string {
    let frames = '';
    for (const item of items) {
      if (typeof item !== 'string') frames += this.#writer.write(item);
      else frames += this.#writer.text?.(item) ?? this.#writer.write(this.#source.envelope.text(item));
    }
    return frames;
  }

  keepAlive(): string {
    return this.#writer.keepAlive();
  }

  end(): string {
    return this.#writer.end();
  }

  fail(thrown: unknown): string {
    return this.#writer.fail(dialectError(thrown, this.#wantsMetadata, this.#requestId));
  }
}

/** What answers to one call are made with. */
export function dialectContext(
  body: unknown,
  generationId: string,
  environment: { wallClock(): number; randomText(length: number): string },
  spelling: Spelling,
  promptTokens?: () => number,
): DialectContext {
  return {
    // A request that was understood is an object.
    body: body as JsonObject,
    generationId,
    created: Math.floor(environment.wallClock() / 1_000),
    randomText: (length) => environment.randomText(length),
    promptTokens,
    spelling,
  };
}
