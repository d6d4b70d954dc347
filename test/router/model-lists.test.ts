import { apiKeys, createRouter, openaiCompatible, type RouterConfig } from 'signalbox';
import { nodeRouter } from 'signalbox/node';
import { createServer } from 'node:http';
import { describe, expect, it } from 'vitest';
import { listen } from '../support/mounts.ts';
import { answerWith, sendJson, startUpstream, type UpstreamHandler } from '../support/upstream.ts';

const SECRET = 'acme/secret';
const BOSS = 'sk-boss-key-that-may-use-all-models';
const TEAM = 'sk-team-key-that-may-not-use-one';
const USER = [{ role: 'user', content: 'Hello' }];
const PLAIN = answerWith('Hello there');

/** Calls the server tool that it is offered, in its first turn. */
const upstreamOf: UpstreamHandler = (request, response, raw) => {
  const {
    tools,
    messages = [],
    input,
  } = request.body as {
    tools?: readonly { function: { name: string } }[];
    messages?: readonly { role: string }[];
    input?: unknown;
  };
  if (input !== undefined) {
    const data = [{ object: 'embedding', index: 0, embedding: [0.5] }];
    return sendJson(response, 200, { object: 'list', data, model: 'm', usage: { prompt_tokens: 1, total_tokens: 1 } });
  }
  const [tool] = tools ?? [];
  if (tool === undefined || messages.some(({ role }) => role === 'tool')) return PLAIN(request, response, raw);
  const call = {
    id: 'call_1',
    type: 'function',
    function: {
      name: tool.function.name,
      arguments: '{"prompt":"Think","task":"Think","question":"Think","task_description":"Think"}',
    },
  };
  const message = { role: 'assistant', content: null, tool_calls: [call] };
  return sendJson(response, 200, {
    id: 'x',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [{ index: 0, message, finish_reason: 'tool_calls' }],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  });
};

/** A server with one model that one of two accounts may not use. */
async function open(config: RouterConfig) {
  const upstream = await startUpstream(upstreamOf);
  const offer = (model: string, usd: number, more: object = {}) => ({
    [model]: {
      upstreamModel: model,
      price: { prompt: usd, completion: usd },
      parameters: ['tools', 'tool_choice', 'response_format', 'structured_outputs', 'temperature'] as const,
      ...more,
    },
  });
  const router = createRouter({
    providers: [
      openaiCompatible({
        slug: 'acme',
        baseURL: upstream.baseURL,
        apiKey: 'sk-1',
        models: {
          ...offer('acme/plain', 1),
          ...offer(SECRET, 1, { scores: { intelligence: 90, coding: 90, agentic: 90 } }),
          ...offer('acme/secret-vectors', 1, { inputModalities: ['text'], outputModalities: ['embeddings'] }),
        },
      }),
    ],
    models: { [SECRET]: { family: 'top', created: 1_700_000_000, aliases: ['acme/hidden'] } },
    authenticate: apiKeys([
      { key: BOSS, id: 'boss' },
      { key: TEAM, id: 'team', policy: { excludedModels: ['*/SECRET*'] } },
    ]),
    ...config,
  });
  const mounted = await listen(createServer(nodeRouter(router)));
  return {
    upstream,
    router,
    async send(path: string, key: string, body?: object) {
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
      const sent = body === undefined ? { headers } : { method: 'POST', headers, body: JSON.stringify(body) };
      const response = await fetch(`${mounted.baseURL}${path}`, sent);
      return { status: response.status, body: (await response.json()) as Record<string, unknown> };
    },
    reached: () => upstream.requests.filter(({ body }) => String(body['model']).startsWith(SECRET)).length,
    async [Symbol.asyncDispose]() {
      await mounted[Symbol.asyncDispose]();
      await router.close();
      await upstream[Symbol.asyncDispose]();
    },
  };
}

const tool = (type: string, parameters: object) => ({
  model: 'acme/plain',
  messages: USER,
  tools: [{ type, parameters }],
});

