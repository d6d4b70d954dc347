import OpenAI, { APIError } from 'openai';
import { type Router, createRouter, openaiCompatible } from 'signalbox';
import { describe, expect, it } from 'vitest';
import { MOUNTS } from '../support/mounts.ts';
import { toldBy, toolUpstream } from '../support/tool-upstream.ts';
import { type Upstream, type UpstreamHandler, failWith, startUpstream } from '../support/upstream.ts';
import { until } from '../support/until.ts';

const QUESTION = 'Which is better, tea or coffee?';
const ANALYSIS = { consensus: ['Both are drinks'], blind_spots: ['Cocoa'] };

/** `outer` calls fusion and then says what it was told; `judge` compares; all others answer. */
const answering = toolUpstream((messages, model) => {
  if (model === 'judge') return JSON.stringify(ANALYSIS);
  if (model !== 'outer') return `${String(model)} says tea.`;
  const told = toldBy(messages);
  return told.length === 0 ? { call: 'fusion', args: { prompt: QUESTION } } : `Told: ${told.join('')}`;
});

interface Scene extends AsyncDisposable {
  readonly client: OpenAI;
  readonly upstream: Upstream;
  /** Models that were asked, in order. */
  asked(): readonly unknown[];
}

async function open(members: Readonly<Record<string, UpstreamHandler>> = {}): Promise<Scene> {
  const upstream = await startUpstream((request, response, raw) => {
    const handler = members[String(request.body['model'])] ?? answering;
    handler(request, response, raw);
  });
  const models = Object.fromEntries(
    ['outer', 'judge', 'ada', 'bob', 'cid'].map((name) => [
      `acme/${name}`,
      { upstreamModel: name, price: { prompt: 1, completion: 2 } },
    ]),
  );
  const router: Router = createRouter({
    providers: [openaiCompatible({ slug: 'up', baseURL: upstream.baseURL, models })],
    allowAnonymous: true,
    fallback: { triesPerEndpoint: 1 },
  });
  const mount = MOUNTS['node'] ?? Object.values(MOUNTS)[0];
  if (mount === undefined) throw new Error('no mount');
  const mounted = await mount(router);
  return {
    client: new OpenAI({ baseURL: mounted.baseURL, apiKey: 'any', maxRetries: 0 }),
    upstream,
    asked: () => upstream.requests.map(({ body }) => body['model']),
    async [Symbol.asyncDispose]() {
      await mounted[Symbol.asyncDispose]();
      await router.close();
      await upstream[Symbol.asyncDispose]();
    },
  };
}

const options = { analysis_models: ['acme/ada', 'acme/bob', 'acme/cid'], model: 'acme/judge', tools: [] };
const request = {
  model: 'acme/outer',
  messages: [{ role: 'user' as const, content: 'Tea or coffee?' }],
  plugins: [{ id: 'fusion', ...options }],
};
const withMetadata = { headers: { 'X-Router-Metadata': 'enabled' } };

describe('fusion for the openai package', () => {
  it('asks panel, analyst and model, and sums what they used', async () => {
    await using scene = await open();
    const answer = await scene.client.chat.completions.create(request, withMetadata);
    expect(scene.asked()[0]).toBe('outer');
    expect(new Set(scene.asked().slice(1, 4))).toEqual(new Set(['ada', 'bob', 'cid']));
    expect(scene.asked().slice(4)).toEqual(['judge', 'outer']);
    const [, told = ''] = String(answer.choices[0]?.message.content).split('Told: ');
    expect(JSON.parse(told)).toMatchObject({
      status: 'ok',
      analysis: ANALYSIS,
      responses: [
        { model: 'acme/ada', content: 'ada says tea.' },
        { model: 'acme/bob', content: 'bob says tea.' },
        { model: 'acme/cid', content: 'cid says tea.' },
      ],
    });
    expect(answer).toMatchObject({
      model: 'acme/outer',
      usage: { prompt_tokens: 120, completion_tokens: 30, total_tokens: 150, cost: 0.00018 },
      router_metadata: {
        requested: 'acme/outer',
        pipeline: expect.arrayContaining([
          expect.objectContaining({
            type: 'server_tools',
            name: 'fusion',
            summary: '3 of 3 models answered',
            cost_usd: 0.00012,
          }),
        ]) as unknown,
      },
    });
  });

  it('streams the answer as one', async () => {
    await using scene = await open();
    let text = '';
    const usages: unknown[] = [];
    for await (const chunk of await scene.client.chat.completions.create({ ...request, stream: true })) {
      text += chunk.choices[0]?.delta.content ?? '';
      expect(chunk.choices[0]?.delta.tool_calls).toBeUndefined();
      if (chunk.usage) usages.push(chunk.usage.total_tokens);
    }
    expect(text).toMatch(/^One moment\.\n\nTold: \{"status":"ok"/);
    expect(usages).toEqual([150]);
  });

  it('answers as long as one of the panel does', async () => {
    await using scene = await open({ ada: failWith(500), cid: failWith(429) });
    const answer = await scene.client.chat.completions.create(request, withMetadata);
    expect(answer.choices[0]?.message.content).toContain('"responses":[{"model":"acme/bob"');
    expect(JSON.stringify(answer)).toContain('1 of 3 models answered');
    expect(answer.usage?.total_tokens).toBe(100);
  });

  it.each<readonly [string, UpstreamHandler, number, string]>([
    ['broken', failWith(500), 502, 'all_panels_failed'],
    ['called too often', failWith(429), 429, 'rate_limited'],
  ])('fails when the whole panel is %s, whole and before a stream', async (_what, handler, status, reason) => {
    await using scene = await open({ ada: handler, bob: handler, cid: handler });
    const whole = await scene.client.chat.completions.create(request).catch((error: unknown) => error);
    expect(whole).toBeInstanceOf(APIError);
    expect(whole).toMatchObject({ status, error: { metadata: { failure_reason: reason } } });
    // The model has said something by then, so the stream tells it inside.
    const pieces: string[] = [];
    const error = await (async () => {
      for await (const chunk of await scene.client.chat.completions.create({ ...request, stream: true })) {
        pieces.push(chunk.choices[0]?.delta.content ?? '');
      }
    })().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(APIError);
    expect([pieces.join(''), error]).toMatchObject(['One moment.', { error: { code: status } }]);
    expect(scene.asked()).not.toContain('judge');
  });

  it('lets every connection go when the caller leaves', async () => {
    const hang: UpstreamHandler = () => {};
    await using scene = await open({ ada: hang, bob: hang, cid: hang });
    const controller = new AbortController();
    const asked = scene.client.chat.completions
      .create(request, { signal: controller.signal })
      .catch((error: unknown) => error);
    await until(() => scene.asked().length === 4);
    expect(scene.upstream.connections).toBeGreaterThanOrEqual(3);
    controller.abort();
    await asked;
    // One idle connection may stay, from the call that was answered.
    await until(() => scene.upstream.connections <= 1);
    expect(scene.asked()).toHaveLength(4);
  });

  it('refuses bad options before anybody is asked', async () => {
    await using scene = await open();
    const plugins: readonly object[] = [{ id: 'fusion', max_tool_calls: 17 }];
    const refused = await scene.client.chat.completions
      .create({ ...request, plugins } as typeof request)
      .catch((error: unknown) => error);
    expect(refused).toMatchObject({ status: 400, error: { metadata: { path: 'plugins[0].max_tool_calls' } } });
    expect(scene.asked()).toEqual([]);
  });
});
