/** What writes the frames of a stream, by the API format of its request. */
import type { ApiFormat, ApiFormatContext, ApiFormatError, ApiFormatStreamWriter } from '../formats/api-format.ts';
import type { JsonObject } from '../protocol/json.ts';
import type { ChatStreamSource, StreamItem } from '../runtime/chat/chat-stream.ts';
import { errorOfUnknown } from '../runtime/chat/router-errors.ts';
import { errorBody, type ErrorReplyContext } from './error-reply.ts';
import type { Spelling } from './spelling.ts';
import { ChatFrameWriter, type FrameWriter, StreamFrames } from './stream-frames.ts';

/** What writes the frames of a stream in the API format of its request. */
export function writerOf(
  source: ChatStreamSource,
  apiFormat: ApiFormat | undefined,
  { spelling, wantsMetadata, headers }: ErrorReplyContext,
  format: () => ApiFormatContext,
): FrameWriter {
  if (apiFormat === undefined) return new ChatFrameWriter({ source, spelling, wantsMetadata });
  return new ApiFormatFrameWriter(apiFormat, format(), source, { wantsMetadata, requestId: headers['x-request-id'] });
}

/** Wraps an error as an API format does. */
export function apiFormatError(thrown: unknown, wantsMetadata: boolean, requestId?: string): ApiFormatError {
  const error = errorOfUnknown(thrown);
  const { error: detail, router_metadata: metadata } = errorBody(error, { wantsMetadata });
  return { status: error.status, detail, metadata, requestId };
}

/** The frames of a stream in an API format. */
class ApiFormatFrameWriter implements FrameWriter {
  readonly #source: ChatStreamSource;
  readonly #writer: ApiFormatStreamWriter;
  readonly #wantsMetadata: boolean;
  readonly #requestId: string | undefined;

  constructor(
    apiFormat: ApiFormat,
    context: ApiFormatContext,
    source: ChatStreamSource,
    requested: { readonly wantsMetadata: boolean; readonly requestId?: string | undefined },
  ) {
    this.#source = source;
    this.#writer = apiFormat.streamWriter(context);
    this.#wantsMetadata = requested.wantsMetadata;
    this.#requestId = requested.requestId;
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
    return this.#writer.fail(apiFormatError(thrown, this.#wantsMetadata, this.#requestId));
  }
}

/** What answers to one call are made with. */
export function apiFormatContext(
  body: unknown,
  generationId: string,
  environment: { wallClock(): number; randomText(length: number): string },
  spelling: Spelling,
  promptTokens?: () => number,
): ApiFormatContext {
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

/**
 * What writes streams. Handed to what goes on with them, which is loaded on use: a bundle of a program without HTTP holds
 * whatever that imports.
 */
export const STREAM_WRITING = { StreamFrames, writerOf, apiFormatContext } as const;

/** What writes streams. */
export type StreamWriting = typeof STREAM_WRITING;
