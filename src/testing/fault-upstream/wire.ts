/** How fault upstreams answer in each API. */

/** What a request requires, as far as the fault upstream cares. */
interface RequestedAnswer {
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
  /** Whether a request is for a stream. */
  streams(request: RecordedRequest): boolean;
  /** Model of a request, if it names one. */
  modelOf(request: RecordedRequest): string | undefined;
  /** A non-streaming response. */
  completion(requested: RequestedAnswer): Record<string, unknown>;
  /** The events before the first content: they say who speaks, and nothing else. */
  opening(requested: RequestedAnswer): readonly string[];
  /** One event with some text. */
  chunk(requested: RequestedAnswer, text: string): string;
  /** The events that end a stream: finish, usage and end mark. */
  ending(requested: RequestedAnswer): readonly string[];
  /** A non-streaming response of which the provider itself says that it failed. */
  failedCompletion(requested: RequestedAnswer): Record<string, unknown>;
  /** The events that end a stream by saying that it failed. */
  failedEnding(requested: RequestedAnswer): string;
  /** An answer with nothing in it. */
  emptyCompletion(requested: RequestedAnswer): Record<string, unknown>;
  /** Body of an error; without a status it comes with a good one. */
  errorBody(error: WireError, status?: number): unknown;
  /** An error inside a stream, and the end. */
  errorEvents(error: WireError, status: number): string;
  /** A non-streaming response and an event of a stream, each with the value in a place where anything may stand. */
  holding(
    requested: RequestedAnswer,
    value: string,
  ): { readonly completion: Record<string, unknown>; readonly event: string };
}

/** One server-sent event. */
function event(data: unknown, name?: string): string {
  return `${name === undefined ? '' : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`;
}

/** The words of a text, each with the space behind it: one content chunk each. */
export function spacedWords(text: string): readonly string[] {
  return text.match(/\S+\s*/g) ?? [];
}

/** A member of a request's body. */
function memberOf({ body }: RecordedRequest, name: string): unknown {
  return typeof body === 'object' && body !== null ? (body as Record<string, unknown>)[name] : undefined;
}

const USAGE = { prompt_tokens: 10, completion_tokens: 9, total_tokens: 19 };
const ID = 'chatcmpl-fault-upstream';
const CREATED = 1_700_000_000;

/** The chat completions wire. */
const CHAT_WIRE: FaultWire = {
  streams: (request) => memberOf(request, 'stream') === true,
  modelOf(request) {
    const model = memberOf(request, 'model');
    return typeof model === 'string' ? model : undefined;
  },
  completion: (requested) => completion(requested, { role: 'assistant', content: requested.text }),
  opening: (requested) => [chunkEvent(requested, { role: 'assistant', content: '' })],
  chunk: (requested, text) => chunkEvent(requested, { content: text }),
  ending: (requested) => [
    chunkEvent(requested, {}, 'stop'),
    event({ ...chunk(requested), choices: [], usage: USAGE }),
    DONE_EVENT,
  ],
  failedCompletion: (requested) => completion(requested, { role: 'assistant', content: '' }, 'error'),
  failedEnding: (requested) => chunkEvent(requested, {}, 'error') + DONE_EVENT,
  emptyCompletion: (requested) => ({ ...completion(requested, {}), choices: [] }),
  errorBody: (error) => ({ error }),
  errorEvents: (error, status) => event({ error: { code: status, ...error } }) + DONE_EVENT,
  holding: (requested, value) => ({
    completion: completion(requested, { role: 'assistant', content: requested.text, reasoning_details: value }),
    event: chunkEvent(requested, { reasoning_details: value }),
  }),
};

const DONE_EVENT = 'data: [DONE]\n\n';

function completion({ model }: RequestedAnswer, message: object, finish = 'stop'): Record<string, unknown> {
  return {
    id: ID,
    object: 'chat.completion',
    created: CREATED,
    model,
    choices: [{ index: 0, message, finish_reason: finish }],
    usage: USAGE,
  };
}

function chunkEvent(requested: RequestedAnswer, delta: object, finish: string | null = null): string {
  return event({ ...chunk(requested), choices: [{ index: 0, delta, finish_reason: finish }] });
}

function chunk({ model }: RequestedAnswer): object {
  return { id: ID, object: 'chat.completion.chunk', created: CREATED, model };
}

const MESSAGE_ID = 'msg_fault_upstream';
const ANTHROPIC_USAGE = { input_tokens: 10, output_tokens: 9 };

/** What the API calls an error of each status. */
const ANTHROPIC_ERROR_TYPES: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  409: 'conflict_error',
  413: 'request_too_large',
  422: 'invalid_request_error',
  429: 'rate_limit_error',
  504: 'timeout_error',
  529: 'overloaded_error',
};

