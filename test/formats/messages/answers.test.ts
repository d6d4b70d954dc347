import { describe, expect, it } from 'vitest';
import { messagesError, messagesStatus } from '../../../src/formats/errors.ts';
import { messagesUsage, stopReason, messageObject } from '../../../src/formats/messages/message-object.ts';
import type { ChatResult, FinishReason, ResultMessage } from '../../../src/protocol/chat-result.ts';
import { ERROR_TYPES, type ErrorType } from '../../../src/protocol/error.ts';
import { CONTEXT } from '../../support/dialect-context.ts';

const SAID: ResultMessage = { role: 'assistant', content: 'Hello', refusal: null, reasoning: null };

function resultOf(message: Partial<ResultMessage>, more: Partial<ChatResult> = {}): ChatResult {
  return {
    id: 'gen-1',
    object: 'chat.completion',
    created: 1,
    model: 'acme/one',
    provider: 'Acme',
    system_fingerprint: null,
    service_tier: 'default',
    choices: [
      {
        index: 0,
        finish_reason: 'stop',
        native_finish_reason: 'stop',
        logprobs: null,
        message: { ...SAID, ...message },
      },
    ],
    usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15, cost: 0.5, is_byok: false },
    ...more,
  };
}

function blocksOf(message: Partial<ResultMessage>, body: object = {}): unknown {
  return messageObject({ result: resultOf(message) }, { ...CONTEXT, body: { ...body } })['content'];
}

