import { describe, expect, it } from 'vitest';
import { chatRequestSchema } from '../../src/protocol/chat-request.ts';
import { batchFieldsSchema } from '../../src/protocol/create-batch.ts';
import { embeddingRequestSchema } from '../../src/protocol/embedding.ts';
import { messagesRequestSchema } from '../../src/formats/messages/protocol/messages-request.ts';
import { responsesRequestSchema } from '../../src/formats/responses/protocol/responses-request.ts';
import { fullBody } from '../support/chat-bodies.ts';
import { NOT_ACCEPTED } from '../../src/schema/form.ts';

const HELLO = [{ role: 'user', content: 'Hello' }];
const WEATHER = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'Weather',
    parameters: { type: 'object', properties: {} },
    strict: true,
  },
};
const CALL = { id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '{}' } };
const PIXEL = 'data:image/png;base64,iVBORw0KGgo=';

/** Requests as clients send them: each must pass at first sight, or the second reading would be paid by all of them. */
const CHATS: Readonly<Record<string, object>> = {
  plain: { model: 'a/b', messages: HELLO },
  streaming: { model: 'a/b', messages: HELLO, stream: true, stream_options: { include_usage: true } },
  sampling: { model: 'a/b', messages: HELLO, temperature: 0.2, top_p: 1, max_tokens: 100, seed: 1, stop: ['\n'] },
  nulls: { model: 'a/b', messages: HELLO, temperature: null, tools: null, stop: null },
  'unknown fields': { model: 'a/b', messages: HELLO, some_vendor_field: { a: [1] } },
  tools: {
    messages: [...HELLO, { role: 'assistant', content: null, tool_calls: [CALL] }, toolResult('call_1')],
    tools: [WEATHER, { type: 'router:web_search', parameters: { max_results: 3 } }],
    tool_choice: { type: 'function', function: { name: 'get_weather' } },
  },
  image: {
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is this?' },
          { type: 'image_url', image_url: { url: PIXEL, detail: 'low' } },
        ],
      },
    ],
  },
  reasoning: {
    messages: [
      ...HELLO,
      { role: 'assistant', content: 'Hi', reasoning_details: [{ type: 'reasoning.text', text: 'Hm' }] },
      ...HELLO,
    ],
    reasoning: { effort: 'high', exclude: false },
  },
  plugins: {
    messages: HELLO,
    plugins: [
      { id: 'web', max_results: 3 },
      { id: 'file-parser', enabled: false },
    ],
  },
  routing: {
    models: ['a/b', 'c/d'],
    messages: HELLO,
    provider: { order: ['one'], sort: { by: 'price', partition: 'none' }, max_price: { prompt: '0.5' } },
  },
  structured: { messages: HELLO, response_format: { type: 'json_schema', json_schema: { name: 'a', schema: {} } } },
  'every field': fullBody(),
};

function toolResult(id: string): object {
  return { role: 'tool', tool_call_id: id, content: '21 degrees' };
}

describe('requests that clients send', () => {
  it.each(Object.entries(CHATS))('pass at first sight and by reference: chat, %s', (_name, body) => {
    const accepted = chatRequestSchema.accept(body);
    expect(accepted).not.toBe(NOT_ACCEPTED);
    expect(accepted).toEqual(body);
  });

  it('pass at first sight: the other operations', () => {
    const messages = {
      model: 'a/b',
      max_tokens: 10,
      system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
      messages: [
        ...HELLO,
        { role: 'assistant', content: [{ type: 'tool_use', id: 't1', name: 'get', input: {} }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content: '21' }] },
      ],
      tools: [
        { name: 'get', input_schema: { type: 'object' } },
        { type: 'web_search_20250305', name: 'web_search' },
      ],
      thinking: { type: 'enabled', budget_tokens: 2_048 },
    };
    expect(messagesRequestSchema.accept(messages)).toEqual(messages);
    const responses = { model: 'a/b', input: [{ role: 'user', content: 'Hello' }], text: { format: { type: 'text' } } };
    expect(responsesRequestSchema.accept(responses)).toEqual(responses);
    const embedding = { model: 'a/b', encoding_format: 'base64', dimensions: 256, user: 'u' };
    expect(embeddingRequestSchema.accept(embedding)).toBe(embedding);
    const batch = {
      endpoint: '/v1/chat/completions',
      model: 'a/b',
      completion_window: '24h',
      provider: { only: ['x'] },
    };
    expect(batchFieldsSchema.accept(batch)).toBe(batch);
  });

  it('come back by reference when their members stand in order, and in order when they do not', () => {
    const body = { messages: HELLO, model: 'a/b', temperature: 1, other: 1 };
    expect(chatRequestSchema.accept(body)).toBe(body);
    const turned = { other: 1, temperature: 1, model: 'a/b', messages: [{ content: 'Hello', role: 'user' }] };
    expect(JSON.stringify(chatRequestSchema.accept(turned))).toBe(JSON.stringify(body));
  });
});
