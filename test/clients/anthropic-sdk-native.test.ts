import Anthropic, { RateLimitError } from '@anthropic-ai/sdk';
import { type Router, anthropic, createRouter, openaiCompatible } from 'signalbox';
import { describe, expect, it } from 'vitest';
import { NATIVE_BLOCKS, messagesProvider } from '../support/messages-upstream.ts';
import { MOUNTS, type Mounted } from '../support/mounts.ts';
import { scriptedProvider } from '../support/scripted-upstream.ts';
import { type Upstream, failWith, startUpstream } from '../support/upstream.ts';
import { until } from '../support/until.ts';

interface Scene extends AsyncDisposable {
  readonly client: Anthropic;
  /** Speaks Messages. */
  readonly native: Upstream;
  /** Speaks chat completions only. */
  readonly other: Upstream;
}

const PRICE = { price: { prompt: 1, completion: 2, cacheRead: 0.1, cacheWrite: 1.25 } };

async function open(mount: (router: Router) => Promise<Mounted>): Promise<Scene> {
  const [native, other] = await Promise.all([startUpstream(messagesProvider), startUpstream(scriptedProvider)]);
  const router: Router = createRouter({
    providers: [
      anthropic({ baseURL: native.baseURL, apiKey: 'sk-ant-test', models: { 'acme/one': PRICE } }),
      openaiCompatible({ slug: 'other', baseURL: other.baseURL, models: { 'acme/one': PRICE, 'acme/two': PRICE } }),
    ],
    allowAnonymous: true,
    fallback: { triesPerEndpoint: 1 },
    on: { warning: () => {} },
  });
  const mounted = await mount(router);
  const client = new Anthropic({ baseURL: mounted.baseURL.replace(/\/v1$/, ''), apiKey: 'any', maxRetries: 0 });
  return {
    client,
    native,
    other,
    async [Symbol.asyncDispose]() {
      await mounted[Symbol.asyncDispose]();
      await router.close();
      await native[Symbol.asyncDispose]();
      await other[Symbol.asyncDispose]();
    },
  };
}

/** Fields of the router, which the types of the SDK do not know. */
function routed<Body extends object>(body: Body): Body {
  return { ...body, provider: { order: ['anthropic', 'other'] } };
}

const ASK = {
  model: 'acme/one',
  max_tokens: 1_000,
  system: [{ type: 'text' as const, text: 'Be brief.', cache_control: { type: 'ephemeral' as const } }],
  thinking: { type: 'adaptive' as const },
  messages: [{ role: 'user' as const, content: 'Where?' }],
};

describe.each(Object.entries(MOUNTS))('a provider of the same wire behind %s', (_name, mount) => {
  it('gets what the SDK sent, and the SDK gets all that it said', async () => {
    await using scene = await open(mount);
    const message = await scene.client.messages.create(routed(ASK));
    expect(message).toMatchObject({
      id: 'msg_native',
      model: 'acme/one',
      content: NATIVE_BLOCKS,
      stop_reason: 'tool_use',
      usage: { input_tokens: 10, cache_read_input_tokens: 60, cost: 0.0000935 },
    });
    const [request] = scene.native.requests;
    expect(request?.path).toBe('/v1/messages');
    expect(request?.headers['x-api-key']).toBe('sk-ant-test');
    expect(request?.body).toEqual({
      ...ASK,
      model: expect.any(String) as string,
      stream: false,
      metadata: { user_id: expect.any(String) as string },
    });
  });

  it('streams what the SDK puts together to the same message', async () => {
    await using scene = await open(mount);
    const message = await scene.client.messages.stream(routed(ASK)).finalMessage();
    expect(message).toMatchObject({
      id: 'msg_native',
      model: 'acme/one',
      content: NATIVE_BLOCKS,
      stop_reason: 'tool_use',
      usage: { input_tokens: 10, output_tokens: 20 },
    });
  });

  it('is left when the SDK aborts', async () => {
    await using scene = await open(mount);
    const slow = { ...ASK, messages: [{ role: 'user' as const, content: 'slow' }] };
    for await (const event of await scene.client.messages.create({ ...routed(slow), stream: true })) {
      if (event.type === 'content_block_delta') break;
    }
    await until(() => scene.native.connections === 0);
  });
});

