import {
  anthropic,
  apiKeys,
  createRouter,
  defaultServerTools,
  imageGenerationTool,
  openaiCompatible,
  openaiImages,
  type RouterConfig,
} from 'signalbox';
import { nodeRouter } from 'signalbox/node';
import { createServer } from 'node:http';
import { describe, expect, it } from 'vitest';
import { listen } from '../support/mounts.ts';
import { nativeProvider } from '../support/native-provider.ts';
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
  if (request.path.endsWith('/count_tokens')) return sendJson(response, 200, { input_tokens: 7 });
  if (request.path.endsWith('/images/generations'))
    return sendJson(response, 200, { data: [{ b64_json: 'aGVsbG8=' }] });
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

/** What a configuration adds; it may need the address of the upstream. */
type Configure = RouterConfig | ((baseURL: string) => RouterConfig);

/** A server with one model that one of two accounts may not use. */
async function open(configure: Configure) {
  const upstream = await startUpstream(upstreamOf);
  const config = typeof configure === 'function' ? configure(upstream.baseURL) : configure;
  const offer = (model: string, usd: number, more: object = {}) => ({
    [model]: {
      upstreamModel: model,
      price: { prompt: usd, completion: usd },
      parameters: ['tools', 'tool_choice', 'response_format', 'structured_outputs', 'temperature'] as const,
      ...more,
    },
  });
  const router = createRouter({
    // Batches run when a test says so.
    batches: { worker: false },
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
      anthropic({
        slug: 'beta',
        baseURL: upstream.baseURL,
        apiKey: 'sk-2',
        models: { 'beta/secret': { upstreamModel: `${SECRET}-of-beta`, price: { prompt: 1, completion: 1 } } },
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
      const authorization = `Bearer ${key}`;
      const headers = { authorization, 'content-type': 'application/json' };
      const sent =
        body === undefined
          ? { headers }
          : body instanceof FormData
            ? { method: 'POST', headers: { authorization }, body }
            : { method: 'POST', headers, body: JSON.stringify(body) };
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
const PATHS: readonly [name: string, path: string, body: object, config?: Configure][] = [
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
  [
    'the judge of fusion',
    '/chat/completions',
    {
      model: 'router/fusion',
      messages: USER,
      plugins: [{ id: 'fusion', model: SECRET, analysis_models: ['acme/plain'] }],
    },
  ],
  [
    'a panel of fusion',
    '/chat/completions',
    {
      model: 'router/fusion',
      messages: USER,
      plugins: [{ id: 'fusion', model: 'acme/plain', analysis_models: [SECRET, 'acme/plain'] }],
    },
  ],
  ['the count of tokens', '/messages/count_tokens', { model: 'beta/secret', messages: USER }],
  [
    'an image service',
    '/chat/completions',
    tool('router:image_generation', { model: SECRET }),
    (baseURL) => {
      const image = imageGenerationTool({ generator: openaiImages({ apiKey: 'sk-1', baseURL }) });
      return { serverTools: [...defaultServerTools().filter(({ type }) => type !== image.type), image] };
    },
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

  it('is not reached by a batch of a file, whose lines name it', async () => {
    await using scene = await open({});
    const run = async (key: string): Promise<void> => {
      const line = {
        custom_id: '1',
        method: 'POST',
        url: '/v1/chat/completions',
        body: { model: SECRET, messages: USER },
      };
      const form = new FormData();
      form.append('purpose', 'batch');
      form.append('file', new Blob([`${JSON.stringify(line)}\n`]), 'lines.jsonl');
      const { body: file } = await scene.send('/files', key, form);
      const made = await scene.send('/batches', key, { endpoint: '/v1/chat/completions', input_file_id: file['id'] });
      expect(made.status).toBe(202);
      await scene.router.batches.tick({ budgetMs: 5_000 });
      const ended = async () => (await scene.send(`/batches/${String(made.body['id'])}`, key)).body['status'];
      await expect.poll(ended).toMatch(/completed|failed/);
    };
    await run(BOSS);
    expect(scene.reached()).toBe(1);
    await run(TEAM);
    expect(scene.reached()).toBe(1);
  });

  it('is not reached by a batch that a provider would run as a whole', async () => {
    const native = nativeProvider('native');
    const router = createRouter({ providers: [native], batches: { worker: false } });
    const run = async (id: string, policy: object): Promise<void> => {
      const requests = [{ custom_id: '1', body: { messages: USER } }];
      const batch = { endpoint: '/v1/chat/completions', model: 'acme/one', requests } as never;
      await router.batches.create(batch, { account: { id, policy } }).catch(() => undefined);
      await router.batches.tick({ budgetMs: 2_000 });
    };
    await run('team', { excludedModels: ['acme/*'] });
    expect(native.submissions).toHaveLength(0);
    await run('boss', {});
    expect(native.submissions).toHaveLength(1);
    await router.close();
  });

  it('gets no copy of a request of that account', async () => {
    const mirror = { model: SECRET, share: 1, budget: { limitUsd: 1 } };
    await using scene = await open({ aliases: { fast: { model: 'acme/plain', mirror } } });
    const ask = async (key: string, content: string): Promise<void> => {
      const messages = [{ role: 'user', content }];
      expect((await scene.send('/chat/completions', key, { model: 'fast', messages })).status).toBe(200);
    };
    await ask(TEAM, 'Of the team');
    await ask(BOSS, 'Of the boss');
    await expect.poll(() => scene.reached()).toBe(1);
    const copy = scene.upstream.requests.find(({ body }) => body['model'] === SECRET);
    expect(copy?.body['messages']).toEqual([{ role: 'user', content: 'Of the boss' }]);
  });

  it('is not told of by the search for models', async () => {
    await using scene = await open({});
    const toldOf = async (key: string): Promise<boolean> => {
      scene.upstream.requests.length = 0;
      await scene.send('/chat/completions', key, tool('router:experimental__search_models', { max_results: 20 }));
      const last = scene.upstream.requests.at(-1)?.body['messages'];
      const messages = last as readonly { role: string; content: string }[];
      const found = messages.find(({ role }) => role === 'tool')?.content ?? '';
      expect(found).toContain('acme/plain');
      return found.includes(SECRET);
    };
    expect([await toldOf(BOSS), await toldOf(TEAM)]).toEqual([true, false]);
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
    expect((boss ?? 0) - (team ?? 0)).toBe(2);
  });

  it('may be one that is on no list of allowed ones', async () => {
    await using scene = await open({ policy: { allowedModels: ['acme/plain'] } });
    expect((await scene.send('/chat/completions', BOSS, { model: SECRET, messages: USER })).status).toBe(403);
    expect((await scene.send('/chat/completions', BOSS, { model: 'acme/plain', messages: USER })).status).toBe(200);
  });
});
