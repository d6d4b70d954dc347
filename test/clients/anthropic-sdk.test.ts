import Anthropic, { APIError, APIUserAbortError, BadRequestError, RateLimitError } from '@anthropic-ai/sdk';
import { type Router, createRouter, openaiCompatible } from 'signalbox';
import { describe, expect, it } from 'vitest';
import { MOUNTS, type Mounted } from '../support/mounts.ts';
import { STORY, scriptedProvider } from '../support/scripted-upstream.ts';
import { instant } from '../support/simulated.ts';
import { type Upstream, chunkEvent, failWith, startUpstream } from '../support/upstream.ts';
import { until } from '../support/until.ts';

interface Scene extends AsyncDisposable {
  readonly client: Anthropic;
  readonly upstream: Upstream;
}

const WEATHER = {
  name: 'get_weather',
  input_schema: { type: 'object' as const, properties: { city: { type: 'string' } }, required: ['city'] },
};

const ASK = { model: 'acme/one', max_tokens: 1_000 };

async function open(mount: (router: Router) => Promise<Mounted>): Promise<Scene> {
  const upstream = await startUpstream(scriptedProvider);
  const provider = openaiCompatible({
    slug: 'up',
    name: 'Up',
    baseURL: upstream.baseURL,
    models: { 'acme/one': { price: { prompt: 1, completion: 2 } } },
  });
  const router: Router = createRouter({
    providers: [provider, instant()],
    allowAnonymous: true,
    fallback: { triesPerEndpoint: 1 },
  });
  const mounted = await mount(router);
  const client = new Anthropic({ baseURL: mounted.baseURL.replace(/\/v1$/, ''), apiKey: 'any', maxRetries: 0 });
  return {
    client,
    upstream,
    async [Symbol.asyncDispose]() {
      await mounted[Symbol.asyncDispose]();
      await router.close();
      await upstream[Symbol.asyncDispose]();
    },
  };
}

function user(content: string): Anthropic.MessageParam {
  return { role: 'user', content };
}

