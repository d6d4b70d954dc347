/** The contract of API formats besides chat completions: their way to the chat form and back. */
import type { ChatResult } from '../protocol/chat-result.ts';
import type { ChatChunk } from '../protocol/chunk.ts';
import type { ApiFormatName } from '../protocol/api-format.ts';
import type { ErrorDetail } from '../protocol/error.ts';
import type { Checked } from '../protocol/fault.ts';
import type { JsonObject } from '../protocol/json.ts';
import type { RequestLimits } from '../protocol/limits.ts';
import type { RouterMetadata } from '../protocol/metadata.ts';
import type { NormalizedRequest, NativeRequest } from '../contracts/request.ts';
import type { NativePiece } from '../contracts/stream-piece.ts';

/** A body in an API format, understood. */
export interface ApiFormatRequest {
  /** The same request as a chat body; it is checked like any other. */
  readonly chat: JsonObject;
  /** Absent when even an endpoint that supports the API format must be called in the chat form. */
  readonly native?: Omit<NativeRequest, 'apiFormat'> | undefined;
}

/** A non-streaming response: in the chat form, and in the API format's own words where an endpoint used it. */
export interface CompleteAnswer {
  readonly result: ChatResult;
  readonly native?: JsonObject | undefined;
}

/** An error, as an API format wraps it. */
export interface ApiFormatError {
  readonly status: number;
  readonly detail: ErrorDetail;
  readonly metadata?: RouterMetadata | undefined;
  readonly requestId?: string | undefined;
}

/** What answers in an API format are made with, besides the answer. */
export interface ApiFormatContext {
  /** The caller's body: several shapes repeat parts of it. */
  readonly body: JsonObject;
  /** Generation id of the router. */
  readonly generationId: string;
  /** Unix seconds. */
  readonly created: number;
  /** Makes a random text of letters and digits, for ids that the chat form does not have. */
  readonly randomText: (length: number) => string;
  /** Likely tokens of the prompt, for events that come before anybody has counted it. Default: 0. */
  readonly promptTokens?: (() => number) | undefined;
  /** How names that hold a brand are spelled in this answer. */
  readonly spelling: ApiFormatSpelling;
}

/** Names that hold a brand (gaps 0.2). */
interface ApiFormatSpelling {
  readonly metadataField: 'router_metadata' | 'openrouter_metadata';
  /** Text of comments that keep a quiet stream open. */
  readonly processing: string;
}

/** Writes one stream in an API format. Holds the state of that stream; gives server-sent events as text, or nothing. */
export interface ApiFormatStreamWriter {
  /**
   * One thing of the stream. Where an endpoint speaks the API format, native pieces come beside the chunks that say the
   * same: once one has come, chunks only matter for what a native piece cannot know, such as cost.
   */
  write(item: ChatChunk | NativePiece): string;
  /** A plain content chunk, by its escaped text. A shorter way to write the commonest thing; default: none. */
  text?(escaped: string): string;
  /** Keeps a quiet connection open. */
  keepAlive(): string;
  /** The stream was whole. */
  end(): string;
  /** The stream broke after it had begun; nothing follows. */
  fail(error: ApiFormatError): string;
}

/** Estimates the tokens of a prompt for a model, given with its author. */
export type PromptEstimate = (request: NormalizedRequest, model: string) => number;

/**
 * How an API format says errors. Known without the rest of the API format, which is loaded for the first request in it.
 */
export interface ApiFormatErrors {
  readonly name: ApiFormatName;
  /** A second header in which its clients look for the id of the request. */
  readonly requestIdHeader?: string | undefined;
  /** Writes the body of an error answer. */
  error(error: ApiFormatError): JsonObject;
  /** The HTTP status that its clients expect for an error. Default: the error's own. */
  status?(error: ApiFormatError): number;
}

/**
 * An API format besides chat completions. Requests are translated to the chat form and go the ordinary way; responses
 * are translated back. Pure.
 */
export interface ApiFormat extends ApiFormatErrors {
  /**
   * Checks a body and translates it. Faults name paths of the API format.
   *
   * @param routing - Ids of plugins that change nothing of a request. Default: none.
   */
  toChat(body: unknown, limits: RequestLimits, routing?: ReadonlySet<string>): Checked<ApiFormatRequest>;
  /** Writes a non-streaming response. */
  complete(answer: CompleteAnswer, context: ApiFormatContext): JsonObject;
  /** Starts writing a stream. */
  streamWriter(context: ApiFormatContext): ApiFormatStreamWriter;
  /** How tokens of a prompt are estimated, for {@link ApiFormatContext.promptTokens}. Default: nobody requires them. */
  readonly estimate?: PromptEstimate | undefined;
  /**
   * The whole response that an error is in this API format, or undefined for one that is an error here too. Streams
   * write such an answer in {@link ApiFormatStreamWriter.fail}. Default: every error is one.
   */
  absorb?(error: ApiFormatError, context: ApiFormatContext): JsonObject | undefined;
}