describe('a provider of the same wire', () => {
  const mount = MOUNTS['node'] as (router: Router) => Promise<Mounted>;

  it('adds what it cost to the last event of a stream', async () => {
    await using scene = await open(mount);
    const usages: unknown[] = [];
    for await (const event of await scene.client.messages.create({ ...routed(ASK), stream: true })) {
      if (event.type === 'message_delta') usages.push(event.usage);
    }
    expect(usages).toEqual([expect.objectContaining({ output_tokens: 20, cost: 0.0000935 })]);
  });

  it('that fails is followed by one that must be asked in the chat form', async () => {
    await using scene = await open(mount);
    scene.native.handler = failWith(529, { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } });
    const message = await scene.client.messages.create(routed(ASK));
    expect(message.content).toMatchObject([{ type: 'text' }]);
    expect(scene.other.requests[0]?.body['messages']).toMatchObject([
      { role: 'system' },
      { role: 'user', content: 'Where?' },
    ]);
  });

  it('takes over a conversation that another one began, and the other way round', async () => {
    await using scene = await open(mount);
    const theirs: Anthropic.MessageParam = {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'Hm.', signature: '' },
        { type: 'text', text: 'There.' },
      ],
    };
    const again = { role: 'user' as const, content: 'And now?' };
    await scene.client.messages.create(routed({ ...ASK, messages: [...ASK.messages, theirs, again] }));
    expect(scene.native.requests[0]?.body['messages']).toEqual([
      ...ASK.messages,
      { role: 'assistant', content: [{ type: 'text', text: 'There.' }] },
      again,
    ]);
    const native = await scene.client.messages.create(routed(ASK));
    await scene.client.messages.create({
      ...ASK,
      model: 'acme/two',
      messages: [
        ...ASK.messages,
        { role: 'assistant', content: native.content },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'wet' }] },
      ],
    });
    expect(scene.other.requests[0]?.body['messages']).toMatchObject([
      { role: 'system' },
      { role: 'user' },
      { role: 'assistant', content: 'The one at the junction.', tool_calls: [{ id: 'toolu_1' }] },
      { role: 'tool', tool_call_id: 'toolu_1', content: 'wet' },
    ]);
  });

  it('is the only one asked for what only it understands', async () => {
    await using scene = await open(mount);
    const bash = { type: 'bash_20250124' as const, name: 'bash' as const };
    const request = { ...ASK, provider: { order: ['other'] }, tools: [bash] };
    const message = await scene.client.messages.create(request);
    expect(message.id).toBe('msg_native');
    expect(scene.native.requests[0]?.body['tools']).toEqual([bash]);
    expect(scene.other.requests).toHaveLength(0);
    await expect(scene.client.messages.create({ ...request, model: 'acme/two' })).rejects.toMatchObject({
      status: 400,
    });
  });

  it('is told of beta features', async () => {
    await using scene = await open(mount);
    await scene.client.beta.messages.create(routed({ ...ASK, betas: ['context-management-2025-06-27'] }));
    expect(scene.native.requests[0]?.headers['anthropic-beta']).toBe('context-management-2025-06-27');
    expect(scene.native.requests[0]?.body).not.toHaveProperty('betas');
  });

  it('is asked in the chat form where the router has something to do with the answer', async () => {
    await using scene = await open(mount);
    const message = await scene.client.messages.create(routed({ ...ASK, reasoning: { effort: 'none' } }));
    expect(message.content.map(({ type }) => type)).toEqual(['thinking', 'redacted_thinking', 'text', 'tool_use']);
    expect(message.id).toMatch(/^gen-/);
    expect(message.content.at(-1)).toMatchObject(NATIVE_BLOCKS[5]);
    expect(message.content[0]).toEqual(NATIVE_BLOCKS[0]);
  });

  it('that limits the rate is told of as such', async () => {
    await using scene = await open(mount);
    const busy = failWith(
      429,
      { type: 'error', error: { type: 'rate_limit_error', message: 'Slow down' } },
      { 'retry-after': '3' },
    );
    scene.native.handler = busy;
    scene.other.handler = busy;
    const limited: unknown = await scene.client.messages.create(ASK).catch((thrown: unknown) => thrown);
    expect(limited).toBeInstanceOf(RateLimitError);
    expect((limited as RateLimitError).headers?.get('retry-after')).toBe('3');
  });
});