describe.each(Object.entries(MOUNTS))('the Anthropic SDK over %s', (_name, mount) => {
  it('gets a whole message with usage, cost and a request id', async () => {
    await using scene = await open(mount);
    const message = await scene.client.messages.create({
      ...ASK,
      system: 'Tell.',
      messages: [user('Tell me a story')],
    });
    expect(message).toMatchObject({
      type: 'message',
      model: 'acme/one',
      content: [{ type: 'text', text: STORY }],
      stop_reason: 'end_turn',
      usage: { input_tokens: 21, output_tokens: 13, cost: 0.000047 },
    });
    expect(message._request_id).toMatch(/^req_/);
    expect(scene.upstream.requests[0]?.body).toMatchObject({
      messages: [
        { role: 'system', content: 'Tell.' },
        { role: 'user', content: 'Tell me a story' },
      ],
    });
  });

  it('gets a stream, event by event and through the stream helper', async () => {
    await using scene = await open(mount);
    const request = { ...ASK, messages: [user('Tell me a story')] };
    let text = '';
    const types = new Set<string>();
    for await (const event of await scene.client.messages.create({ ...request, stream: true })) {
      types.add(event.type);
      if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') text += event.delta.text;
    }
    expect(text).toBe(STORY);
    expect([...types]).toEqual([
      'message_start',
      'content_block_start',
      'content_block_delta',
      'content_block_stop',
      'message_delta',
      'message_stop',
    ]);
    const stream = scene.client.messages.stream(request);
    const heard: string[] = [];
    stream.on('text', (piece) => heard.push(piece));
    const message = await stream.finalMessage();
    expect(heard.join('')).toBe(STORY);
    expect(message).toMatchObject({ stop_reason: 'end_turn', usage: { input_tokens: 21, output_tokens: 13 } });
    expect(stream.request_id).toMatch(/^req_/);
  });

  it('calls tools, whole and streamed, and goes on with their results', async () => {
    await using scene = await open(mount);
    const request = { ...ASK, tools: [WEATHER] };
    const messages = [user('Weather in Paris?')];
    const whole = await scene.client.messages.create({ ...request, messages });
    expect(whole).toMatchObject({
      content: [{ type: 'tool_use', id: 'call_weather', name: 'get_weather', input: { city: 'Paris' } }],
      stop_reason: 'tool_use',
    });
    const streamed = await scene.client.messages.stream({ ...request, messages }).finalMessage();
    expect(streamed.content).toEqual(whole.content);
    expect(streamed.stop_reason).toBe('tool_use');
    const result = { type: 'tool_result' as const, tool_use_id: 'call_weather', content: '18 degrees' };
    const answer = await scene.client.messages.create({
      ...request,
      messages: [...messages, { role: 'assistant', content: streamed.content }, { role: 'user', content: [result] }],
    });
    expect(answer.content).toEqual([{ type: 'text', text: STORY }]);
    expect(scene.upstream.requests.at(-1)?.body['messages']).toMatchObject([
      {},
      { role: 'assistant', tool_calls: [{ id: 'call_weather', function: { arguments: '{"city":"Paris"}' } }] },
      { role: 'tool', tool_call_id: 'call_weather', content: '18 degrees' },
    ]);
  });

  it('gets JSON that follows a schema', async () => {
    await using scene = await open(mount);
    const schema = { type: 'object', properties: { name: { type: 'string' }, age: { type: 'integer' } } };
    const message = await scene.client.messages.parse({
      ...ASK,
      messages: [user('Who?')],
      output_config: { format: { type: 'json_schema', schema, parse: (text: string): unknown => JSON.parse(text) } },
    });
    expect(message.parsed_output).toEqual({ name: 'Ada', age: 36 });
  });

  it('reaches the provider when it aborts, whole and in the middle of a stream', async () => {
    await using scene = await open(mount);
    const request = { ...ASK, messages: [user('slow')] };
    for await (const event of await scene.client.messages.create({ ...request, stream: true })) {
      if (event.type === 'content_block_delta') break;
    }
    await until(() => scene.upstream.connections === 0);
    const controller = new AbortController();
    const whole = scene.client.messages.create(request, { signal: controller.signal });
    whole.catch(() => {});
    await until(() => scene.upstream.connections === 1);
    controller.abort();
    await expect(whole).rejects.toBeInstanceOf(APIUserAbortError);
    await until(() => scene.upstream.connections === 0);
  });

  it('throws its typed errors', async () => {
    await using scene = await open(mount);
    const bad = scene.client.messages.create({ ...ASK, messages: [] });
    await expect(bad).rejects.toBeInstanceOf(BadRequestError);
    await expect(bad).rejects.toMatchObject({
      status: 400,
      type: 'invalid_request_error',
      apiMessage: 'messages must have at least 1 item, not 0.',
      requestID: expect.stringMatching(/^req_/) as string,
    });
    scene.upstream.handler = failWith(429, { error: { message: 'slow down' } }, { 'retry-after': '7' });
    const limited: unknown = await scene.client.messages
      .create({ ...ASK, messages: [user('x')] })
      .catch((thrown: unknown) => thrown);
    expect(limited).toBeInstanceOf(RateLimitError);
    expect((limited as APIError).headers?.get('retry-after')).toBe('7');
    expect((limited as APIError).type).toBe('rate_limit_error');
  });
});

