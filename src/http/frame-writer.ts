/** What writes the frames of a stream, by the API format of its request. */
import type { ApiFormat, ApiFormatContext, ApiFormatError, ApiFormatStreamWriter } from '../formats/api-format.ts';
import type { JsonObject } from '../protocol/json.ts';
import { loadApiFormat } from '../router/incoming.ts';
import type { OpenedChat } from '../router/router.ts';
import type { ChatStreamSource, StreamItem } from '../runtime/chat/chat-stream.ts';
import { errorOfUnknown } from '../runtime/chat/router-errors.ts';
import { errorBody, type ErrorReplyContext } from './error-reply.ts';
import { ChatFrameWriter, type FrameWriter, StreamFrames } from './stream-frames.ts';

/** What writes the frames of a stream in the API format of its request. */
export function writerOf(
  source: ChatStreamSource,
  { spelling, wantsMetadata, headers }: ErrorReplyContext,
  format: AnswerFormat | undefined,
): FrameWriter {
  if (format === undefined) return new ChatFrameWriter({ source, spelling, wantsMetadata });
  return new ApiFormatFrameWriter(format, source, { wantsMetadata, requestId: headers['x-request-id'] });
}

/** What an error in an API format says besides itself. */
export interface ErrorDetails {
  readonly wantsMetadata: boolean;
  readonly requestId?: string | undefined;
}

/** Wraps an error as an API format does. */
export function apiFormatError(thrown: unknown, { wantsMetadata, requestId }: ErrorDetails): ApiFormatError {
  const error = errorOfUnknown(thrown);
  const { error: detail, router_metadata: metadata } = errorBody(error, { wantsMetadata });
  return { status: error.status, detail, metadata, requestId };
}

/** The frames of a stream in an API format. */
class ApiFormatFrameWriter implements FrameWriter {
  readonly #source: ChatStreamSource;
  readonly #writer: ApiFormatStreamWriter;
  readonly #errorDetails: ErrorDetails;

  constructor({ apiFormat, context }: AnswerFormat, source: ChatStreamSource, errorDetails: ErrorDetails) {
    this.#source = source;
    this.#writer = apiFormat.streamWriter(context());
    this.#errorDetails = errorDetails;
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
    return this.#writer.fail(apiFormatError(thrown, this.#errorDetails));
  }
}

/** Another API format than chat completions, for the answer to one call. */
export interface AnswerFormat {
  readonly apiFormat: ApiFormat;
  /** What the answer is made with, when it is made. */
  readonly context: () => ApiFormatContext;
}

export function answerFormat(
  apiFormat: ApiFormat,
  opened: OpenedChat,
  { body, context: { spelling } }: { readonly body: unknown; readonly context: Pick<ErrorReplyContext, 'spelling'> },
  environment: { wallClock(): number; randomText(length: number): string },
): AnswerFormat {
  const { estimate } = apiFormat;
  return {
    apiFormat,
    context: () => ({
      // A request that was understood is an object.
      body: body as JsonObject,
      generationId: opened.id,
      created: Math.floor(environment.wallClock() / 1_000),
      randomText: (length) => environment.randomText(length),
      promptTokens: estimate && (() => opened.promptTokens(estimate)),
      spelling,
    }),
  };
}

/**
 * What writes streams. Handed to what goes on with them, which is loaded on use: a bundle of a program without HTTP holds
 * whatever that imports.
 */
export const STREAM_WRITING = { StreamFrames, writerOf, answerFormat, loadApiFormat } as const;

/** What writes streams. */
export type StreamWriting = typeof STREAM_WRITING;
