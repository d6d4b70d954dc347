import OpenAI, { APIError } from 'openai';
import type { ResponseStreamEvent } from 'openai/resources/responses/responses';
import { type Router, createRouter, openaiCompatible } from 'signalbox';
import { describe, expect, it } from 'vitest';
import { type Mounted, MOUNTS } from '../support/mounts.ts';
import { responsesProvider } from '../support/responses-upstream.ts';
import { STORY, scriptedProvider } from '../support/scripted-upstream.ts';
import { type Upstream, failWith, startUpstream } from '../support/upstream.ts';
import { until } from '../support/until.ts';

interface Scene extends AsyncDisposable {
  readonly client: OpenAI;
  readonly upstream: Upstream;
}

const WEATHER = {
  type: 'function',
  name: 'get_weather',
  strict: true,
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
} as const;

const PERSON = {
  type: 'json_schema',
  name: 'person',
  strict: true,
  schema: { type: 'object', properties: { name: { type: 'string' }, age: { type: 'integer' } } },
} as const;

async function open(mount: (router: Router) => Promise<Mounted>, native: boolean): Promise<Scene> {
  const upstream = await startUpstream(native ? responsesProvider : scriptedProvider);
  const provider = openaiCompatible({
    slug: 'up',
    name: 'Up',
    baseURL: upstream.baseURL,
    models: { 'acme/one': { price: { prompt: 1, completion: 2 } } },
    nativeApiFormats: native ? ['responses'] : [],
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
    async [Symbol.asyncDispose]() {
      await mounted[Symbol.asyncDispose]();
      await router.close();
      await upstream[Symbol.asyncDispose]();
    },
  };
}

const CASES = Object.entries(MOUNTS).flatMap(([name, mount]) => [
  { name, way: 'translated', mount, native: false },
  { name, way: 'native', mount, native: true },
]);

describe.each(CASES)('responses of the openai package over $name, $way', ({ mount, native }) => {
  it('are whole answers with text, usage, cost and ids of this router', async () => {
    await using scene = await open(mount, native);
    const answer = await scene.client.responses.create({ model: 'acme/one', input: 'Tell me a story' });
    expect(answer.output_text).toBe(STORY);
    expect(answer).toMatchObject({
      object: 'response',
      status: 'completed',
      model: 'acme/one',
      error: null,
      store: false,
    });
    expect(answer.id).toMatch(/^resp_\d+-\w{20}$/);
    expect(answer._request_id).toMatch(/^req_/);
    expect(answer.usage).toMatchObject({ input_tokens: 21, output_tokens: 13, total_tokens: 34, cost: 0.000047 });
    expect(answer.usage?.input_tokens_details.cached_tokens).toBe(native ? 4 : 0);
    expect(scene.upstream.requests[0]?.path).toBe(native ? '/v1/responses' : '/v1/chat/completions');
  });

  it('are streams of numbered events, also through the stream helper', async () => {
    await using scene = await open(mount, native);
    const request = { model: 'acme/one', input: 'Tell me a story' };
    const events: ResponseStreamEvent[] = [];
    for await (const event of await scene.client.responses.create({ ...request, stream: true })) events.push(event);
    expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, index) => index));
    expect(events[0]?.type).toBe('response.created');
    const last = events.at(-1);
    expect(last).toMatchObject({
      type: 'response.completed',
      response: { model: 'acme/one', usage: { cost: 0.000047 } },
    });
    const text = events.map((event) => (event.type === 'response.output_text.delta' ? event.delta : '')).join('');
    expect(text).toBe(STORY);
    const final = await scene.client.responses.stream(request).finalResponse();
    expect(final.output_text).toBe(STORY);
    expect(final.usage?.total_tokens).toBe(34);
  });

  it('call tools, whole and streamed, and go on with their results', async () => {
    await using scene = await open(mount, native);
    const request = { model: 'acme/one', input: 'Weather?', tools: [WEATHER] };
    const whole = await scene.client.responses.create(request);
    const streamed = await scene.client.responses.stream(request).finalResponse();
    for (const { output } of [whole, streamed]) {
      expect(output[0]).toMatchObject({ type: 'function_call', name: 'get_weather', arguments: '{"city":"Paris"}' });
      expect(output).toHaveLength(native ? 2 : 1);
    }
    const calls = whole.output.filter((item) => item.type === 'function_call');
    const answer = await scene.client.responses.create({
      ...request,
      input: [
        { role: 'user', content: 'Weather?' },
        ...calls,
        ...calls.map((call) => ({
          type: 'function_call_output' as const,
          call_id: call.call_id,
          output: '18 degrees',
        })),
      ],
    });
    expect(answer.output_text).toBe(STORY);
  });

  it('follow a schema', async () => {
    await using scene = await open(mount, native);
    const request = { model: 'acme/one', input: 'Who?', text: { format: PERSON } };
    const answer = await scene.client.responses.parse(request);
    expect(answer.output_parsed).toEqual({ name: 'Ada', age: 36 });
    const streamed = await scene.client.responses.stream(request).finalResponse();
    expect(streamed.output_parsed).toEqual({ name: 'Ada', age: 36 });
  });

  it('end at the provider when they are aborted, whole and in the middle of a stream', async () => {
    await using scene = await open(mount, native);
    const request = { model: 'acme/one', input: 'slow' };
    const stream = await scene.client.responses.create({ ...request, stream: true });
    for await (const event of stream) if (event.type === 'response.output_text.delta') break;
    await until(() => scene.upstream.connections === 0);
    const controller = new AbortController();
    const whole = scene.client.responses.create(request, { signal: controller.signal });
    whole.catch(() => {});
    await until(() => scene.upstream.connections === 1);
    controller.abort();
    await expect(whole).rejects.toThrow('aborted');
    await until(() => scene.upstream.connections === 0);
  });

  it('fail as typed errors with status, path and message', async () => {
    await using scene = await open(mount, native);
    const stored = scene.client.responses.create({ model: 'acme/one', input: 'x', previous_response_id: 'resp_1' });
    await expect(stored).rejects.toMatchObject({
      status: 400,
      param: 'previous_response_id',
      message: expect.stringContaining('no answers are stored') as string,
    });
    expect(scene.upstream.requests).toHaveLength(0);
    scene.upstream.handler = failWith(429, { error: { message: 'slow down' } }, { 'retry-after': '7' });
    for (const stream of [false, true]) {
      const limited = scene.client.responses.create({ model: 'acme/one', input: 'x', stream });
      const error = await limited.then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      expect(error).toBeInstanceOf(APIError);
      expect((error as APIError).status).toBe(429);
      expect((error as APIError).headers?.get('retry-after')).not.toBeNull();
    }
  });
});
