import OpenAI, { APIError } from 'openai';
import { type EndpointDeclaration, createRouter, openaiCompatible } from 'signalbox';
import { describe, expect, it } from 'vitest';
import { MOUNTS } from '../support/mounts.ts';
import { type Upstream, type UpstreamHandler, answerWith, failWith, startUpstream } from '../support/upstream.ts';
import { cpuClock } from '../support/cpu-clock.ts';

const CODE = 'Write a Python function that sorts a list of numbers';
const MATH = 'Solve the equation 3x^2 - 12x + 9 = 0';

/** Prices in USD per million tokens of both directions, and scores. */
const OFFERS: Readonly<Record<string, readonly [usd: number, scores: EndpointDeclaration['scores']]>> = {
  coder: [2, { coding: 0.9, math: 0.1 }],
  thinker: [2, { coding: 0.4, math: 0.9 }],
  average: [2, { coding: 0.5, math: 0.5 }],
  master: [40, { coding: 0.95, math: 0.95 }],
  gift: [0, { coding: 0.1, math: 0.1 }],
};

const USAGE = { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 };

interface Scene extends AsyncDisposable {
  readonly client: OpenAI;
  readonly upstream: Upstream;
  /** Models that were asked, in order. */
  asked(): readonly unknown[];
}

async function open(members: Readonly<Record<string, UpstreamHandler>> = {}): Promise<Scene> {
  const upstream = await startUpstream((request, response, raw) => {
    const name = String(request.body['model']);
    (members[name] ?? answerWith(`I am ${name}.`, USAGE))(request, response, raw);
  });
  const models = Object.fromEntries(
    Object.entries(OFFERS).map(([name, [usd, scores]]) => [
      `acme/${name}`,
      { upstreamModel: name, price: { prompt: usd, completion: usd }, scores },
    ]),
  );
  const router = createRouter({
    providers: [openaiCompatible({ slug: 'up', baseURL: upstream.baseURL, models })],
    allowAnonymous: true,
    fallback: { triesPerEndpoint: 1 },
  });
  const mount = MOUNTS['node'];
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

/** What was said, whole or streamed, with what only this router adds. */
interface Heard {
  readonly text: string;
  readonly model: string | undefined;
  readonly usage: Readonly<Record<string, unknown>> | undefined;
  readonly metadata: { readonly strategy: string; readonly attempt: number; readonly pipeline?: readonly object[] };
}

type Body = OpenAI.ChatCompletionCreateParamsNonStreaming;
type Asked = Omit<Partial<Body>, 'messages'> & {
  readonly messages?: readonly object[];
  readonly plugins?: readonly object[];
  readonly session_id?: string;
};

function bodyOf(model: string, { messages = [{ role: 'user', content: CODE }], ...more }: Asked): Body {
  return { model, messages: messages as Body['messages'], ...more };
}

/** Quality alone counts, and the model that is the best at everything is not there, or there would be nothing to choose. */
function without(router: string, model: string): object {
  return { id: `${router}-router`, cost_quality_tradeoff: 0, excluded_models: [model] };
}

const withMetadata = { headers: { 'X-Router-Metadata': 'enabled' } };

async function whole({ client }: Scene, model: string, more: Asked = {}): Promise<Heard> {
  const answer = await client.chat.completions.create(bodyOf(model, more), withMetadata);
  return {
    text: answer.choices[0]?.message.content ?? '',
    model: answer.model,
    usage: answer.usage as unknown as Heard['usage'],
    metadata: (answer as unknown as { router_metadata: Heard['metadata'] }).router_metadata,
  };
}

async function streamed({ client }: Scene, model: string, more: Asked = {}): Promise<Heard> {
  const stream = await client.chat.completions.create({ ...bodyOf(model, more), stream: true }, withMetadata);
  const chunks: OpenAI.ChatCompletionChunk[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  const last = chunks.at(-1) as unknown as { usage: Heard['usage']; router_metadata: Heard['metadata'] };
  return {
    text: chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join(''),
    model: chunks[0]?.model,
    usage: last.usage,
    metadata: last.router_metadata,
  };
}

async function refusal(scene: Scene, model: string, more: Asked): Promise<APIError> {
  return whole(scene, model, more).then(
    () => expect.unreachable('is refused'),
    (error: unknown) => error as APIError,
  );
}

const ways = [
  ['whole', whole],
  ['streamed', streamed],
] as const;

describe.each(ways)('model routers for the openai package, %s', (_way, ask) => {
  it.each([
    ['router/auto', CODE, 'coder', 'auto', 2],
    ['router/auto', MATH, 'thinker', 'auto', 2],
    ['router/auto-beta', MATH, 'thinker', 'auto', 2],
    ['router/pareto-code', CODE, 'coder', 'pareto', 2],
    ['router/free', CODE, 'gift', 'free', 0],
  ] as const)('%s answers %j with %s', async (model, content, expected, strategy, usd) => {
    await using scene = await open();
    const plugins = model.startsWith('router/auto') ? [without(model.replace('router/', ''), '*/master')] : [];
    const heard = await ask(scene, model, { messages: [{ role: 'user', content }], plugins });
    expect(heard).toMatchObject({ text: `I am ${expected}.`, model: `acme/${expected}` });
    expect(heard.metadata).toMatchObject({ requested: model, strategy, attempt: 1 });
    expect(heard.usage).toMatchObject({ ...USAGE, cost: expect.closeTo((120 * usd) / 1e6, 12) as number });
    expect(scene.asked()).toEqual([expected]);
  });

  it('tell the task and the ranking in the pipeline', async () => {
    await using scene = await open();
    const plugins = [{ id: 'auto-router', allowed_models: ['acme/*'], excluded_models: ['*/gift', '*/master'] }];
    const auto = await ask(scene, 'router/auto', { plugins });
    expect(auto.metadata.pipeline).toMatchObject([
      {
        type: 'router',
        name: 'auto-router',
        data: {
          task_type: 'code:generation',
          ranking: 'scores',
          models: ['acme/coder', 'acme/average', 'acme/thinker'],
        },
      },
    ]);
    const pareto = await ask(scene, 'router/pareto-code', { plugins: [{ id: 'pareto-router', max_price: 3 }] });
    expect(pareto.metadata.pipeline).toMatchObject([
      { type: 'router', name: 'pareto-router', data: { max_price: 3, ranking: 'scores' } },
    ]);
    const free = await ask(scene, 'router/free');
    expect(free.metadata.pipeline ?? []).toEqual([]);
  });

  it('go on with the next model when the first one fails', async () => {
    await using scene = await open({ coder: failWith(503) });
    const plugins = [without('auto', '*/master')];
    const heard = await ask(scene, 'router/auto', { plugins });
    expect(heard).toMatchObject({ model: 'acme/average', metadata: { strategy: 'auto', attempt: 2 } });
    expect(await ask(scene, 'router/pareto-code')).toMatchObject({
      model: 'acme/master',
      metadata: { strategy: 'pareto', attempt: 2 },
    });
  });

  it('keep a session with its model', async () => {
    await using scene = await open();
    const math = [{ role: 'user', content: MATH }];
    const plugins = [without('auto', '*/master')];
    expect((await ask(scene, 'router/auto', { plugins, session_id: 'one' })).model).toBe('acme/coder');
    const kept = await ask(scene, 'router/auto', { plugins, session_id: 'one', messages: math });
    expect(kept.model).toBe('acme/coder');
    expect(kept.metadata.pipeline).toMatchObject([{ data: { task_type: 'math', first_by: 'session' } }]);
    expect((await ask(scene, 'router/auto', { plugins, session_id: 'two', messages: math })).model).toBe(
      'acme/thinker',
    );
  });

  it('keep to the model of the latest answer with pin_model', async () => {
    await using scene = await open();
    const first = await ask(scene, 'router/auto', { plugins: [without('auto', '*/master')] });
    const messages = [
      { role: 'user', content: CODE },
      { role: 'assistant', content: first.text, model: first.model },
      { role: 'user', content: MATH },
    ];
    const pinned = await ask(scene, 'router/auto', { messages, plugins: [{ id: 'auto-router', pin_model: true }] });
    expect(pinned.model).toBe('acme/coder');
    expect(pinned.metadata.pipeline).toMatchObject([{ data: { task_type: 'math', first_by: 'pin_model' } }]);
  });
});

describe('what model routers are asked', () => {
  it.each([
    ['router/auto', { id: 'auto-router', cost_tier: 'cheap' }, 'plugins[0].cost_tier'],
    ['router/auto', { id: 'auto-router', allowed_models: [7] }, 'plugins[0].allowed_models[0]'],
    ['router/auto-beta', { id: 'auto-beta-router', pin_model: true }, 'plugins[0]'],
    ['router/pareto-code', { id: 'pareto-router', min_coding_score: 2 }, 'plugins[0].min_coding_score'],
    [
      'router/auto',
      { id: 'auto-router', excluded_models: Array.from({ length: 1_024 }, () => '*a'.repeat(512)) },
      'plugins[0].excluded_models',
    ],
  ])('is a 400 that says where when %s gets options that are wrong: %#', async (model, entry, path) => {
    await using scene = await open();
    const cpuMs = cpuClock();
    const error = await refusal(scene, model, { plugins: [entry] });
    expect(cpuMs()).toBeLessThan(2_000);
    expect(error).toBeInstanceOf(APIError);
    expect(error.status).toBe(400);
    expect(error.message).toContain(path);
    expect(scene.asked()).toEqual([]);
  });

  it('may be 1,024 patterns as long as the contract allows, in bounded time', async () => {
    await using scene = await open();
    const patterns = Array.from({ length: 1_024 }, (_, index) => `*${'a*'.repeat(29)}${index}`.slice(0, 64));
    const cpuMs = cpuClock();
    const plugins = [
      { id: 'auto-router', allowed_models: ['acme/*', ...patterns.slice(1)], excluded_models: patterns },
    ];
    expect((await whole(scene, 'router/auto', { plugins })).model).toBe('acme/gift');
    expect(cpuMs()).toBeLessThan(2_000);
  });

  it('ends in a 404 where nothing is left, whatever the other router was told', async () => {
    await using scene = await open();
    const nothing = { id: 'auto-router', excluded_models: ['*'] };
    expect(await refusal(scene, 'router/auto', { plugins: [nothing] })).toMatchObject({ status: 404 });
    const cheap = { id: 'pareto-router', max_price: 0 };
    expect((await whole(scene, 'router/pareto-code', { plugins: [cheap, nothing] })).model).toBe('acme/gift');
    expect((await whole(scene, 'router/auto-beta', { plugins: [nothing] })).model).toBe('acme/gift');
  });

  it('can be found in the list of models', async () => {
    await using scene = await open();
    const ids = (await scene.client.models.list()).data.map(({ id }) => id);
    expect(ids).toEqual(expect.arrayContaining(['router/auto', 'router/auto-beta', 'router/pareto-code']));
  });
});
