import Anthropic from '@anthropic-ai/sdk';
import {
  anthropic,
  contextCompression,
  createRouter,
  google,
  openaiCompatible,
  type Provider,
  type Router,
  type RouterConfig,
} from 'signalbox';
import { describe, expect, it } from 'vitest';
import { MOUNTS } from '../support/mounts.ts';
import { scriptedProvider } from '../support/scripted-upstream.ts';
import { sendJson, startUpstream, type Upstream, type UpstreamHandler } from '../support/upstream.ts';

const SHOWN = {
  'acme/new': { contextLength: 200_000, maxOutputTokens: 64_000 },
  'acme/old': {},
};

async function clientOf(router: Router, mount = 'node'): Promise<AsyncDisposable & { readonly client: Anthropic }> {
  const mounted = await MOUNTS[mount]?.(router);
  if (mounted === undefined) throw new Error(`no mount ${mount}`);
  const client = new Anthropic({ baseURL: mounted.baseURL.replace(/\/v1$/, ''), apiKey: 'any', maxRetries: 0 });
  return {
    client,
    async [Symbol.asyncDispose]() {
      await mounted[Symbol.asyncDispose]();
      await router.close();
    },
  };
}

function routerOf(providers: readonly Provider[], more: Partial<RouterConfig> = {}): Router {
  return createRouter({ providers, allowAnonymous: true, on: { warning: () => {} }, ...more });
}

describe.each(['node', 'fetch on Hono'])("the SDK's lists of models behind %s", (mount) => {
  it('show what the router has, the newest first, page by page', async () => {
    const models = { 'acme/new': { created: 1_767_225_600, name: 'New' }, 'acme/old': { created: 1_700_000_000 } };
    const provider = openaiCompatible({ slug: 'up', baseURL: 'http://127.0.0.1:9/v1', models: SHOWN });
    await using scene = await clientOf(routerOf([provider], { models, plugins: [] }), mount);
    const seen: Anthropic.ModelInfo[] = [];
    for await (const model of scene.client.models.list({ limit: 1 })) seen.push(model);
    expect(seen).toEqual([
      expect.objectContaining({
        type: 'model',
        id: 'acme/new',
        display_name: 'New',
        created_at: '2026-01-01T00:00:00.000Z',
        max_input_tokens: 200_000,
        max_tokens: 64_000,
        lifecycle: 'active',
      }),
      expect.objectContaining({ id: 'acme/old', display_name: 'acme/old', max_input_tokens: null, max_tokens: null }),
    ]);
    const back = await scene.client.models.list({ before_id: 'acme/old', limit: 5 });
    expect([back.data.map(({ id }) => id), back.has_more]).toEqual([['acme/new'], false]);
    expect(await scene.client.models.retrieve('acme/new')).toMatchObject({ id: 'acme/new', max_tokens: 64_000 });
  });

  it('say what is wrong in the shape of that API', async () => {
    const provider = openaiCompatible({ slug: 'up', baseURL: 'http://127.0.0.1:9/v1', models: SHOWN });
    await using scene = await clientOf(routerOf([provider]), mount);
    await expect(scene.client.models.retrieve('acme/none')).rejects.toMatchObject({
      status: 404,
      error: { type: 'error', error: { type: 'not_found_error' } },
    });
    for (const query of [{ limit: 0 }, { limit: 1_001 }, { after_id: 'acme/none' }]) {
      await expect(scene.client.models.list(query)).rejects.toMatchObject({ status: 400 });
    }
  });

  it('leave clients of other APIs alone', async () => {
    const provider = openaiCompatible({ slug: 'up', baseURL: 'http://127.0.0.1:9/v1', models: SHOWN });
    await using scene = await clientOf(routerOf([provider]), mount);
    const response = await fetch(`${scene.client.baseURL}/v1/models`);
    expect(await response.json()).toMatchObject({ data: expect.arrayContaining([ANY_CARD]) as unknown });
  });
});

const ANY_CARD = expect.objectContaining({
  id: 'acme/new',
  context_length: 200_000,
  pricing: expect.anything() as unknown,
}) as unknown;

const PROMPT: Anthropic.MessageCountTokensParams = {
  model: 'acme/one',
  system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
  thinking: { type: 'enabled', budget_tokens: 4_000 },
  tools: [{ name: 'look', description: 'Looks.', input_schema: { type: 'object', properties: {} } }],
  tool_choice: { type: 'auto' },
  messages: [{ role: 'user', content: 'Where is the signal box? '.repeat(40) }],
};

const COUNTED = new Set([
  'model',
  'messages',
  'system',
  'tools',
  'tool_choice',
  'thinking',
  'output_config',
  'cache_control',
]);

/** Counts as Anthropic does; refuses whatever its API would. */
const counter: UpstreamHandler = ({ path, body }, response) => {
  const strange = Object.keys(body).find((name) => !COUNTED.has(name));
  if (!path.endsWith('/messages/count_tokens') || strange !== undefined) {
    return sendJson(response, 400, { type: 'error', error: { type: 'invalid_request_error', message: `${strange}` } });
  }
  sendJson(response, 200, { input_tokens: 321, context_management: { original_input_tokens: 400 } });
};

