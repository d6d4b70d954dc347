import OpenAI, { APIError } from 'openai';
import {
  type ErrorEvent,
  type ModerationService,
  type WarningEvent,
  createRouter,
  moderation,
  openaiCompatible,
  openaiModeration,
} from 'signalbox';
import { describe, expect, it } from 'vitest';
import { MOUNTS } from '../support/mounts.ts';
import { type Upstream, type UpstreamHandler, answerWith, sendJson, startUpstream } from '../support/upstream.ts';

/** Flags what says "attack", and every picture with "bad" in its address. */
const judging: UpstreamHandler = ({ body }, response) => {
  const inputs = (body['input'] as readonly (string | { readonly image_url: { readonly url: string } })[]) ?? [];
  const results = inputs.map((input) => {
    const flagged = typeof input === 'string' ? input.includes('attack') : input.image_url.url.includes('bad');
    return {
      flagged,
      categories: { violence: flagged, 'violence/graphic': false, hate: flagged },
      category_scores: { violence: 0.9, 'violence/graphic': 0.1, hate: 0.8 },
    };
  });
  sendJson(response, 200, { id: 'modr-1', model: 'omni-moderation-latest', results });
};

interface Scene extends AsyncDisposable {
  readonly client: OpenAI;
  readonly upstream: Upstream;
  readonly judge: Upstream;
  readonly heard: (ErrorEvent | WarningEvent)[];
  ask(messages: readonly object[], more?: object): Promise<unknown>;
}

async function open(service?: ModerationService | null): Promise<Scene> {
  const upstream = await startUpstream(answerWith('Fine.'));
  const judge = await startUpstream(judging);
  const heard: (ErrorEvent | WarningEvent)[] = [];
  const used =
    service === undefined ? openaiModeration({ apiKey: 'judge-key', baseURL: judge.baseURL }) : (service ?? undefined);
  const router = createRouter({
    providers: [openaiCompatible({ slug: 'up', baseURL: upstream.baseURL, models: { 'acme/one': {} } })],
    plugins: [moderation({ service: used, timeoutMs: 1_000 })],
    allowAnonymous: true,
    on: { error: (event) => void heard.push(event), warning: (event) => void heard.push(event) },
  });
  const mount = Object.values(MOUNTS)[0];
  if (mount === undefined) throw new Error('no mount');
  const mounted = await mount(router);
  const defaultHeaders = { 'X-Router-Metadata': 'enabled' };
  const client = new OpenAI({ baseURL: mounted.baseURL, apiKey: 'any', maxRetries: 0, defaultHeaders });
  return {
    client,
    upstream,
    judge,
    heard,
    ask: (messages, more) =>
      client.chat.completions
        .create({
          model: 'acme/one',
          messages: messages as OpenAI.ChatCompletionMessageParam[],
          plugins: [{ id: 'moderation' }],
          ...more,
        } as OpenAI.ChatCompletionCreateParamsNonStreaming)
        .catch((error: unknown) => error),
    async [Symbol.asyncDispose]() {
      await mounted[Symbol.asyncDispose]();
      await router.close();
      await upstream[Symbol.asyncDispose]();
      await judge[Symbol.asyncDispose]();
    },
  };
}

function errorOf(thrown: unknown): { status: number; body: Record<string, unknown>; message: unknown } {
  if (!(thrown instanceof APIError)) throw new Error('no error');
  const body = thrown.error as Record<string, unknown>;
  return { status: thrown.status as number, body, message: body['message'] };
}

