import {
  type ChatRequest,
  type Router,
  type RouterError,
  createRouter,
  defaultPlugins,
  paretoRouter,
  simulated,
} from 'signalbox';
import { fakeEnvironment } from 'signalbox/testing';
import { describe, expect, it } from 'vitest';
import { type Offered, ranked, routerStage, routingBench } from '../../support/model-routers.ts';
import { saidBothWays } from '../../support/plugins.ts';

function offered(coding: number | undefined, usd: number | undefined): Offered {
  return { ...(usd === undefined ? {} : { usd }), ...(coding === undefined ? {} : { info: { scores: { coding } } }) };
}

/** Four models in the high tier, three in each of the others; `h2` is both dearer and worse than `h1`. */
const MODELS: Readonly<Record<string, Offered>> = {
  'acme/h3': offered(0.95, 30),
  'acme/h2': offered(0.88, 12),
  'acme/h1': offered(0.9, 10),
  'acme/h4': offered(0.92, 20),
  'acme/m1': offered(0.6, 3),
  'acme/m2': offered(0.64, 5),
  'acme/m3': offered(0.55, 6),
  'acme/l1': offered(0.2, 1),
  'acme/l2': offered(0.15, 1.5),
  'acme/l3': offered(0.1, 1.8),
  'acme/untested': offered(undefined, 2),
};

function ask(entry?: Record<string, unknown>, more: Partial<ChatRequest> = {}): ChatRequest {
  const plugins = entry === undefined ? {} : { plugins: [{ id: 'pareto-router', ...entry }] };
  return {
    model: 'router/pareto-code',
    messages: [{ role: 'user', content: 'Sort a list in C' }],
    ...plugins,
    ...more,
  };
}

async function chosen(models: Readonly<Record<string, Offered>>, request: ChatRequest): Promise<readonly string[]> {
  const { steps, plugins } = await routingBench(models).router.explain(request);
  return ranked(steps, plugins, 'outside_tier');
}

async function refused(
  models: Readonly<Record<string, Offered>>,
  request: ChatRequest,
  config?: Parameters<typeof routingBench>[1],
): Promise<RouterError> {
  return routingBench(models, config)
    .router.chat(request, { metadata: true })
    .then(
      () => expect.unreachable('is refused'),
      (error: unknown) => error as RouterError,
    );
}

describe('models of router/pareto-code that do not answer', () => {
  it('are followed by the nearest tier where theirs has no more, and never by what costs more than max_price', async () => {
    const pool = { 'acme/a': offered(0.9, 9), 'acme/b': offered(0.5, 3), 'acme/c': offered(0.1, 1) };
    const order = async (entry?: Record<string, unknown>): Promise<readonly string[]> => {
      const { steps } = await routingBench(pool).router.explain(ask(entry));
      return steps.map(({ model }) => model.replace('acme/', ''));
    };
    expect(await order()).toEqual(['a', 'b', 'c']);
    expect(await order({ min_coding_score: 0 })).toEqual(['c', 'b', 'a']);
    expect(await order({ max_price: 4 })).toEqual(['b', 'c']);
    const { router } = routingBench(pool, { failures: [{ kind: 'server' }, { kind: 'server' }] });
    expect((await router.chat(ask())).model).toBe('acme/c');
  });
});

