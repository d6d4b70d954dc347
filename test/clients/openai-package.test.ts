import OpenAI, { APIError } from 'openai';
import { type Router, createRouter, openaiCompatible } from 'signalbox';
import { describe, expect, it } from 'vitest';
import { type Mounted, MOUNTS } from '../support/mounts.ts';
import { STORY, scriptedProvider } from '../support/scripted-upstream.ts';
import { type Upstream, failWith, startUpstream } from '../support/upstream.ts';
import { until } from '../support/until.ts';

interface Scene extends AsyncDisposable {
  readonly client: OpenAI;
  readonly upstream: Upstream;
  readonly router: Router;
}

const WEATHER = {
  type: 'function',
  function: {
    name: 'get_weather',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
} as const;

async function open(mount: (router: Router) => Promise<Mounted>): Promise<Scene> {
  const upstream = await startUpstream(scriptedProvider);
  const provider = openaiCompatible({
    slug: 'up',
    name: 'Up',
    baseURL: upstream.baseURL,
    models: { 'acme/one': { price: { prompt: 1, completion: 2 } } },
  });
  const router: Router = createRouter({
    providers: [provider],
    allowAnonymous: true,
    fallback: { triesPerEndpoint: 1 },
  });
  const mounted = await mount(router);
  const client = new OpenAI({ baseURL: mounted.baseURL, apiKey: 'any', maxRetries: 0 });
  return {
    client,
    upstream,
    router,
    async [Symbol.asyncDispose]() {
      await mounted[Symbol.asyncDispose]();
      await router.close();
      await upstream[Symbol.asyncDispose]();
    },
  };
}

describe.each(Object.entries(MOUNTS))('the openai package over %s', (_name, mount) => {
  it('gets a whole answer with usage, cost and a request id', async () => {
    await using scene = await open(mount);
    const answer = await scene.client.chat.completions.create({
      model: 'acme/one',
      messages: [{ role: 'user', content: 'Tell me a story' }],
    });
    expect(answer.choices[0]?.message.content).toBe(STORY);
    expect(answer.choices[0]?.finish_reason).toBe('stop');
    expect(answer.usage).toMatchObject({ prompt_tokens: 21, completion_tokens: 13, total_tokens: 34, cost: 0.000047 });
    expect(answer._request_id).toMatch(/^req_/);
    expect(answer.id).toMatch(/^gen-\d+-\w{20}$/);
  });

  it('gets a stream, chunk by chunk and through the stream helper', async () => {
    await using scene = await open(mount);
    const request = { model: 'acme/one', messages: [{ role: 'user' as const, content: 'Tell me a story' }] };
    let text = '';
    let usage: unknown;
    for await (const chunk of await scene.client.chat.completions.create({ ...request, stream: true })) {
      text += chunk.choices[0]?.delta.content ?? '';
      usage = chunk.usage ?? usage;
    }
    expect(text).toBe(STORY);
    expect(usage).toMatchObject({ total_tokens: 34 });
    const final = await scene.client.chat.completions.stream(request).finalChatCompletion();
    expect(final.choices[0]?.message.content).toBe(STORY);
  });

  it('calls tools, whole and streamed, and goes on with their results', async () => {
    await using scene = await open(mount);
    const messages = [{ role: 'user' as const, content: 'Weather in Paris?' }];
    const whole = await scene.client.chat.completions.create({ model: 'acme/one', messages, tools: [WEATHER] });
    const call = whole.choices[0]?.message.tool_calls?.[0];
    expect(call).toMatchObject({ type: 'function', function: { name: 'get_weather', arguments: '{"city":"Paris"}' } });
    const streamed = await scene.client.chat.completions
      .stream({ model: 'acme/one', messages, tools: [WEATHER] })
      .finalChatCompletion();
    expect(streamed.choices[0]?.finish_reason).toBe('tool_calls');
    expect(streamed.choices[0]?.message.tool_calls?.[0]).toMatchObject({ function: { arguments: '{"city":"Paris"}' } });
    const answer = await scene.client.chat.completions.create({
      model: 'acme/one',
      tools: [WEATHER],
      messages: [
        ...messages,
        { role: 'assistant', content: null, tool_calls: whole.choices[0]?.message.tool_calls ?? [] },
        { role: 'tool', tool_call_id: call?.id ?? '', content: '18 degrees' },
      ],
    });
    expect(answer.choices[0]?.message.content).toBe(STORY);
  });

  it('gets JSON that follows a schema', async () => {
    await using scene = await open(mount);
    const answer = await scene.client.chat.completions.parse({
      model: 'acme/one',
      messages: [{ role: 'user', content: 'Who?' }],
      response_format: {
        type: 'json_schema',
        json_schema: {
          name: 'person',
          strict: true,
          schema: { type: 'object', properties: { name: { type: 'string' }, age: { type: 'integer' } } },
        },
      },
    });
    expect(JSON.parse(answer.choices[0]?.message.content ?? '')).toEqual({ name: 'Ada', age: 36 });
  });

  it('reaches the provider when it aborts, whole and in the middle of a stream', async () => {
    await using scene = await open(mount);
    const request = { model: 'acme/one', messages: [{ role: 'user' as const, content: 'slow' }] };
    const stream = await scene.client.chat.completions.create({ ...request, stream: true });
    for await (const chunk of stream) if (chunk.choices[0]?.delta.content) break;
    await until(() => scene.upstream.connections === 0);
    const controller = new AbortController();
    const whole = scene.client.chat.completions.create(request, { signal: controller.signal });
    whole.catch(() => {});
    await until(() => scene.upstream.connections === 1);
    controller.abort();
    await expect(whole).rejects.toThrow('aborted');
    await until(() => scene.upstream.connections === 0);
  });

  it('throws typed errors with status and message', async () => {
    await using scene = await open(mount);
    const bad = scene.client.chat.completions.create({ model: 'acme/one', messages: [], temperature: 9 });
    await expect(bad).rejects.toMatchObject({ status: 400, message: expect.stringContaining('messages') as string });
    scene.upstream.handler = failWith(429, { error: { message: 'slow down' } }, { 'retry-after': '7' });
    const limited = scene.client.chat.completions.create({
      model: 'acme/one',
      messages: [{ role: 'user', content: 'x' }],
    });
    const error = await limited.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(APIError);
    expect((error as APIError).status).toBe(429);
    expect((error as APIError).headers?.get('retry-after')).toBe('7');
  });

  it('lists the models', async () => {
    await using scene = await open(mount);
    const models = await scene.client.models.list();
    // Behind them come the router models of the default plugins.
    expect(models.data.map((model) => model.id).filter((id) => !id.startsWith('router/'))).toEqual(['acme/one']);
  });
});