async function withUpstream<Result>(handler: UpstreamHandler, use: (upstream: Upstream) => Promise<Result>) {
  await using upstream = await startUpstream(handler);
  return await use(upstream);
}

const claude = (upstream: Upstream): Provider =>
  anthropic({ baseURL: upstream.baseURL, apiKey: 'sk-ant-1', models: { 'acme/one': {} } });

describe.each(['node', 'express'])('POST /messages/count_tokens behind %s', (mount) => {
  it('is answered by the provider that would answer, with its betas', async () => {
    await withUpstream(counter, async (upstream) => {
      await using scene = await clientOf(routerOf([claude(upstream)]), mount);
      const headers = { 'anthropic-beta': 'context-management-2025-06-27' };
      expect(await scene.client.messages.countTokens(PROMPT, { headers })).toEqual({
        input_tokens: 321,
        context_management: { original_input_tokens: 400 },
        counted_by: 'provider',
        provider: 'Anthropic',
      });
      const [request] = upstream.requests;
      expect(request?.headers['anthropic-beta']).toContain('context-management-2025-06-27');
      expect(request?.body).toEqual(PROMPT);
    });
  });

  it('is counted here where the provider cannot, fails, or takes too long', async () => {
    const failing: UpstreamHandler = (_request, response) => sendJson(response, 529, { type: 'error' });
    await withUpstream(failing, async (upstream) => {
      await using scene = await clientOf(routerOf([claude(upstream)]), mount);
      const counted = await scene.client.messages.countTokens(PROMPT);
      expect(counted).toMatchObject({ counted_by: 'gpt-tokenizer' });
      // 40 times seven words, the system prompt, and the tool.
      expect(counted.input_tokens).toBeGreaterThan(280);
      expect(counted.input_tokens).toBeLessThan(600);
    });
    const other = openaiCompatible({ slug: 'up', baseURL: 'http://127.0.0.1:9/v1', models: { 'acme/one': {} } });
    await using scene = await clientOf(routerOf([other]), mount);
    expect(await scene.client.messages.countTokens(PROMPT)).toMatchObject({ counted_by: 'gpt-tokenizer' });
  });

  it('asks Google for a count of what Google would get', async () => {
    const handler: UpstreamHandler = (_request, response) => sendJson(response, 200, { totalTokens: 77 });
    await withUpstream(handler, async (upstream) => {
      const provider = google({
        baseURL: upstream.baseURL.replace('/v1', '/v1beta'),
        apiKey: 'k',
        models: { 'google/gemini-3-pro': {} },
      });
      await using scene = await clientOf(routerOf([provider]), mount);
      const params = { ...PROMPT, model: 'google/gemini-3-pro' };
      expect(await scene.client.messages.countTokens(params)).toMatchObject({
        input_tokens: 77,
        counted_by: 'provider',
      });
      expect(upstream.requests[0]).toMatchObject({
        path: '/v1beta/models/gemini-3-pro:countTokens',
        body: { generateContentRequest: { model: 'models/gemini-3-pro', contents: [{ role: 'user' }] } },
      });
    });
  });

  it('does not show a provider what a plugin would change first', async () => {
    await withUpstream(counter, async (upstream) => {
      const plugins = [contextCompression()];
      await using scene = await clientOf(routerOf([claude(upstream)], { plugins }), mount);
      const body = { ...PROMPT, plugins: [{ id: 'context-compression' }] };
      expect(await scene.client.messages.countTokens(body)).toMatchObject({ counted_by: 'gpt-tokenizer' });
      expect(upstream.requests).toHaveLength(0);
    });
  });

  it('says what is wrong in the shape of that API', async () => {
    await using scene = await clientOf(
      routerOf([openaiCompatible({ slug: 'up', baseURL: 'http://127.0.0.1:9/v1', models: SHOWN })]),
      mount,
    );
    await expect(scene.client.messages.countTokens({ model: 'acme/new', messages: [] })).rejects.toMatchObject({
      status: 400,
      error: { type: 'error', error: { type: 'invalid_request_error' } },
    });
    const response = await fetch(`${scene.client.baseURL}/v1/messages/count_tokens`);
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST']);
  });
});

describe('the first event of a stream', () => {
  it('has the likely tokens of the prompt and its tools, also where the provider counts at the end', async () => {
    await withUpstream(scriptedProvider, async (upstream) => {
      const provider = openaiCompatible({ slug: 'up', baseURL: upstream.baseURL, models: { 'acme/one': {} } });
      await using scene = await clientOf(routerOf([provider]));
      const stream = await scene.client.messages.create({ ...PROMPT, max_tokens: 5_000, stream: true });
      const events = [];
      for await (const event of stream) events.push(event);
      const first = events[0]?.type === 'message_start' ? events[0].message.usage.input_tokens : 0;
      const counted = await scene.client.messages.countTokens(PROMPT);
      expect(Math.abs(first / counted.input_tokens - 1)).toBeLessThan(0.15);
      expect(events.find(({ type }) => type === 'message_delta')).toMatchObject({ usage: { input_tokens: 21 } });
    });
  });
});