describe('router/pareto-code', () => {
  it('takes the best quality per cost of the highest tier, with two more of that tier behind it', async () => {
    expect(await chosen(MODELS, ask())).toEqual(['h1', 'h4', 'h3']);
  });

  it.each([
    [1, ['h1', 'h4', 'h3']],
    [0.66, ['h1', 'h4', 'h3']],
    [0.65, ['m1', 'm2', 'm3']],
    [0.33, ['m1', 'm2', 'm3']],
    [0.32, ['l1', 'l2', 'l3']],
    [0, ['l1', 'l2', 'l3']],
  ])('takes the tier of min_coding_score %f', async (min_coding_score, expected) => {
    expect(await chosen(MODELS, ask({ min_coding_score }))).toEqual(expected);
  });

  it('says what it did and why, whole and streamed', async () => {
    const { router } = routingBench(MODELS);
    for (const said of await saidBothWays(router, ask({ min_coding_score: 0.4 }))) {
      expect(said.model).toBe('acme/m1');
      expect(said.metadata).toMatchObject({ requested: 'router/pareto-code', strategy: 'pareto', attempt: 1 });
      expect(routerStage(said.metadata?.pipeline)).toEqual({
        type: 'router',
        name: 'pareto-router',
        summary: 'acme/m1 in the medium tier',
        data: {
          tier: 'medium',
          requested_tier: 'medium',
          price_source: 'prompt',
          ranking: 'scores',
          first_by: 'rank',
          candidates: 10,
          models: ['acme/m1', 'acme/m2', 'acme/m3'],
        },
      });
      // The router costs nothing: what is paid is the answer of the model, at 3 USD for both directions.
      const { prompt_tokens: read = 0, completion_tokens: written = 0, cost } = said.usage ?? {};
      expect(cost).toBeCloseTo(((read + written) * 3) / 1e6, 12);
    }
  });

  it('goes to the fallbacks of the tier when the first one fails', async () => {
    const { router } = routingBench(MODELS, { failures: [{ kind: 'server' }, { kind: 'rate_limited' }] });
    const answer = await router.chat(ask(), { metadata: true });
    expect(answer.model).toBe('acme/h3');
    expect(answer.router_metadata).toMatchObject({ strategy: 'pareto', attempt: 3 });
  });

  it('fails when the whole tier does, without going to others', async () => {
    const failures = Array.from({ length: 20 }, () => ({ kind: 'server' }) as const);
    const { router } = routingBench(MODELS, { failures, fallback: { triesPerEndpoint: 1 } });
    const error: unknown = await router.chat(ask(), { metadata: true }).catch((thrown: unknown) => thrown);
    expect((error as RouterError).status).toBeGreaterThanOrEqual(500);
    const tried = (error as RouterError).routerMetadata?.attempts?.map(({ model }) => model);
    expect(new Set(tried)).toEqual(new Set(['acme/h1', 'acme/h4', 'acme/h3']));
  });

  it('goes nowhere else with a request that was refused for what it says', async () => {
    const error = await refused(MODELS, ask(), { failures: [{ kind: 'invalid_request' }] });
    expect(error.status).toBe(400);
    expect(error.routerMetadata?.endpoints.available.map(({ model }) => model)).toContain('acme/h4');
    expect(error.routerMetadata?.attempts).toHaveLength(1);
  });

  it('takes a neighbour when a tier is empty, and says so', async () => {
    const { router } = routingBench({ 'acme/h1': offered(0.9, 10), 'acme/l1': offered(0.2, 1) });
    const answer = await router.chat(ask({ min_coding_score: 0.5 }), { metadata: true });
    expect(answer.model).toBe('acme/h1');
    expect(routerStage(answer.router_metadata?.pipeline)).toMatchObject({
      summary: 'acme/h1 in the high tier (the medium tier is empty)',
      data: { tier: 'high', requested_tier: 'medium' },
    });
    expect(await chosen({ 'acme/l1': offered(0.2, 1) }, ask())).toEqual(['l1']);
  });

  it('takes tiers by size where no model has a score, and says so', async () => {
    const models = Object.fromEntries(
      Array.from({ length: 9 }, (_, index) => [`acme/p${index}`, offered(undefined, index + 1)]),
    );
    expect(await chosen(models, ask())).toEqual(['p8', 'p7', 'p6']);
    expect(await chosen(models, ask({ min_coding_score: 0.5 }))).toEqual(['p5', 'p4', 'p3']);
    expect(await chosen(models, ask({ min_coding_score: 0 }))).toEqual(['p2', 'p1', 'p0']);
    const { router, warnings } = routingBench(models);
    const answer = await router.chat(ask(), { metadata: true });
    expect(routerStage(answer.router_metadata?.pipeline)).toMatchObject({
      summary: expect.stringContaining(
        'tiers by context length, age and price, because no candidate has a coding score',
      ) as string,
      data: {
        ranking: 'size',
        warnings: [expect.stringContaining('ranks models by context length, age and price only') as string],
      },
    });
    expect(warnings).toMatchObject([{ code: 'plugin_notice' }]);
    expect(await chosen({ 'acme/x': offered(undefined, undefined) }, ask())).toEqual(['x']);
  });

  it('counts tiers among the pool: the best is high whatever its score, and the cheapest is not taken for it', async () => {
    const pool = {
      'acme/a': offered(0.31, 5),
      'acme/b': offered(0.12, 0.1),
      'acme/c': offered(0.3, 4),
      'acme/d': offered(0.02, 0.05),
    };
    expect(await chosen(pool, ask())).toEqual(['c', 'a']);
    const { 'acme/c': _, ...rest } = pool;
    expect(await chosen(rest, ask())).toEqual(['a']);
    expect(await chosen({ ...rest, 'acme/e': offered(0.31, 9) }, ask())).toEqual(['a', 'e']);
  });

  it('understands the original name', async () => {
    expect((await chosen(MODELS, ask(undefined, { model: 'openrouter/pareto-code' })))[0]).toBe('h1');
  });

  it('leaves out what the request cannot use', async () => {
    const models: Record<string, Offered> = { ...MODELS, 'acme/h1': { ...MODELS['acme/h1'], contextLength: 5_000 } };
    const long = { messages: [{ role: 'user' as const, content: 'word '.repeat(30_000) }] };
    expect((await chosen(models, ask(undefined, long)))[0]).toBe('h4');
    expect(await chosen(MODELS, ask(undefined, { provider: { max_price: { prompt: 11 } } }))).toEqual([
      'h1',
      'm1',
      'm2',
    ]);
  });
});

