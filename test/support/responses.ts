import type { ApiFormatContext, ApiFormatRequest, ApiFormatStreamWriter } from '../../src/formats/api-format.ts';
import { RESPONSES } from '../../src/formats/responses/responses.ts';
import type { ChatResult, Choice } from '../../src/protocol/chat-result.ts';
import type { ChatChunk, Delta } from '../../src/protocol/chunk.ts';
import type { JsonObject } from '../../src/protocol/json.ts';
import { DEFAULT_REQUEST_LIMITS } from '../../src/protocol/limits.ts';

/** Generation id of every answer that is written in these tests. */
export const GENERATION = 'gen-1790000000-Ab12Cd34Ef56Gh78Ij90';
/** What ids of items end in, besides their position. */
export const TAIL = '1790000000-Ab12Cd34Ef56Gh78Ij90';

/** A body of `POST /responses`. */
export function responsesBody(fields: Readonly<Record<string, unknown>> = {}): JsonObject {
  const body: Readonly<Record<string, unknown>> = { model: 'acme/one', input: 'Hello', ...fields };
  return body as JsonObject;
}

/** A body, understood. */
export function understood(fields: Readonly<Record<string, unknown>>): ApiFormatRequest {
  const checked = RESPONSES.toChat(responsesBody(fields), DEFAULT_REQUEST_LIMITS, new Set(['auto-router']));
  if (!checked.ok) throw new Error(checked.fault.message);
  return checked.value;
}

/** The chat body that a body stands for, without its model. */
export function chatOf(fields: Readonly<Record<string, unknown>>): JsonObject {
  const { model: _, ...chat } = understood(fields).chat;
  return JSON.parse(JSON.stringify(chat)) as JsonObject;
}

/** The messages that input items stand for. */
export function messagesOf(input: unknown, fields: Readonly<Record<string, unknown>> = {}): readonly JsonObject[] {
  return chatOf({ ...fields, input })['messages'] as readonly JsonObject[];
}

/** What is wrong with a body, as one sentence. */
export function sentenceOf(body: unknown): string {
  const checked = RESPONSES.toChat(body, DEFAULT_REQUEST_LIMITS);
  return checked.ok ? 'accepted' : checked.fault.message;
}

/** What answers are made with. */
export function contextOf(fields: Readonly<Record<string, unknown>> = {}): ApiFormatContext {
  return {
    body: responsesBody(fields),
    spelling: { metadataField: 'router_metadata', processing: 'ROUTER PROCESSING' },
    generationId: GENERATION,
    created: 1_790_000_000,
    randomText: () => 'random',
  };
}

/** A whole answer of the chat form. */
export function chatResult(message: Partial<Choice['message']>, rest: Partial<Choice & ChatResult> = {}): ChatResult {
  const { finish_reason: reason = 'stop', logprobs = null, ...result } = rest;
  return {
    id: GENERATION,
    object: 'chat.completion',
    created: 1_790_000_000,
    model: 'acme/one',
    provider: 'Up',
    system_fingerprint: null,
    choices: [
      {
        index: 0,
        finish_reason: reason,
        native_finish_reason: reason,
        logprobs,
        message: { role: 'assistant', content: null, refusal: null, reasoning: null, ...message },
      },
    ],
    ...result,
  };
}

/** A whole answer in this shape. */
export function respond(
  message: Partial<Choice['message']>,
  rest: Partial<Choice & ChatResult> = {},
  fields: Readonly<Record<string, unknown>> = {},
): JsonObject {
  const whole = RESPONSES.complete({ result: chatResult(message, rest) }, contextOf(fields));
  return JSON.parse(JSON.stringify(whole)) as JsonObject;
}

/** The items of a whole answer. */
export function itemsFor(
  message: Partial<Choice['message']>,
  rest: Partial<Choice & ChatResult> = {},
  fields: Readonly<Record<string, unknown>> = {},
): readonly JsonObject[] {
  return respond(message, rest, fields)['output'] as readonly JsonObject[];
}

/** A chunk that adds something. */
export function chunk(delta: Delta, rest: Partial<ChatChunk['choices'][number]> = {}): ChatChunk {
  const choice = { index: 0, delta, finish_reason: null, native_finish_reason: null, logprobs: null, ...rest };
  return {
    id: GENERATION,
    object: 'chat.completion.chunk',
    created: 1_790_000_000,
    model: 'acme/one',
    provider: 'Up',
    choices: [choice],
  };
}

/** The chunk that ends every stream. */
export function usageChunk(rest: Partial<ChatChunk> = {}): ChatChunk {
  return { ...chunk({}), choices: [], usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 }, ...rest };
}

/** One event of a stream. */
export type Event = JsonObject & { readonly type: string };

/** The events in frames, read as strictly as a client may; the end mark is none. */
export function eventsIn(frames: string): readonly Event[] {
  return frames
    .split('\n\n')
    .filter((frame) => frame !== '' && !frame.startsWith(':') && frame !== 'data: [DONE]')
    .map((frame) => {
      const [, name, data] = /^event: (\S+)\ndata: ([^\r\n]+)$/.exec(frame) ?? [];
      if (data === undefined) throw new Error(`Not an event: ${frame.slice(0, 100)}`);
      const event = JSON.parse(data) as Event;
      if (event.type !== name) throw new Error(`The event ${name} calls itself ${event.type}`);
      return event;
    });
}

/** Everything that a stream of these chunks and escaped texts consists of. */
export function streamed(
  items: readonly (ChatChunk | string)[],
  fields: Readonly<Record<string, unknown>> = {},
): readonly Event[] {
  const writer = RESPONSES.streamWriter(contextOf(fields));
  return eventsIn(items.map((item) => writeTo(writer, item)).join('') + writer.end());
}

/** Writes one thing in the way in which the HTTP side does. */
export function writeTo(writer: ApiFormatStreamWriter, item: ChatChunk | string): string {
  return typeof item === 'string' ? (writer.text?.(item) ?? '') : writer.write(item);
}