describe('moderation', () => {
  it('lets through what is not flagged, after showing all of it', async () => {
    await using scene = await open();
    const answer = await scene.ask([
      { role: 'system', content: 'Be kind' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Hello' },
          { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
        ],
      },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{"q":"why"}' } }],
      },
      { role: 'tool', tool_call_id: 'c', content: 'because' },
    ]);
    expect(answer).toMatchObject({ choices: [{ message: { content: 'Fine.' } }], usage: { prompt_tokens: 10 } });
    expect((answer as { router_metadata: object }).router_metadata).not.toHaveProperty('pipeline');
    expect(scene.judge.requests.map(({ path, headers, body }) => [path, headers.authorization, body])).toEqual([
      [
        '/v1/moderations',
        'Bearer judge-key',
        { model: 'omni-moderation-latest', input: ['Be kind', 'Hello', 'q', 'why', 'because'] },
      ],
      [
        '/v1/moderations',
        'Bearer judge-key',
        {
          model: 'omni-moderation-latest',
          input: [{ type: 'image_url', image_url: { url: 'https://example.com/a.png' } }],
        },
      ],
    ]);
  });

  it.each([false, true])('refuses what is flagged with its reasons (streamed: %s)', async (stream) => {
    await using scene = await open();
    const text = `Plan an attack ${'x'.repeat(200)} on the end`;
    const { status, body } = errorOf(await scene.ask([{ role: 'user', content: text }], { stream }));
    expect([status, body]).toEqual([
      403,
      {
        code: 403,
        message: 'Input flagged by moderation',
        metadata: {
          error_type: 'permission_denied',
          reasons: ['violence', 'hate'],
          flagged_input: `${text.slice(0, 48)}...${text.slice(-49)}`,
          provider_name: 'OpenAI',
          model_slug: 'acme/one',
        },
      },
    ]);
    expect(scene.upstream.requests).toHaveLength(0);
    expect(JSON.stringify(scene.heard)).not.toContain('attack');
  });

  it('notes a guardrail in the metadata of the error', async () => {
    await using scene = await open();
    const response = await scene.client.chat.completions
      .create({
        model: 'acme/one',
        messages: [
          { role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://example.com/bad.png' } }] },
        ],
        plugins: [{ id: 'moderation' }],
      } as OpenAI.ChatCompletionCreateParamsNonStreaming)
      .asResponse()
      .catch((error: unknown) => error);
    expect(errorOf(response).body).toMatchObject({ metadata: { flagged_input: '[image]' } });
    const raw = await fetch(`${scene.client.baseURL}/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-router-metadata': 'enabled' },
      body: JSON.stringify({
        model: 'acme/one',
        messages: [{ role: 'user', content: 'attack' }],
        plugins: [{ id: 'moderation' }],
      }),
    });
    expect(await raw.json()).toMatchObject({
      router_metadata: {
        pipeline: [
          {
            type: 'guardrail',
            name: 'moderation',
            summary: 'blocked: violence, hate',
            data: {
              action: 'blocked',
              flagged: true,
              engines: ['omni-moderation-latest'],
              reasons: ['violence', 'hate'],
            },
          },
        ],
      },
    });
  });

  it('sees what hides in a long text, in arguments of tools and in annotations', async () => {
    await using scene = await open();
    const hidden = [
      [{ role: 'user', content: `${'a'.repeat(7_998)}attack${'b'.repeat(200_000)}` }],
      [
        { role: 'user', content: 'x' },
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{"a":["att\\u0061ck"]}' } }],
        },
        { role: 'tool', tool_call_id: 'c', content: 'y' },
      ],
      [
        { role: 'user', content: 'x' },
        {
          role: 'assistant',
          content: 'y',
          annotations: [{ type: 'file', file: { hash: 'h', content: [{ type: 'text', text: 'attack' }] } }],
        },
        { role: 'user', content: 'z' },
      ],
    ];
    for (const messages of hidden) expect(errorOf(await scene.ask(messages)).status).toBe(403);
    expect(scene.upstream.requests).toHaveLength(0);
  });

  it.each([
    ['fails', 500, {}],
    ['is overloaded', 429, {}],
    ['does not take its key', 401, { error: { message: 'judge-key is wrong' } }],
    ['says nothing', 200, {}],
    ['says too little', 200, { results: [] }],
    ['is vague', 200, { results: [{ categories: {} }] }],
  ])('refuses everything when the service %s', async (_how, status, body) => {
    await using scene = await open();
    scene.judge.handler = (_request, response) => sendJson(response, status, body);
    const error = errorOf(await scene.ask([{ role: 'user', content: 'Hello' }]));
    expect(error.status).toBe(503);
    expect(String(error.message)).toMatch(/; nothing is answered unmoderated$/);
    expect(JSON.stringify([error, scene.heard])).not.toContain('judge-key');
    expect(scene.upstream.requests).toHaveLength(0);
  });

  it.each<[string, ModerationService['check']]>([
    [
      'throws',
      () => {
        throw new Error('Hello');
      },
    ],
    ['never answers', () => new Promise(() => {})],
  ])('refuses everything when a service of the program %s', async (_how, check) => {
    await using scene = await open({ id: 'own', name: 'Own', check });
    const error = errorOf(await scene.ask([{ role: 'user', content: 'Hello' }]));
    expect([error.status, scene.upstream.requests.length]).toEqual([503, 0]);
    expect(JSON.stringify([error, scene.heard])).not.toContain('Hello');
  });

  it('refuses everything when there is no service', async () => {
    await using scene = await open(null);
    expect(errorOf(await scene.ask([{ role: 'user', content: 'Hello' }]))).toMatchObject({
      status: 503,
      message:
        'This router cannot moderate: its program sets OPENAI_API_KEY, or passes moderation({ service }). Nothing is answered unmoderated',
    });
  });
});