/** The wire of Anthropic's Messages API. */
const ANTHROPIC_WIRE: FaultWire = {
  streams: (request) => memberOf(request, 'stream') === true,
  modelOf(request) {
    const model = memberOf(request, 'model');
    return typeof model === 'string' ? model : undefined;
  },
  completion: (requested) => anthropicMessage(requested, [{ type: 'text', text: requested.text }], 'end_turn'),
  opening: (requested) => [
    named({ type: 'message_start', message: anthropicMessage(requested, [], null) }),
    named({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
    named({ type: 'ping' }),
  ],
  chunk: (_requested, text) => named({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }),
  ending: () => ending('end_turn'),
  failedCompletion: (requested) => anthropicMessage(requested, [], null),
  failedEnding: () => ending(null).join(''),
  emptyCompletion: ({ model }) => ({ id: MESSAGE_ID, type: 'message', role: 'assistant', model, content: null }),
  errorBody: ({ message: text, code }, status = Number(code)) => anthropicError(text, status),
  errorEvents: ({ message: text }, status) => named(anthropicError(text, status)),
  holding: (requested, value) => {
    const block = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: value };
    return {
      completion: anthropicMessage(requested, [block, { type: 'text', text: requested.text }], 'end_turn'),
      event: named({ type: 'content_block_start', index: 1, content_block: block }),
    };
  },
};

function anthropicMessage(
  { model }: RequestedAnswer,
  content: readonly object[],
  stop: string | null,
): Record<string, unknown> {
  return {
    id: MESSAGE_ID,
    type: 'message',
    role: 'assistant',
    model,
    content,
    stop_reason: stop,
    stop_sequence: null,
    usage: ANTHROPIC_USAGE,
  };
}

function ending(stop: string | null): readonly string[] {
  return [
    named({ type: 'content_block_stop', index: 0 }),
    named({ type: 'message_delta', delta: { stop_reason: stop, stop_sequence: null }, usage: ANTHROPIC_USAGE }),
    named({ type: 'message_stop' }),
  ];
}

function anthropicError(
  text: string,
  status: number,
): { readonly type: string; readonly error: object; readonly [member: string]: unknown } {
  return { type: 'error', error: { type: ANTHROPIC_ERROR_TYPES[status] ?? 'api_error', message: text } };
}

function named(data: { readonly type: string; readonly [member: string]: unknown }): string {
  return event(data, data.type);
}

const GOOGLE_USAGE = { promptTokenCount: 10, candidatesTokenCount: 9, totalTokenCount: 19 };
const STREAMED = /:streamGenerateContent\b/;
const MODEL = /\/([^/:]+):\w+/;

/** Google's words for a status, in the place of a code. */
const GOOGLE_STATUSES: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  409: 'ABORTED',
  429: 'RESOURCE_EXHAUSTED',
  499: 'CANCELLED',
  500: 'INTERNAL',
  501: 'UNIMPLEMENTED',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
};

/** Google's native API: model and form of the answer are in the path, and a stream has no end mark. */
const GOOGLE_WIRE: FaultWire = {
  streams: ({ path }) => STREAMED.test(path),
  modelOf: ({ path }) => MODEL.exec(path)?.[1],
  completion: (requested) => response(requested, { parts: [{ text: requested.text }], role: 'model' }, 'STOP'),
  opening: (requested) => [event(response(requested, { parts: [{ text: '' }], role: 'model' }))],
  chunk: (requested, text) => event(response(requested, { parts: [{ text }], role: 'model' })),
  ending: (requested) => [event(response(requested, { parts: [{ text: '' }], role: 'model' }, 'STOP'))],
  failedCompletion: (requested) => response(requested, {}, 'MALFORMED_FUNCTION_CALL'),
  failedEnding: (requested) => event(response(requested, {}, 'MALFORMED_FUNCTION_CALL')),
  emptyCompletion: (requested) => ({ ...response(requested, {}), candidates: [] }),
  errorBody: (error, status) => ({ error: googleError(error, status) }),
  errorEvents: (error, status) => event({ error: googleError(error, status) }),
  holding(requested, value) {
    const call = { functionCall: { name: 'look', args: { at: value } } };
    const parts = [{ text: requested.text }, call];
    return {
      completion: response(requested, { parts, role: 'model' }, 'STOP'),
      event: event(response(requested, { parts: [call], role: 'model' })),
    };
  },
};

function response({ model }: RequestedAnswer, content: object, finishReason?: string): Record<string, unknown> {
  const candidate = { content, ...(finishReason === undefined ? {} : { finishReason }), index: 0 };
  return { candidates: [candidate], usageMetadata: GOOGLE_USAGE, modelVersion: model, responseId: 'fault-upstream' };
}

/** A code of another wire becomes the reason in the details, where Google has its own. */
function googleError({ message, code, type }: WireError, status: number | undefined): object {
  const number = typeof code === 'number' ? code : status;
  const reason = typeof code === 'string' ? code : type;
  const details = [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason, domain: 'googleapis.com' }];
  return {
    code: number,
    message,
    status: GOOGLE_STATUSES[number ?? 0] ?? 'UNKNOWN',
    ...(reason === undefined ? {} : { details }),
  };
}

/**
 * The wires of a fault upstream: `chat` is that of chat completions, `anthropic` the Messages API, `google` Google's
 * own.
 */
export const FAULT_WIRES = {
  chat: CHAT_WIRE,
  anthropic: ANTHROPIC_WIRE,
  google: GOOGLE_WIRE,
} as const satisfies Readonly<Record<string, FaultWire>>;

/** Name of a wire of a fault upstream. */
export type FaultWireName = keyof typeof FAULT_WIRES;

/** A request that the upstream has received. */
export interface RecordedRequest {
  /** Counted from 1 over all connections. */
  readonly number: number;
  /** Connection it came on, counted from 1. */
  readonly connection: number;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The body as JSON; its text when it is not JSON; undefined while, or if, it has not been read to its end. */
  readonly body: unknown;
  /** Milliseconds after its headers at which the client closed the connection, if it did so before the answer was over. */
  readonly closedAfterMs: number | undefined;
}