describe('max_price of pareto-router', () => {
  it.each([
    [30, ['h3', 'h4', 'h1']],
    [19, ['h1', 'm2', 'm1']],
    [4, ['m1', 'l1', 'l2']],
    [1, ['l1']],
  ])('of %f gives the best for the money, then cheaper ones on the frontier, then others', async (cap, expected) => {
    expect(await chosen(MODELS, ask({ max_price: cap }))).toEqual(expected);
  });

  it('puts models that are beaten behind those on the frontier', async () => {
    const models = { 'acme/a': offered(0.9, 2), 'acme/b': offered(0.8, 3), 'acme/c': offered(0.2, 1) };
    expect(await chosen(models, ask({ max_price: 5 }))).toEqual(['a', 'c', 'b']);
  });

  it('makes min_coding_score mean nothing', async () => {
    expect((await chosen(MODELS, ask({ max_price: 4, min_coding_score: 1 })))[0]).toBe('m1');
  });

  it('below every price is a 404 that calls nobody', async () => {
    const error = await refused(MODELS, ask({ max_price: 0.5 }));
    expect(error).toMatchObject({ status: 404, errorType: 'not_found' });
    expect(error.routerMetadata).toMatchObject({ requested: 'router/pareto-code', attempt: 0 });
    expect(routerStage(error.routerMetadata?.pipeline)).toMatchObject({
      summary: 'no model at or under 0.5 USD per million input tokens',
      data: { max_price: 0.5, models: [] },
    });
    const { rejected } = await routingBench(MODELS).router.explain(ask({ max_price: 4 }));
    const why = new Map(rejected.map(({ model, detail }) => [model, detail]));
    expect(why.get('acme/h1')).toBe('pareto-router: above max_price, or without a coding score');
  });

  it('compares with the price that price_source names', async () => {
    const environment = fakeEnvironment();
    const provider = (slug: string, usd: number, coding: number) =>
      simulated({
        slug,
        environment,
        models: { 'acme/shared': { price: { prompt: usd, completion: usd }, scores: { coding } } },
      });
    const router: Router = createRouter({
      environment,
      providers: [provider('cheap', 1, 0.8), provider('dear', 3, 0.8)],
    });
    // The average is 1.2 USD.
    await expect(router.explain(ask({ max_price: 1.1 }))).resolves.toMatchObject({ steps: [{}, {}] });
    const averaged = await router.explain(ask({ max_price: 1.1, price_source: 'weighted_avg' }));
    expect(averaged.steps).toEqual([]);
    expect((await router.explain(ask({ max_price: 1.3, price_source: 'weighted_avg' }))).steps).toHaveLength(2);
  });
});

