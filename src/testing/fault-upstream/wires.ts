import { type AskedFor, CHAT_WIRE, event, type FaultWire, type WireError, memberOf } from './wire.ts';

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
  completion: (asked) => anthropicMessage(asked, [{ type: 'text', text: asked.text }], 'end_turn'),
  opening: (asked) => [
    named({ type: 'message_start', message: anthropicMessage(asked, [], null) }),
    named({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
    named({ type: 'ping' }),
  ],
  chunk: (_asked, text) => named({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }),
  ending: () => ending('end_turn'),
  failedCompletion: (asked) => anthropicMessage(asked, [], null),
  failedEnding: () => ending(null).join(''),
  emptyCompletion: ({ model }) => ({ id: MESSAGE_ID, type: 'message', role: 'assistant', model, content: null }),
  errorBody: ({ message: text, code }, status = Number(code)) => anthropicError(text, status),
  errorEvents: ({ message: text }, status) => named(anthropicError(text, status)),
  holding: (asked, value) => {
    const block = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: value };
    return {
      completion: anthropicMessage(asked, [block, { type: 'text', text: asked.text }], 'end_turn'),
      event: named({ type: 'content_block_start', index: 1, content_block: block }),
    };
  },
};

function anthropicMessage(
  { model }: AskedFor,
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
  completion: (asked) => response(asked, { parts: [{ text: asked.text }], role: 'model' }, 'STOP'),
  opening: (asked) => [event(response(asked, { parts: [{ text: '' }], role: 'model' }))],
  chunk: (asked, text) => event(response(asked, { parts: [{ text }], role: 'model' })),
  ending: (asked) => [event(response(asked, { parts: [{ text: '' }], role: 'model' }, 'STOP'))],
  failedCompletion: (asked) => response(asked, {}, 'MALFORMED_FUNCTION_CALL'),
  failedEnding: (asked) => event(response(asked, {}, 'MALFORMED_FUNCTION_CALL')),
  emptyCompletion: (asked) => ({ ...response(asked, {}), candidates: [] }),
  errorBody: (error, status) => ({ error: googleError(error, status) }),
  errorEvents: (error, status) => event({ error: googleError(error, status) }),
  holding(asked, value) {
    const call = { functionCall: { name: 'look', args: { at: value } } };
    const parts = [{ text: asked.text }, call];
    return {
      completion: response(asked, { parts, role: 'model' }, 'STOP'),
      event: event(response(asked, { parts: [call], role: 'model' })),
    };
  },
};

function response({ model }: AskedFor, content: object, finishReason?: string): Record<string, unknown> {
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

/** The wires that a fault upstream can speak: `chat` is that of chat completions, `anthropic` the Messages API, `google` Google's own. */
export const FAULT_WIRES = {
  chat: CHAT_WIRE,
  anthropic: ANTHROPIC_WIRE,
  google: GOOGLE_WIRE,
} as const satisfies Readonly<Record<string, FaultWire>>;

/** Name of a wire that a fault upstream can speak. */
export type FaultWireName = keyof typeof FAULT_WIRES;