/** Every path on which a request can name a model: its name, operation, body, and what the configuration adds. */
const PATHS: readonly [name: string, path: string, body: object, config?: RouterConfig][] = [
  ['model', '/chat/completions', { model: SECRET, messages: USER }],
  ['another spelling', '/chat/completions', { model: 'ACME/Secret', messages: USER }],
  ['an alias of the model', '/chat/completions', { model: 'acme/hidden', messages: USER }],
  ['a variant', '/chat/completions', { model: `${SECRET}:nitro`, messages: USER }],
  ['the latest of a family', '/chat/completions', { model: '~acme/top-latest', messages: USER }],
  ['models', '/chat/completions', { models: [SECRET, 'acme/plain'], messages: USER }],
  ['an alias', '/chat/completions', { model: 'fast', messages: USER }, { aliases: { fast: SECRET } }],
  ['an alias for several', '/chat/completions', { model: 'fast', messages: USER }, { aliases: { fast: [SECRET] } }],
  [
    'an alias that divides',
    '/chat/completions',
    { model: 'fast', messages: USER },
    { aliases: { fast: { split: [{ model: SECRET, weight: 1 }] } } },
  ],
  ['a rule', '/chat/completions', { model: 'acme/plain', messages: USER }, { rules: [{ id: 'all', rewrite: SECRET }] }],
  ['a preset', '/chat/completions', { preset: 'mine', messages: USER }, { presets: { mine: { model: SECRET } } }],
  ['the default model', '/chat/completions', { messages: USER }, { defaultModel: SECRET }],
  ['the Messages API', '/messages', { model: SECRET, max_tokens: 9, messages: USER }],
  ['the Responses API', '/responses', { model: SECRET, input: 'Hello' }],
  ['embeddings', '/embeddings', { model: 'acme/secret-vectors', input: 'Hello' }],
  [
    'the auto-router',
    '/chat/completions',
    { model: 'router/auto', messages: USER, plugins: [{ id: 'auto-router', allowed_models: [SECRET] }] },
  ],
  ['the pareto-router', '/chat/completions', { model: 'router/pareto-code', messages: USER }],
  [
    'fusion',
    '/chat/completions',
    { model: 'router/fusion', messages: USER, plugins: [{ id: 'fusion', model: SECRET, analysis_models: [SECRET] }] },
  ],
  ['an advisor', '/chat/completions', tool('router:advisor', { name: 'sage', model: SECRET })],
  ['a subagent', '/chat/completions', tool('router:subagent', { name: 'helper', model: SECRET })],
];

describe('a model that an account may not use', () => {
  it.each(PATHS)('is not reached by %s', async (_name, path, body, config = {}) => {
    await using scene = await open(config);
    await scene.send(path, BOSS, body);
    // Otherwise this path would prove nothing.
    expect(scene.reached()).toBeGreaterThan(0);
    scene.upstream.requests.length = 0;
    await scene.send(path, TEAM, body);
    expect(scene.reached()).toBe(0);
  });

  it('is not reached by a batch', async () => {
    await using scene = await open({});
    const account = (id: string) => ({
      account: { id, ...(id === 'team' && { policy: { excludedModels: [SECRET] } }) },
    });
    const run = async (id: string) => {
      const requests = [{ custom_id: '1', body: { messages: USER } }];
      await scene.router.batches.create(
        { endpoint: '/v1/chat/completions', model: SECRET, requests } as never,
        account(id),
      );
      await scene.router.batches.tick({ budgetMs: 5_000 });
    };
    await run('boss');
    expect(scene.reached()).toBe(1);
    await run('team').catch(() => undefined);
    expect(scene.reached()).toBe(1);
  });

  it('is refused by name, with where to look', async () => {
    await using scene = await open({});
    const { status, body } = await scene.send('/chat/completions', TEAM, { model: SECRET, messages: USER });
    expect(status).toBe(403);
    expect(body).toMatchObject({
      error: { message: 'This account may not use acme/secret. GET /models lists what it may use.' },
    });
  });

  it('is on no list of that account, and on those of others', async () => {
    await using scene = await open({});
    const idsFor = async (key: string) => {
      const { body } = await scene.send('/models?output_modalities=all', key);
      return (body as { data: { id: string }[] }).data.map(({ id }) => id).filter((id) => id.startsWith('acme/'));
    };
    expect(await idsFor(BOSS)).toEqual(['acme/plain', SECRET, 'acme/secret-vectors']);
    expect(await idsFor(TEAM)).toEqual(['acme/plain']);
    expect((await scene.send(`/models/${SECRET}/endpoints`, BOSS)).status).toBe(200);
    expect((await scene.send(`/models/${SECRET}/endpoints`, TEAM)).status).toBe(404);
    const counts = await Promise.all([BOSS, TEAM].map((key) => scene.send('/models/count', key)));
    const [boss, team] = counts.map(({ body }) => (body as { data: { count: number } }).data.count);
    expect((boss ?? 0) - (team ?? 0)).toBe(1);
  });

  it('may be one that is on no list of allowed ones', async () => {
    await using scene = await open({ policy: { allowedModels: ['acme/plain'] } });
    expect((await scene.send('/chat/completions', BOSS, { model: SECRET, messages: USER })).status).toBe(403);
    expect((await scene.send('/chat/completions', BOSS, { model: 'acme/plain', messages: USER })).status).toBe(200);
  });
});
