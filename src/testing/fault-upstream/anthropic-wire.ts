import { type AskedFor, event, type FaultWire, memberOf } from './wire.ts';

const ID = 'msg_fault_upstream';
const USAGE = { input_tokens: 10, output_tokens: 9 };

/** What the API calls an error of each status. */
const ERROR_TYPES: Readonly<Record<number, string>> = {
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
export const ANTHROPIC_WIRE: FaultWire = {
  streams: (request) => memberOf(request, 'stream') === true,
  modelOf(request) {
    const model = memberOf(request, 'model');
    return typeof model === 'string' ? model : undefined;
  },
  completion: (asked) => message(asked, [{ type: 'text', text: asked.text }], 'end_turn'),
  opening: (asked) => [
    named({ type: 'message_start', message: message(asked, [], null) }),
    named({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
    named({ type: 'ping' }),
  ],
  chunk: (_asked, text) => named({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }),
  ending: () => ending('end_turn'),
  failedCompletion: (asked) => message(asked, [], null),
  failedEnding: () => ending(null).join(''),
  emptyCompletion: ({ model }) => ({ id: ID, type: 'message', role: 'assistant', model, content: null }),
  errorBody: ({ message: text, code }, status = Number(code)) => errorOf(text, status),
  errorEvents: ({ message: text }, status) => named(errorOf(text, status)),
  holding: (asked, value) => {
    const block = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: value };
    return {
      completion: message(asked, [block, { type: 'text', text: asked.text }], 'end_turn'),
      event: named({ type: 'content_block_start', index: 1, content_block: block }),
    };
  },
};

function message({ model }: AskedFor, content: readonly object[], stop: string | null): Record<string, unknown> {
  return {
    id: ID,
    type: 'message',
    role: 'assistant',
    model,
    content,
    stop_reason: stop,
    stop_sequence: null,
    usage: USAGE,
  };
}

function ending(stop: string | null): readonly string[] {
  return [
    named({ type: 'content_block_stop', index: 0 }),
    named({ type: 'message_delta', delta: { stop_reason: stop, stop_sequence: null }, usage: USAGE }),
    named({ type: 'message_stop' }),
  ];
}

function errorOf(
  text: string,
  status: number,
): { readonly type: string; readonly error: object; readonly [member: string]: unknown } {
  return { type: 'error', error: { type: ERROR_TYPES[status] ?? 'api_error', message: text } };
}

function named(data: { readonly type: string; readonly [member: string]: unknown }): string {
  return event(data, data.type);
}