describe('the Anthropic SDK', () => {
  const mount = MOUNTS['node'] as (router: Router) => Promise<Mounted>;

  it('gets a typed error when a stream breaks', async () => {
    await using scene = await open(mount);
    scene.upstream.handler = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(chunkEvent({ content: 'Once' }));
      response.end('data: {"error":{"message":"lost the thread","code":503}}\n\n');
    };
    const stream = scene.client.messages.stream({ ...ASK, messages: [user('x')] });
    const heard: string[] = [];
    stream.on('text', (piece) => heard.push(piece));
    const broken: unknown = await stream.finalMessage().catch((thrown: unknown) => thrown);
    expect(heard).toEqual(['Once']);
    expect(broken).toBeInstanceOf(APIError);
    expect((broken as APIError).type).toBe('overloaded_error');
    // In our words: a provider's own may say what is behind it (contract: errors after the first token).
    expect((broken as APIError).message).not.toContain('lost the thread');
  });

  it('gets parallel calls whole whose arguments came interleaved', async () => {
    await using scene = await open(mount);
    scene.upstream.handler = (_request, response) => {
      const call = (index: number, text: string, id?: string): string =>
        chunkEvent({
          tool_calls: [
            {
              index,
              ...(id === undefined ? {} : { id, type: 'function' }),
              function: { ...(id === undefined ? {} : { name: 'get_weather' }), arguments: text },
            },
          ],
        });
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(call(0, '', 'call_a') + call(1, '', 'call_b') + call(0, '{"city":') + call(1, '{"city":'));
      response.write(call(1, '"Rome"}') + call(0, '"Oslo"}') + chunkEvent({}, 'tool_calls'));
      response.end('data: [DONE]\n\n');
    };
    const message = await scene.client.messages
      .stream({ ...ASK, tools: [WEATHER], messages: [user('x')] })
      .finalMessage();
    expect(message.content).toMatchObject([
      { type: 'tool_use', id: 'call_a', input: { city: 'Oslo' } },
      { type: 'tool_use', id: 'call_b', input: { city: 'Rome' } },
    ]);
  });

  it('gets the reasoning of others as thinking, and may send it back', async () => {
    await using scene = await open(mount);
    scene.upstream.handler = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(chunkEvent({ reasoning_content: 'Hm, ' }) + chunkEvent({ reasoning_content: 'red.' }));
      response.write(chunkEvent({ content: 'Red.' }) + chunkEvent({}, 'stop'));
      response.end('data: [DONE]\n\n');
    };
    const messages = [user('Which colour?')];
    const first = await scene.client.messages.stream({ ...ASK, messages }).finalMessage();
    expect(first.content).toEqual([
      { type: 'thinking', thinking: 'Hm, red.', signature: '' },
      { type: 'text', text: 'Red.' },
    ]);
    const answered: Anthropic.MessageParam[] = [
      ...messages,
      { role: 'assistant', content: first.content },
      user('Why?'),
    ];
    await scene.client.messages.stream({ ...ASK, messages: answered }).finalMessage();
    expect(scene.upstream.requests.at(-1)?.body['messages']).toMatchObject([
      {},
      { role: 'assistant', content: 'Red.' },
      { role: 'user', content: 'Why?' },
    ]);
  });

  it('talks to the simulated provider, with tools and thinking', async () => {
    await using scene = await open(mount);
    const request = { model: 'simulated/reasoner', max_tokens: 2_000 };
    const told = await scene.client.messages.create({
      ...request,
      thinking: { type: 'enabled', budget_tokens: 1_024 },
      messages: [user('Tell me about signals')],
    });
    expect(told.content.map(({ type }) => type)).toEqual(['thinking', 'text']);
    const called = await scene.client.messages
      .stream({
        ...request,
        tools: [WEATHER],
        tool_choice: { type: 'any' },
        messages: [user('What is the weather in York?')],
      })
      .finalMessage();
    const use = called.content.at(-1);
    expect(use).toMatchObject({ type: 'tool_use', name: 'get_weather', input: { city: expect.any(String) as string } });
    expect(called.usage.output_tokens).toBeGreaterThan(0);
  });

  it('runs a loop of tools by itself, without the thread on the server that it asks for first', async () => {
    await using scene = await open(mount);
    const asked: unknown[] = [];
    const runner = scene.client.beta.messages.toolRunner({
      ...ASK,
      messages: [{ role: 'user', content: 'Weather in Paris?' }],
      tools: [
        {
          ...WEATHER,
          type: 'custom',
          parse: (input: unknown) => input,
          run: (input: unknown) => {
            asked.push(input);
            return '18 degrees';
          },
        },
      ],
    });
    const final = await runner;
    expect(asked).toEqual([{ city: 'Paris' }]);
    expect(final.content).toMatchObject([{ type: 'text', text: STORY }]);
  });
});