describe('router/pareto-code:nitro', () => {
  it('takes the fastest of the tier instead of the best value', async () => {
    const environment = fakeEnvironment();
    const provider = (slug: string, usd: number, tokensPerSecond: number) =>
      simulated({
        slug,
        environment,
        tokensPerSecond,
        firstTokenMs: 10,
        models: { [`acme/${slug}`]: { price: { prompt: usd, completion: usd }, scores: { coding: 0.9 } } },
      });
    const router: Router = createRouter({
      environment,
      providers: [provider('cheap', 1, 20), provider('fast', 5, 200), provider('middle', 3, 60)],
    });
    const content = 'Sort a list in C';
    for (const model of ['acme/cheap', 'acme/fast', 'acme/middle']) {
      const answer = router.chat({ model, messages: [{ role: 'user', content }], max_completion_tokens: 50 });
      await environment.advance(10_000);
      await answer;
    }
    const models = async (model: string) =>
      (await router.explain(ask(undefined, { model }))).steps.map((one) => one.model);
    expect(await models('router/pareto-code')).toEqual(['acme/cheap', 'acme/middle', 'acme/fast']);
    expect(await models('router/pareto-code:nitro')).toEqual(['acme/fast', 'acme/middle', 'acme/cheap']);
    const { plugins } = await router.explain(ask(undefined, { model: 'router/pareto-code:nitro' }));
    expect(plugins.find(({ id }) => id === 'pareto-router')?.stages).toMatchObject([
      { data: { first_by: 'throughput' } },
    ]);
  });

  it('stays with the prices where nobody measured a speed', async () => {
    expect(await chosen(MODELS, ask(undefined, { model: 'router/pareto-code:nitro' }))).toEqual(['h1', 'h4', 'h3']);
  });
});

describe('a session with router/pareto-code', () => {
  const talk = (entry?: Record<string, unknown>) => ask(entry, { session_id: 'talk' });

  it('keeps its model while that is in the tier', async () => {
    const { router } = routingBench(MODELS, { failures: [{ kind: 'server' }] });
    expect((await router.chat(talk())).model).toBe('acme/h4');
    const second = await router.chat(talk(), { metadata: true });
    expect(second.model).toBe('acme/h4');
    expect(routerStage(second.router_metadata?.pipeline)).toMatchObject({
      summary: 'acme/h4 in the high tier; the session keeps its model',
      data: { first_by: 'session' },
    });
    expect((await router.chat(ask())).model).toBe('acme/h1');
    expect((await router.chat(talk({ min_coding_score: 0.5 }))).model).toBe('acme/m1');
  });
});

describe('options of pareto-router', () => {
  it.each([
    [{ max_price: -1 }, 'plugins[0].max_price'],
    [{ max_price: '5' }, 'plugins[0].max_price'],
    [{ min_coding_score: 1.01 }, 'plugins[0].min_coding_score'],
    [{ min_coding_score: -0.1 }, 'plugins[0].min_coding_score'],
    [{ price_source: 'completion' }, 'plugins[0].price_source'],
    [{ maximum: 5 }, 'plugins[0]'],
  ])('are refused where they are wrong: %j', async (entry, path) => {
    const error = await refused(MODELS, ask(entry));
    expect(error).toMatchObject({ status: 400, errorType: 'invalid_request' });
    expect(error.message).toContain(path);
  });

  it('may be null, and mean nothing for another model', async () => {
    expect((await chosen(MODELS, ask({ max_price: null, min_coding_score: null, price_source: null })))[0]).toBe('h1');
    expect(await chosen(MODELS, ask({ max_price: 0 }, { model: 'acme/h3' }))).toEqual(['h3']);
    const other = { plugins: [{ id: 'auto-router', excluded_models: ['*'] }] };
    expect((await chosen(MODELS, ask(undefined, other)))[0]).toBe('h1');
  });

  it('include a score of your own, which may fail', async () => {
    const own = (codingScore: () => number) => ({ plugins: defaultPlugins([paretoRouter({ codingScore })]) });
    const same = await routingBench(
      MODELS,
      own(() => 0.9),
    ).router.explain(ask());
    expect(same.steps.map(({ model }) => model)).toEqual(['acme/l1', 'acme/l2', 'acme/l3']);
    const broken = () => {
      throw new Error('secret prompt');
    };
    const answer = await routingBench(MODELS, own(broken)).router.chat(ask(), { metadata: true });
    const stage = routerStage(answer.router_metadata?.pipeline);
    expect(stage.data).toMatchObject({ ranking: 'size', degraded: ['ranking'] });
    expect(JSON.stringify(stage)).not.toContain('secret');
  });
});
