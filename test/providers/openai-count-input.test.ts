import { createRouter, openai, simulated } from 'signalbox';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

const PICTURE = 'data:image/png;base64,iVBORw0KGgo=';

describe('tokens that OpenAI counts', () => {
  let upstream: Upstream;
  beforeAll(async () => void (upstream = await startUpstream()));
  afterAll(() => upstream[Symbol.asyncDispose]());

  const routerOf = () =>
    createRouter({
      providers: [openai({ baseURL: upstream.baseURL, apiKey: 'sk-1', models: { 'openai/one': {} } }), simulated()],
      on: { warning: () => {} },
    });

  it('are asked for in the form of Responses, whatever form the request has', async () => {
    upstream.handler = (_request, response) =>
      sendJson(response, 200, { object: 'response.input_tokens', input_tokens: 321 });
    const count = await routerOf().countTokens(
      {
        model: 'openai/one',
        max_tokens: 100,
        system: 'Be brief.',
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'What is this?' },
              { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } },
            ],
          },
          {
            role: 'assistant',
            content: [
              { type: 'text', text: 'I look.' },
              { type: 'tool_use', id: 'toolu_1', name: 'look', input: { at: 'it' } },
            ],
          },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'A cat.' }] },
        ],
        tools: [{ name: 'look', description: 'Looks.', input_schema: { type: 'object', properties: {} } }],
      },
      { apiFormat: 'messages' },
    );
    expect(count).toEqual({ input_tokens: 321, counted_by: 'provider', provider: 'OpenAI' });
    const { path, body } = upstream.requests.at(-1) ?? {};
    expect(path).toContain('/responses/input_tokens');
    expect(body).toEqual({
      model: 'one',
      input: [
        { role: 'system', content: [{ type: 'input_text', text: 'Be brief.' }] },
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'What is this?' },
            { type: 'input_image', image_url: PICTURE },
          ],
        },
        { role: 'assistant', content: [{ type: 'output_text', text: 'I look.' }] },
        { type: 'function_call', call_id: 'toolu_1', name: 'look', arguments: '{"at":"it"}' },
        { type: 'function_call_output', call_id: 'toolu_1', output: 'A cat.' },
      ],
      tools: [
        {
          type: 'function',
          strict: false,
          name: 'look',
          description: 'Looks.',
          parameters: { type: 'object', properties: {} },
        },
      ],
    });
  });

  it('are those of its own body where that is of Responses', async () => {
    upstream.handler = (_request, response) => sendJson(response, 200, { input_tokens: 12 });
    const body = { model: 'openai/one', input: 'Hello', max_output_tokens: 10, store: false };
    const count = await routerOf().countTokens(body, { apiFormat: 'responses' });
    expect(count).toMatchObject({ input_tokens: 12, counted_by: 'provider' });
    expect(upstream.requests.at(-1)?.body).toEqual({ model: 'one', input: 'Hello' });
  });

  it.each<readonly [string, number, object]>([
    ['refuses', 404, { error: { message: 'no such path' } }],
    ['answers with something else', 200, { input_tokens: 'many' }],
  ])('are counted here where it %s', async (_, status, answer) => {
    upstream.handler = (_request, response) => sendJson(response, status, answer);
    const body = { model: 'openai/one', messages: [{ role: 'user', content: 'Hello' }] };
    expect(await routerOf().countTokens(body)).toEqual({ input_tokens: 8, counted_by: 'gpt-tokenizer' });
  });
});