describe('a whole answer', () => {
  it('is a message', () => {
    expect(messageObject({ result: resultOf({}) }, CONTEXT)).toEqual({
      id: 'gen-1',
      type: 'message',
      role: 'assistant',
      model: 'acme/one',
      provider: 'Acme',
      content: [{ type: 'text', text: 'Hello' }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      stop_details: null,
      container: null,
      usage: {
        input_tokens: 10,
        output_tokens: 5,
        cache_read_input_tokens: null,
        cache_creation_input_tokens: null,
        cache_creation: null,
        output_tokens_details: null,
        server_tool_use: null,
        service_tier: 'standard',
        cost: 0.5,
        is_byok: false,
      },
    });
  });

  it('has calls with their arguments as objects', () => {
    const call = (id: string, args: string): unknown => ({
      id,
      index: 0,
      type: 'function',
      function: { name: 'look', arguments: args },
    });
    const calls = [call('a', '{"at":1}'), call('b', ''), call('c', '{"at":'), call('d', '[1]')];
    expect(blocksOf({ content: null, tool_calls: calls as ResultMessage['tool_calls'] & {} })).toEqual([
      { type: 'tool_use', id: 'a', name: 'look', input: { at: 1 } },
      { type: 'tool_use', id: 'b', name: 'look', input: {} },
      { type: 'tool_use', id: 'c', name: 'look', input: { INVALID_JSON: '{"at":' } },
      { type: 'tool_use', id: 'd', name: 'look', input: { INVALID_JSON: '[1]' } },
    ]);
  });

  it('has thinking from the details, or from the text where there are none', () => {
    expect(blocksOf({ reasoning: 'Hm.' })).toMatchObject([
      { type: 'thinking', thinking: 'Hm.', signature: '' },
      { type: 'text' },
    ]);
    const details = [
      { type: 'reasoning.text', text: 'Hm.', signature: 'EqQB', format: 'anthropic-claude-v1', index: 0 },
      { type: 'reasoning.encrypted', data: 'Emw=', format: 'anthropic-claude-v1', index: 1 },
    ] as const;
    expect(blocksOf({ reasoning: 'Hm.', reasoning_details: details })).toMatchObject([
      { type: 'thinking', thinking: 'Hm.', signature: 'EqQB' },
      { type: 'redacted_thinking', data: 'Emw=' },
      { type: 'text' },
    ]);
  });

  it('keeps the text of thinking out where that was asked for, but not its signature', () => {
    const details = [
      { type: 'reasoning.text', text: 'Hm.', signature: 'EqQB', index: 0 },
      { type: 'reasoning.text', text: 'Hm!', index: 1 },
    ] as const;
    const body = { thinking: { type: 'adaptive', display: 'omitted' } };
    expect(blocksOf({ reasoning_details: details }, body)).toEqual([
      { type: 'thinking', thinking: '', signature: 'EqQB' },
      { type: 'text', text: 'Hello' },
    ]);
  });

  it('cites the web, and shows images as requests do', () => {
    expect(
      blocksOf({
        annotations: [
          { type: 'url_citation', url_citation: { url: 'https://example.com', title: 'Signals', content: 'red' } },
          { type: 'file', file: { hash: 'x', content: [] } },
        ],
        images: [
          { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBO' } },
          { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
        ],
      }),
    ).toEqual([
      {
        type: 'text',
        text: 'Hello',
        citations: [
          {
            type: 'web_search_result_location',
            url: 'https://example.com',
            title: 'Signals',
            cited_text: 'red',
            encrypted_index: '',
          },
        ],
      },
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBO' } },
      { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
    ]);
  });

  it('that is a refusal says so', () => {
    expect(messageObject({ result: resultOf({ content: null, refusal: 'No.' }) }, CONTEXT)).toMatchObject({
      content: [{ type: 'text', text: 'No.' }],
      stop_reason: 'refusal',
      stop_details: { type: 'refusal', category: null, explanation: 'No.' },
    });
  });

  it('in the words of a provider gets the name of the model here, the cost and the metadata', () => {
    const native = {
      id: 'msg_1',
      model: 'one-20260101',
      content: [{ type: 'hologram' }],
      usage: { input_tokens: 3, speed: 'standard' },
    };
    const metadata = { requested: 'acme/one' } as unknown as NonNullable<ChatResult['router_metadata']>;
    const result = resultOf({}, { router_metadata: metadata });
    expect(messageObject({ result, native }, CONTEXT)).toEqual({
      id: 'msg_1',
      model: 'acme/one',
      content: [{ type: 'hologram' }],
      usage: { input_tokens: 3, speed: 'standard', cost: 0.5, is_byok: false },
      provider: 'Acme',
      router_metadata: metadata,
    });
  });
});

describe('usage', () => {
  it('leaves what was read from a cache or written to one out of the input', () => {
    expect(
      messagesUsage(
        {
          prompt_tokens: 100,
          completion_tokens: 7,
          total_tokens: 107,
          estimated: true,
          prompt_tokens_details: { cached_tokens: 60, cache_write_tokens: 30 },
          completion_tokens_details: { reasoning_tokens: 5 },
          cache_creation: { ephemeral_1h_input_tokens: 30 },
          server_tool_use: { web_search_requests: 2 },
          cost: 1,
          cost_details: { upstream_inference_cost: 1 },
        },
        'priority',
      ),
    ).toEqual({
      input_tokens: 10,
      output_tokens: 7,
      cache_read_input_tokens: 60,
      cache_creation_input_tokens: 30,
      cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 30 },
      output_tokens_details: { thinking_tokens: 5 },
      server_tool_use: { web_search_requests: 2, web_fetch_requests: 0 },
      service_tier: 'priority',
      cost: 1,
      cost_details: { upstream_inference_cost: 1 },
      estimated: true,
    });
  });

  it('of a provider whose counts contradict each other is never below nothing', () => {
    const usage = {
      prompt_tokens: 1,
      completion_tokens: 1,
      total_tokens: 2,
      prompt_tokens_details: { cached_tokens: 5 },
    };
    expect(messagesUsage(usage, null).input_tokens).toBe(0);
  });
});

describe('the reason for an end', () => {
  it.each<[FinishReason | null, string | null, boolean, string | null]>([
    ['stop', 'stop', false, 'end_turn'],
    ['stop', 'stop_sequence', false, 'stop_sequence'],
    ['stop', 'pause_turn', false, 'pause_turn'],
    ['stop', 'stop', true, 'refusal'],
    ['length', 'length', false, 'max_tokens'],
    ['length', 'model_context_window_exceeded', false, 'model_context_window_exceeded'],
    ['tool_calls', 'end_turn', false, 'tool_use'],
    ['content_filter', 'SAFETY', false, 'refusal'],
    [null, null, false, null],
  ])('%s (%s, refused: %s) is %s', (finish, native, refused, expected) => {
    expect(stopReason(finish, native, { refused })).toBe(expected);
  });
});

describe('an error', () => {
  const TABLE: readonly (readonly [number, ErrorType, number, string])[] = [
    [400, 'invalid_request', 400, 'invalid_request_error'],
    [400, 'context_length_exceeded', 400, 'invalid_request_error'],
    [401, 'authentication', 401, 'authentication_error'],
    [402, 'payment_required', 402, 'billing_error'],
    [403, 'permission_denied', 403, 'permission_error'],
    [404, 'not_found', 404, 'not_found_error'],
    [404, 'image_not_found', 404, 'not_found_error'],
    [408, 'timeout', 408, 'timeout_error'],
    [409, 'invalid_request', 409, 'conflict_error'],
    [413, 'payload_too_large', 413, 'request_too_large'],
    [422, 'unprocessable', 400, 'invalid_request_error'],
    [429, 'rate_limit_exceeded', 429, 'rate_limit_error'],
    [500, 'server', 500, 'api_error'],
    [502, 'provider_unavailable', 502, 'api_error'],
    [503, 'provider_overloaded', 529, 'overloaded_error'],
    [503, 'server', 503, 'api_error'],
    [524, 'timeout', 504, 'timeout_error'],
    [529, 'provider_overloaded', 529, 'overloaded_error'],
  ];

  it.each(TABLE)('%i %s is a %i with the type %s', (status, cause, expectedStatus, type) => {
    const error = { status, detail: { code: status, message: 'So.', metadata: { error_type: cause } } };
    expect(messagesStatus(error)).toBe(expectedStatus);
    expect(messagesError({ ...error, requestId: 'req_1' })).toEqual({
      type: 'error',
      error: { type, message: 'So.', error_type: cause },
      request_id: 'req_1',
    });
  });

  it('of every cause has a type', () => {
    for (const cause of ERROR_TYPES) {
      const { error } = messagesError({
        status: 500,
        detail: { code: 500, message: '', metadata: { error_type: cause } },
      });
      expect(error).toMatchObject({ type: expect.stringMatching(/_error$|^request_too_large$/) as string });
    }
  });

  it('keeps what the router knows about it', () => {
    const metadata = { error_type: 'not_found' as const, provider_name: 'Acme' };
    const availability = { code: 'no_endpoints' as const, retryable: false, requested_models: [], docs_url: '' };
    expect(messagesError({ status: 404, detail: { code: 404, message: 'So.', metadata, availability } })).toMatchObject(
      {
        error: { availability, metadata },
        request_id: null,
      },
    );
  });
});
