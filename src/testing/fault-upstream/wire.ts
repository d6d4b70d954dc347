import type { RecordedRequest } from './fault.ts';

/** What a request asks for, as far as the fault upstream cares. */
export interface AskedFor {
  readonly model: string;
  /** What a good answer says. */
  readonly text: string;
}

/** An error of a provider, before a wire gives it its form. */
export interface WireError {
  readonly message: string;
  /** A number where a status is in the place of a code. */
  readonly code?: string | number | undefined;
  readonly type?: string | undefined;
}

/** How one wire writes good answers, and the few bad ones that have a form of their own in each wire. */
export interface FaultWire {
  /** Whether a request asks for a stream. */
  streams(request: RecordedRequest): boolean;
  /** Model that a request asks for, if it names one. */
  modelOf(request: RecordedRequest): string | undefined;
  /** A non-streaming response. */
  completion(asked: AskedFor): Record<string, unknown>;
  /** The events before the first content: they say who speaks, and nothing else. */
  opening(asked: AskedFor): readonly string[];
  /** One event with some text. */
  chunk(asked: AskedFor, text: string): string;
  /** The events that end a stream: finish, usage and end mark. */
  ending(asked: AskedFor): readonly string[];
  /** A non-streaming response of which the provider itself says that it failed. */
  failedCompletion(asked: AskedFor): Record<string, unknown>;
  /** The events that end a stream by saying that it failed. */
  failedEnding(asked: AskedFor): string;
  /** An answer with nothing in it. */
  emptyCompletion(asked: AskedFor): Record<string, unknown>;
  /** Body of an error; without a status it comes with a good one. */
  errorBody(error: WireError, status?: number): unknown;
  /** An error inside a stream, and the end. */
  errorEvents(error: WireError, status: number): string;
  /** A non-streaming response and an event of a stream, each with the value in a place where anything may stand. */
  holding(asked: AskedFor, value: string): { readonly completion: Record<string, unknown>; readonly event: string };
}

/** One server-sent event. */
export function event(data: unknown, name?: string): string {
  return `${name === undefined ? '' : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`;
}

/** The words of a text, each with the space behind it: one content chunk each. */
export function wordsOf(text: string): readonly string[] {
  return text.match(/\S+\s*/g) ?? [];
}

/** A member of a request's body. */
export function memberOf({ body }: RecordedRequest, name: string): unknown {
  return typeof body === 'object' && body !== null ? (body as Record<string, unknown>)[name] : undefined;
}

const USAGE = { prompt_tokens: 10, completion_tokens: 9, total_tokens: 19 };
const ID = 'chatcmpl-fault-upstream';
const CREATED = 1_700_000_000;

/** The chat completions wire. */
export const CHAT_WIRE: FaultWire = {
  streams: (request) => memberOf(request, 'stream') === true,
  modelOf(request) {
    const model = memberOf(request, 'model');
    return typeof model === 'string' ? model : undefined;
  },
  completion: (asked) => completion(asked, { role: 'assistant', content: asked.text }),
  opening: (asked) => [chunkEvent(asked, { role: 'assistant', content: '' })],
  chunk: (asked, text) => chunkEvent(asked, { content: text }),
  ending: (asked) => [chunkEvent(asked, {}, 'stop'), event({ ...chunk(asked), choices: [], usage: USAGE }), DONE_EVENT],
  failedCompletion: (asked) => completion(asked, { role: 'assistant', content: '' }, 'error'),
  failedEnding: (asked) => chunkEvent(asked, {}, 'error') + DONE_EVENT,
  emptyCompletion: (asked) => ({ ...completion(asked, {}), choices: [] }),
  errorBody: (error) => ({ error }),
  errorEvents: (error, status) => event({ error: { code: status, ...error } }) + DONE_EVENT,
  holding: (asked, value) => ({
    completion: completion(asked, { role: 'assistant', content: asked.text, reasoning_details: value }),
    event: chunkEvent(asked, { reasoning_details: value }),
  }),
};

const DONE_EVENT = 'data: [DONE]\n\n';

function completion({ model }: AskedFor, message: object, finish = 'stop'): Record<string, unknown> {
  return {
    id: ID,
    object: 'chat.completion',
    created: CREATED,
    model,
    choices: [{ index: 0, message, finish_reason: finish }],
    usage: USAGE,
  };
}

function chunkEvent(asked: AskedFor, delta: object, finish: string | null = null): string {
  return event({ ...chunk(asked), choices: [{ index: 0, delta, finish_reason: finish }] });
}

function chunk({ model }: AskedFor): object {
  return { id: ID, object: 'chat.completion.chunk', created: CREATED, model };
}
