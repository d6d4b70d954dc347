import * as fc from 'fast-check';
import {
  type AutoRouterOptions,
  type ChatRequest,
  type RouterError,
  type StateStore,
  autoBetaRouter,
  autoRouter,
  defaultPlugins,
  memoryStore,
} from 'signalbox';
import { describe, expect, it } from 'vitest';
import { type Offered, ranked, routerStage, routingBench } from '../../support/model-routers.ts';
import { saidBothWays } from '../../support/plugins.ts';
import { inProportion, runs } from '../../support/properties.ts';

const CODE = 'Write a Python function that sorts a list of numbers';
const MATH = 'Solve the equation 3x^2 - 12x + 9 = 0';

/** Ten models, each a dollar dearer than the one before. */
const LADDER: Readonly<Record<string, Offered>> = Object.fromEntries(
  Array.from({ length: 10 }, (_, index) => [`acme/m${index}`, { usd: index + 1 }]),
);

/** Models of one price, so that only scores decide. */
const SCORED: Readonly<Record<string, Offered>> = {
  'acme/coder': { usd: 1, info: { scores: { coding: 0.9, reasoning: 0.2 } } },
  'acme/thinker': { usd: 1, info: { scores: { coding: 0.5, math: 0.95 } } },
  'acme/average': { usd: 1, info: { scores: { general: 0.6 } } },
  'acme/unknown': { usd: 1 },
};

/** The best model at any cost. */
const BEST = { cost_quality_tradeoff: 0 };

function ask(content: string, entry?: Record<string, unknown>, more: Partial<ChatRequest> = {}): ChatRequest {
  const plugins = entry === undefined ? {} : { plugins: [{ id: 'auto-router', ...entry }] };
  return { model: 'router/auto', messages: [{ role: 'user', content }], ...plugins, ...more };
}

/** The first four models in the order in which they would be tried, without those that are only there when no other answers. */
async function chosen(models: Readonly<Record<string, Offered>>, request: ChatRequest, options?: AutoRouterOptions) {
  const plugins = options === undefined ? defaultPlugins() : [autoRouter(options)];
  const { steps, plugins: taken } = await routingBench(models, { plugins }).router.explain(request);
  return ranked(steps, taken, 'outside_cost_band').slice(0, 4);
}

async function refused(models: Readonly<Record<string, Offered>>, request: ChatRequest): Promise<RouterError> {
  return routingBench(models)
    .router.chat(request, { metadata: true })
    .then(
      () => expect.unreachable('is refused'),
      (error: unknown) => error as RouterError,
    );
}

describe('router/auto', () => {
  it('takes the model with the best score for the task, and keeps the others as fallbacks', async () => {
    expect(await chosen(SCORED, ask(CODE))).toEqual(['coder', 'average', 'thinker', 'unknown']);
    expect(await chosen(SCORED, ask(MATH))).toEqual(['thinker', 'average', 'coder', 'unknown']);
  });

  it('answers with the chosen model and says why, whole and streamed', async () => {
    const { router } = routingBench(SCORED);
    for (const said of await saidBothWays(router, ask(CODE))) {
      expect(said.model).toBe('acme/coder');
      expect(said.metadata).toMatchObject({ requested: 'router/auto', strategy: 'auto', attempt: 1 });
      expect(said.metadata?.endpoints.available.map(({ model }) => model)).toEqual([
        'acme/coder',
        'acme/average',
        'acme/thinker',
        'acme/unknown',
      ]);
      expect(routerStage(said.metadata?.pipeline)).toEqual({
        type: 'router',
        name: 'auto-router',
        summary: 'code:generation: acme/coder of 4, 4 in the cost band, ranked by scores',
        data: {
          task_type: 'code:generation',
          confidence: expect.any(Number) as number,
          tasks: expect.objectContaining({ 'code:generation': expect.any(Number) as number }) as object,
          ranking: 'scores',
          ranked_for: 'value',
          first_by: 'rank',
          cost_band: [0, 18],
          candidates: 4,
          in_cost_band: 4,
          models: ['acme/coder', 'acme/average', 'acme/thinker', 'acme/unknown'],
          best_overall: 'acme/coder',
        },
      });
    }
  });

  it('goes on with the next model when one fails, and still says auto', async () => {
    const { router } = routingBench(SCORED, { failures: [{ kind: 'server' }] });
    const answer = await router.chat(ask(CODE), { metadata: true });
    expect(answer.model).toBe('acme/average');
    expect(answer.router_metadata).toMatchObject({ strategy: 'auto', attempt: 2 });
  });

  it('is a fallback like any other behind a model that fails', async () => {
    const { router } = routingBench(SCORED, { failures: [{ kind: 'server' }] });
    const request = ask(CODE, undefined, { model: 'acme/unknown', models: ['router/auto'] });
    const answer = await router.chat(request, { metadata: true });
    expect(answer.model).toBe('acme/coder');
    expect(answer.router_metadata?.strategy).toBe('fallback');
  });

  it('understands the original name and the endings of slugs', async () => {
    expect((await chosen(SCORED, ask(CODE, undefined, { model: 'openrouter/auto' })))[0]).toBe('coder');
    const models: Record<string, Offered> = { 'acme/coder': { usd: 1 } };
    const { router } = routingBench(models);
    const { steps } = await router.explain(ask(CODE, undefined, { model: 'router/auto:floor' }));
    expect(steps.map(({ why }) => why)).toEqual(['sort: price']);
  });

  it('explains what it would do and what it left out', async () => {
    const { router } = routingBench({ ...LADDER, 'acme/deaf': { usd: 1, parameters: ['temperature'] } });
    const tools = [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }] as const;
    const explained = await router.explain(
      ask(CODE, { excluded_models: ['acme/m1'], cost_tier: 'low' }, { tools: [...tools] }),
    );
    expect(explained.plugins.find(({ id }) => id === 'auto-router')?.stages).toMatchObject([
      { type: 'router', data: { task_type: 'code:generation', ranking: 'size' } },
    ]);
    // The band first; then what costs least of the rest, as far as there are attempts.
    expect(explained.steps.map(({ model }) => model.replace('acme/', '')).join(' ')).toBe('m2 m0 m3 m4 m5 m6 m7 m8');
    expect(explained.plugins.find(({ id }) => id === 'auto-router')?.stages[0]?.data?.['outside_cost_band']).toEqual(
      [3, 4, 5, 6, 7, 8].map((index) => `acme/m${index}`),
    );
    const why = new Map(explained.rejected.map(({ model, reason, detail }) => [model, `${reason}, ${detail}`]));
    expect(why.get('acme/m1')).toBe('plugin, auto-router: in excluded_models');
    expect(why.get('acme/deaf')).toBe('tools, undefined');
    expect(why.get('acme/m9')).toBe('plugin, auto-router: outside of the cost band, and below the first 8');
  });
});

/** Any setting of costs, and none. */
const anyCost = fc.oneof(
  fc.constant<Record<string, unknown>>({}),
  fc.record({ cost_tier: fc.constantFrom('low', 'medium', 'high', 'xhigh', 'max') }),
  fc.record({ cost_quality_tradeoff: fc.integer({ min: 0, max: 10 }) }),
);

describe('models of router/auto that do not answer', () => {
  it('are followed by those of the band and then by the nearest others: whoever answers is asked', async () => {
    const pools = fc.array(
      fc.record({
        usd: fc.option(fc.integer({ min: 1, max: 9 }), { nil: undefined }),
        score: fc.option(fc.double({ min: 0, max: 1, noNaN: true }), { nil: undefined }),
        answers: fc.integer({ max: 3, min: 0 }).map((one) => one === 0),
      }),
      { minLength: 1, maxLength: 8 },
    );
    let last = 0;
    await fc.assert(
      fc.asyncProperty(pools, anyCost, async (pool, cost) => {
        const models = Object.fromEntries(
          pool.map(({ usd, score }, index) => [
            `acme/m${index}`,
            {
              ...(usd === undefined ? {} : { usd }),
              ...(score === undefined ? {} : { info: { scores: { general: score } } }),
            },
          ]),
        );
        const request = ask(CODE, cost);
        const { steps, plugins } = await routingBench(models).router.explain(request);
        // All of them are in the plan, and those of the band come first.
        expect(steps).toHaveLength(pool.length);
        const outside = plugins.flatMap(({ stages }) =>
          stages.flatMap(({ data }) => data?.['outside_cost_band'] ?? []),
        );
        const order = steps.map(({ model }) => model);
        expect(order.slice(order.length - outside.length)).toEqual(outside);
        const answers = order.map((model) => pool[Number(model.slice('acme/m'.length))]?.answers === true);
        const first = answers.indexOf(true);
        const failures = (first < 0 ? answers : answers.slice(0, first)).map(() => ({ kind: 'server' as const }));
        const { router } = routingBench(models, { failures });
        const model = await router.chat(request).then(
          (answer) => answer.model,
          () => undefined,
        );
        expect(model).toBe(first < 0 ? undefined : order[first]);
        if (first >= order.length - outside.length) last += 1;
      }),
      runs(200),
    );
    expect(last).toBeGreaterThan(inProportion(20));
  });

  it('cost less than the band before they cost more, the nearest first', async () => {
    const { router } = routingBench(LADDER);
    const { steps } = await router.explain(ask(CODE, { cost_tier: 'high' }));
    expect(steps.map(({ model }) => model.replace('acme/', ''))).toEqual([
      'm5',
      'm4',
      'm3',
      'm2',
      'm1',
      'm0',
      'm6',
      'm7',
    ]);
  });

  it('come behind the other models of the request, and are never sorted before the band', async () => {
    const order = async (more: Partial<ChatRequest>): Promise<string> => {
      const { steps } = await routingBench(LADDER).router.explain(ask(CODE, { cost_tier: 'high' }, more));
      return steps.map(({ model }) => model.replace('acme/', '')).join(' ');
    };
    expect(await order({ models: ['acme/m9', 'acme/m0'] })).toBe('m5 m4 m9 m0 m3 m2 m1 m6 m7');
    expect(await order({ provider: { sort: { by: 'price', partition: 'none' } } })).toBe('m4 m5 m0 m1 m2 m3 m6 m7');
  });

  it('are as many as maxModels leaves room for', async () => {
    const { steps } = await routingBench(LADDER, { plugins: [autoRouter({ maxModels: 1 })] }).router.explain(ask(CODE));
    expect(steps).toHaveLength(1);
  });
});

describe('the cost of router/auto', () => {
  it.each([
    ['low', ['m1', 'm0']],
    ['medium', ['m3', 'm2']],
    ['high', ['m5', 'm4']],
    ['xhigh', ['m7', 'm6']],
    ['max', ['m9', 'm8']],
  ])('is within the band of cost_tier %s', async (tier, expected) => {
    expect(await chosen(LADDER, ask(CODE, { cost_tier: tier }))).toEqual(expected);
    expect(await chosen(LADDER, ask(CODE, { cost_tier: tier, cost_quality_tradeoff: 0 }))).toEqual(expected);
  });

  it.each([
    [10, ['m0']],
    [9, ['m1', 'm0']],
    [5, ['m4', 'm3', 'm2', 'm1']],
    [0, ['m9', 'm8', 'm7', 'm6']],
  ])('is below the ceiling of cost_quality_tradeoff %i', async (tradeoff, expected) => {
    expect(await chosen(LADDER, ask(CODE, { cost_quality_tradeoff: tradeoff }))).toEqual(expected);
  });

  it('does not matter with cost_quality_tradeoff 0: quality does', async () => {
    const dear: Offered = { usd: 50, info: { scores: { coding: 1 } } };
    expect(await chosen({ ...LADDER, 'acme/dear': dear }, ask(CODE, BEST))).toEqual(['dear', 'm9', 'm8', 'm7']);
    const scored = (usd: number, general: number): Offered => ({ usd, info: { scores: { general } } });
    const pool = { 'acme/tiny': scored(0.1, 0.3), 'acme/middle': scored(1, 0.7), 'acme/large': scored(10, 0.75) };
    expect(await chosen(pool, ask(CODE, BEST))).toEqual(['large', 'middle', 'tiny']);
  });

  it.each(['router/auto', 'router/auto-beta'])(
    'of %s without a cost setting is that of 9 (contract)',
    async (model) => {
      const id = `${model.replace('router/', '')}-router`;
      const offered = fc.record({
        usd: fc.option(fc.integer({ min: 0, max: 30 }), { nil: undefined }),
        general: fc.option(fc.double({ min: 0, max: 1, noNaN: true }), { nil: undefined }),
      });
      const pools = fc
        .array(offered, { minLength: 1, maxLength: 12 })
        .map((list) =>
          Object.fromEntries(
            list.map(({ usd, general }, index) => [
              `acme/m${index}`,
              { ...(usd === undefined ? {} : { usd }), info: general === undefined ? {} : { scores: { general } } },
            ]),
          ),
        );
      await fc.assert(
        fc.asyncProperty(pools, async (pool) => {
          // Without any score there is no quality to weigh against costs.
          fc.pre(Object.values(pool).some(({ info }) => info.scores !== undefined));
          const without = await chosen(pool, ask(CODE, undefined, { model }));
          const nine = { model, plugins: [{ id, cost_quality_tradeoff: 9 }] };
          expect(without).toEqual(await chosen(pool, ask(CODE, undefined, nine)));
          const first = pool[`acme/${without[0] ?? ''}`];
          const isBeaten = Object.values(pool).some(
            ({ usd, info }) =>
              (usd ?? Infinity) < (first?.usd ?? Infinity) &&
              (info.scores?.general ?? -1) > (first?.info.scores?.general ?? -1),
          );
          expect(isBeaten).toBe(false);
        }),
        runs(60),
      );
    },
  );

  it('never buys what another model beats in both, whatever a request says of costs', async () => {
    const wishes = fc.oneof(
      fc.constantFrom('low', 'medium', 'high', 'xhigh', 'max').map((cost_tier) => ({ cost_tier })),
      fc.integer({ min: 0, max: 10 }).map((cost_quality_tradeoff) => ({ cost_quality_tradeoff })),
      fc.constantFrom(0, 0.4, 0.7, 1).map((min_coding_score) => ({ min_coding_score })),
    );
    const models = fc.array(fc.tuple(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 40 })), {
      minLength: 1,
      maxLength: 15,
    });
    await fc.assert(
      fc.asyncProperty(models, wishes, async (rows, wish) => {
        const pool = Object.fromEntries(
          rows.map(([usd, score], index) => [
            `acme/m${index}`,
            { usd, info: { scores: { general: score / 40, coding: score / 40 } } },
          ]),
        );
        const isPareto = 'min_coding_score' in wish;
        const plugins = [{ id: isPareto ? 'pareto-router' : 'auto-router', ...wish }];
        const model = isPareto ? 'router/pareto-code' : 'router/auto';
        const [first = ''] = await chosen(pool, ask(CODE, undefined, { model, plugins }));
        const [usd = 0, score = 0] = rows[Number(first.slice(1))] ?? [];
        const beating = rows.filter(([cost, own]) => cost <= usd && own >= score && (cost < usd || own > score));
        expect(beating).toEqual([]);
      }),
      runs(100),
    );
  });

  it('is a default of the operator: the best of the dearest fifth', async () => {
    const { router } = routingBench(LADDER, {
      pluginDefaults: [{ id: 'auto-router', options: { cost_tier: 'max' } }],
    });
    expect((await router.chat(ask(CODE))).model).toBe('acme/m9');
    // A request's own entry is in the place of the default.
    expect((await router.chat(ask(CODE, { cost_quality_tradeoff: 9 }))).model).toBe('acme/m1');
  });

  it('is weighed against quality within the band: never the cheapest where something far better is there', async () => {
    const scored = (usd: number, general: number): Offered => ({ usd, info: { scores: { general } } });
    const pool = {
      'acme/poor': scored(1, 0.3),
      'acme/value': scored(2, 0.82),
      'acme/fine': scored(3, 0.9),
      'acme/best': scored(4, 0.91),
    };
    expect(await chosen(pool, ask(CODE, { cost_quality_tradeoff: 1 }))).toEqual(['fine', 'value', 'poor']);
    expect((await chosen(pool, ask(CODE, { cost_quality_tradeoff: 4 })))[0]).toBe('value');
    const { router } = routingBench(pool);
    const answer = await router.chat(ask(CODE, { cost_quality_tradeoff: 4 }), { metadata: true });
    expect(routerStage(answer.router_metadata?.pipeline).data).toMatchObject({
      ranked_for: 'value',
      cost_band: [0, 58],
    });
  });

  it('may be anything where no band has a model, or no model a price', async () => {
    const two = { 'acme/cheap': { usd: 1 }, 'acme/dear': { usd: 9 } };
    expect(await chosen(two, ask(CODE, { cost_tier: 'low' }))).toEqual(['cheap']);
    expect(await chosen(two, ask(CODE, { cost_tier: 'max' }))).toEqual(['dear']);
    expect(await chosen({ 'acme/a': {}, 'acme/b': {} }, ask(CODE, { cost_tier: 'max' }))).toEqual(['a', 'b']);
    expect(await chosen({ ...two, 'acme/a': {} }, ask(CODE, { cost_tier: 'low' }))).toEqual(['cheap']);
    expect(await chosen({ ...two, 'acme/a': {} }, ask(CODE, BEST))).toEqual(['dear', 'cheap', 'a']);
  });

  it('is counted among the models that the request can use and its caller allows', async () => {
    expect(await chosen(LADDER, ask(CODE, { allowed_models: ['acme/m7', 'acme/m8'], cost_tier: 'low' }))).toEqual([
      'm7',
    ]);
    const image = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } } as const;
    const models = Object.fromEntries(
      Object.entries(LADDER).map(([id, offered], index) => [
        id,
        { ...offered, inputModalities: index < 5 ? (['text'] as const) : (['text', 'image'] as const) },
      ]),
    );
    const request = ask('', { cost_tier: 'low' }, { messages: [{ role: 'user', content: [image] }] });
    expect(await chosen(models, request)).toEqual(['m5']);
  });

  it('never depends on the order of the models', async () => {
    const prices = fc.uniqueArray(fc.integer({ min: 1, max: 99 }), { minLength: 1, maxLength: 8 });
    const entry = fc.record({ cost_tier: fc.constantFrom('low', 'medium', 'high', 'xhigh', 'max', undefined) });
    await fc.assert(
      fc.asyncProperty(prices, entry, async (list, { cost_tier }) => {
        const models = list.map((usd) => [`acme/p${usd}`, { usd }] as const);
        const request = ask(CODE, cost_tier === undefined ? {} : { cost_tier });
        const found = await chosen(Object.fromEntries(models), request);
        expect(await chosen(Object.fromEntries(models.toReversed()), request)).toEqual(found);
        expect(found.length).toBeGreaterThan(0);
      }),
      runs(60),
    );
  });
});

describe('router/auto without any score', () => {
  it('takes the dearest at any cost, and says that it goes by price only', async () => {
    const { router, warnings } = routingBench(LADDER);
    const answer = await router.chat(ask(CODE, BEST), { metadata: true });
    expect(answer.model).toBe('acme/m9');
    expect(routerStage(answer.router_metadata?.pipeline)).toMatchObject({
      summary: expect.stringContaining(
        'ranked by context length, age and price only, because no candidate has a score',
      ) as string,
      data: {
        ranking: 'size',
        warnings: [expect.stringContaining('ranks models by context length, age and price only') as string],
      },
    });
    await router.chat(ask(MATH, BEST));
    // The same words are told once a minute.
    expect(warnings).toEqual([
      {
        code: 'plugin_notice',
        message: expect.stringMatching(
          /^The plugin "auto-router" ranks models by context length, age and price only.*defaultModels/,
        ) as string,
      },
    ]);
  });

  it('keeps to what the request says of costs, and still says so', async () => {
    const { router, warnings } = routingBench(LADDER);
    expect((await router.chat(ask(CODE))).model).toBe('acme/m9');
    expect((await router.chat(ask(CODE, { cost_tier: 'low' }))).model).toBe('acme/m1');
    expect((await router.chat(ask(CODE, { cost_quality_tradeoff: 10 }))).model).toBe('acme/m0');
    expect(warnings).toHaveLength(1);
  });

  it('takes the longest context, then the newest, then the dearest', async () => {
    const offered = (usd: number, contextLength?: number, created?: number): Offered => ({
      usd,
      ...(contextLength === undefined ? {} : { contextLength }),
      ...(created === undefined ? {} : { info: { created } }),
    });
    const pool = {
      'acme/short': offered(9, 8_000, 3_000),
      'acme/old': offered(5, 128_000, 1_000),
      'acme/new': offered(2, 128_000, 2_000),
      'acme/newer': offered(3, 128_000, 2_000),
      'acme/unknown': offered(20),
    };
    expect(await chosen(pool, ask(CODE))).toEqual(['newer', 'new', 'old', 'short']);
    expect(await chosen(pool, ask(CODE, { cost_tier: 'low' }))).toEqual(['new']);
    expect((await chosen(pool, ask(CODE, undefined, { model: 'router/pareto-code' })))[0]).toBe('newer');
  });

  it('counts long contexts as equal: a million tokens are no sign of strength', async () => {
    const pool = {
      'acme/long': { usd: 5, contextLength: 1_000_000, info: { created: 1_000 } },
      'acme/newest': { usd: 3, contextLength: 128_000, info: { created: 2_000 } },
      'acme/short': { usd: 3, contextLength: 127_000, info: { created: 3_000 } },
    };
    expect(await chosen(pool, ask(CODE))).toEqual(['newest', 'long', 'short']);
  });

  it('takes the declared default, and warns of nothing', async () => {
    const plugins = [autoRouter({ defaultModels: ['acme/m3', 'acme/m7'] })];
    const { router, warnings } = routingBench(LADDER, { plugins });
    const answer = await router.chat(ask(CODE, BEST), { metadata: true });
    expect(answer.model).toBe('acme/m3');
    expect(routerStage(answer.router_metadata?.pipeline).data).not.toHaveProperty('warnings');
    expect(warnings).toEqual([]);
  });
});

describe('the best model overall', () => {
  const model = (scores: Record<string, number>, scoreCounts?: Record<string, number>): Offered => ({
    usd: 1,
    info: { scores, ...(scoreCounts && { scoreCounts }) },
  });
  const all = (count: number) => ({ general: count, coding: count });
  const pair = (count: number) => ({
    'acme/star': model({ general: 0.8, coding: 0.7 }, all(count)),
    'acme/coder': model({ general: 0.6, coding: 0.76 }, all(count)),
  });

  it('is left for a model of the task only where its lead is well founded', async () => {
    expect((await chosen(pair(50), ask(CODE, BEST)))[0]).toBe('star');
    expect((await chosen(pair(5_000), ask(CODE, BEST)))[0]).toBe('coder');
    expect((await chosen(pair(5_000), ask(MATH, BEST)))[0]).toBe('star');
  });

  it('is what the counts of endpoints say, too', async () => {
    const endpoints = (count: number): Record<string, Offered> =>
      Object.fromEntries(
        Object.entries(pair(count)).map(([id, { info, ...rest }]) => [
          id,
          { ...rest, scores: info?.scores, scoreCounts: info?.scoreCounts },
        ]),
      );
    expect((await chosen(endpoints(50), ask(CODE, BEST)))[0]).toBe('star');
    expect((await chosen(endpoints(5_000), ask(CODE, BEST)))[0]).toBe('coder');
  });

  it('is left as much as the task is likely: a doubtful prompt stays with it', async () => {
    const classify =
      (coding: number): AutoRouterOptions['classify'] =>
      () => ({
        task: 'code:review',
        confidence: coding,
        probabilities: [
          { task: 'code:review', probability: coding },
          { task: 'knowledge', probability: 1 - coding },
        ],
      });
    expect((await chosen(pair(5_000), ask(CODE, BEST), { classify: classify(1) }))[0]).toBe('coder');
    expect((await chosen(pair(5_000), ask(CODE, BEST), { classify: classify(0.6) }))[0]).toBe('star');
  });
});

describe('the models of router/auto', () => {
  const models: Readonly<Record<string, Offered>> = {
    'acme/small': { usd: 1 },
    'acme/large': { usd: 1, info: { aliases: ['acme/big'] } },
    'other/model-4.5': { usd: 1 },
    'acme/small:free': { usd: 0, variant: 'free' },
    'acme/old': { usd: 1, info: { status: 'deprecated' } },
    'acme/painter': { usd: 1, outputModalities: ['image'] },
    'acme/embedder': { usd: 1, outputModalities: ['embeddings'] },
    'acme/bulk': { usd: 1, variant: 'batch' },
  };

  it.each([
    [{}, ['small', 'large', 'other/model-4.5']],
    [{ allowed_models: ['acme/*'] }, ['small', 'large', 'old']],
    [{ allowed_models: ['other/model-4-5'] }, ['other/model-4.5']],
    [{ allowed_models: ['*'], excluded_models: ['acme/*'] }, ['other/model-4.5']],
    [{ allowed_models: ['acme/small'], excluded_models: ['*/large'] }, ['small']],
    [{ excluded_models: ['*/large', 'other/*'] }, ['small']],
  ])('are those that %j allows', async (entry, expected) => {
    const found = await chosen(
      Object.fromEntries(Object.entries(models).filter(([id]) => id !== 'acme/small:free')),
      ask(CODE, entry),
    );
    expect(found).toEqual(expected);
  });

  it('include static variants only where a pattern names them', async () => {
    const offered = { 'acme/small': { usd: 1 }, 'acme/gift': { usd: 0, variant: 'free' as const } };
    expect(await chosen(offered, ask(CODE))).toEqual(['small']);
    expect(await chosen(offered, ask(CODE, { allowed_models: ['*:free'] }))).toEqual(['gift:free']);
  });

  it.each([
    [{ allowed_models: ['nobody/*'] }],
    [{ excluded_models: ['*'] }],
    [{ allowed_models: [] }],
    [{ allowed_models: ['acme/*'], excluded_models: ['*/*'] }],
  ])('may be none: %j is a 404 that calls nobody', async (entry) => {
    const error = await refused(models, ask(CODE, entry));
    expect(error).toMatchObject({
      status: 404,
      errorType: 'not_found',
      message: 'No models match your request and model restrictions',
    });
    expect(error.availability).toMatchObject({ code: 'no_endpoints', requested_models: ['router/auto'] });
    expect(error.routerMetadata).toMatchObject({ requested: 'router/auto', attempt: 0 });
    expect(routerStage(error.routerMetadata?.pipeline).data).toMatchObject({ models: [] });
  });

  it('are missed without a warning to the operator', async () => {
    const { router, warnings } = routingBench(models);
    await expect(router.chat(ask(CODE, { excluded_models: ['*'] }))).rejects.toMatchObject({ status: 404 });
    expect(warnings.filter(({ code }) => code === 'plugin_failed')).toEqual([]);
  });

  it('are told by what they cannot do when that is the only trouble', async () => {
    const image = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } } as const;
    const blind = { 'acme/blind': { usd: 1, inputModalities: ['text'] as const } };
    const request = ask('', undefined, { messages: [{ role: 'user', content: [image] }] });
    const error = await refused(blind, request);
    expect(error).toMatchObject({ status: 404, message: 'No endpoints found that support image input' });
  });

  it('leave out those whose policies or prices do not fit', async () => {
    const offered = { 'acme/a': { usd: 1 }, 'acme/b': { usd: 2, zeroDataRetention: true }, 'acme/c': { usd: 9 } };
    expect(await chosen(offered, ask(CODE, undefined, { provider: { zdr: true } }))).toEqual(['b']);
    expect(await chosen(offered, ask(CODE, undefined, { provider: { max_price: { prompt: 1 } } }))).toEqual(['a']);
  });

  it('prefer those that keep to a schema when the request has one', async () => {
    const offered: Record<string, Offered> = {
      'acme/loose': { usd: 1, parameters: ['temperature'] },
      'acme/strict': { usd: 1, parameters: ['temperature', 'response_format', 'structured_outputs'] },
    };
    const format = { type: 'json_schema', json_schema: { name: 'n', schema: { type: 'object' } } } as const;
    expect(await chosen(offered, ask(CODE, undefined, { response_format: format }))).toEqual(['strict']);
  });

  it('say what is too long when nothing shortens the prompt', async () => {
    const offered = { 'acme/short': { usd: 1, contextLength: 10_000 } };
    const error = await refused(offered, ask(`${CODE} ${'word '.repeat(40_000)}`));
    expect(error).toMatchObject({ status: 400, errorType: 'context_length_exceeded' });
    const squeezed = await routingBench(offered).router.chat(
      ask('', undefined, {
        transforms: ['middle-out'],
        messages: Array.from({ length: 60 }, (_, index) => ({
          role: index % 2 === 0 ? ('user' as const) : ('assistant' as const),
          content: `${index} ${'word '.repeat(900)}`,
        })).concat({ role: 'user', content: CODE }),
      }),
    );
    expect(squeezed.model).toBe('acme/short');
  });
});

describe('options of auto-router', () => {
  it.each([
    [{ cost_tier: 'cheap' }, 'plugins[0].cost_tier'],
    [{ cost_quality_tradeoff: 11 }, 'plugins[0].cost_quality_tradeoff'],
    [{ cost_quality_tradeoff: 1.5 }, 'plugins[0].cost_quality_tradeoff'],
    [{ pin_model: 'yes' }, 'plugins[0].pin_model'],
    [{ allowed_models: 'acme/*' }, 'plugins[0].allowed_models'],
    [{ allowed_models: [''] }, 'plugins[0].allowed_models[0]'],
    [{ allowed_models: ['a'.repeat(1_025)] }, 'plugins[0].allowed_models[0]'],
    [{ excluded_models: Array.from({ length: 1_025 }, (_, index) => `m${index}`) }, 'plugins[0].excluded_models'],
    [{ excluded_models: Array.from({ length: 1_024 }, () => 'a'.repeat(1_024)) }, 'plugins[0].excluded_models'],
    [{ allowed_model: ['x'] }, 'plugins[0]'],
  ])('are refused where they are wrong: %#', async (entry, path) => {
    const error = await refused(SCORED, ask(CODE, entry));
    expect(error).toMatchObject({ status: 400, errorType: 'invalid_request' });
    expect(error.message).toContain(path);
  });

  it('may be as large as the contract allows', async () => {
    const long = Array.from({ length: 64 }, (_, index) => `${index}`.padEnd(1_024, '*'));
    const many = Array.from({ length: 1_024 }, (_, index) => `*${'a*'.repeat(29)}${index}`);
    for (const excluded_models of [long, many]) {
      expect((await chosen(SCORED, ask(CODE, { excluded_models })))[0]).toBe('coder');
    }
  });

  it('may be null, which means not set', async () => {
    expect((await chosen(SCORED, ask(CODE, { allowed_models: null, cost_tier: null })))[0]).toBe('coder');
  });

  it('mean nothing for another model or under the id of another router', async () => {
    const entries = [
      { id: 'auto-beta-router', excluded_models: ['*'] },
      { id: 'pareto-router', max_price: 0 },
    ];
    const { router } = routingBench(SCORED);
    const answer = await router.chat(ask(CODE, undefined, { plugins: entries }), { metadata: true });
    expect(answer.model).toBe('acme/coder');
    expect(answer.router_metadata?.pipeline?.map(({ name }) => name)).toEqual(['auto-router']);
    const direct = { model: 'acme/unknown', plugins: [{ id: 'auto-router', excluded_models: ['*'] }] };
    expect((await router.chat(ask(CODE, undefined, direct))).model).toBe('acme/unknown');
  });

  it('cannot switch off the router that the request asks for', async () => {
    const error = await refused(SCORED, ask(CODE, { enabled: false }));
    expect(error).toMatchObject({ status: 400 });
    expect(error.message).toContain('plugins[0].enabled must not be false, because router/auto');
  });

  it('come from defaults of the account, and a default that forbids the router is a 404', async () => {
    const { router } = routingBench(SCORED);
    const account = (preventOverrides: boolean) => ({
      id: 'a',
      pluginDefaults: [{ id: 'auto-router', options: { excluded_models: ['*/coder'] } }],
      preventOverrides,
    });
    expect((await router.chat(ask(CODE), { account: account(false) })).model).toBe('acme/average');
    const off = { id: 'b', pluginDefaults: [{ id: 'auto-router', enabled: false }] };
    expect((await router.chat(ask(CODE), { account: off })).model).toBe('acme/coder');
    const never = { id: 'c', pluginDefaults: [{ id: 'auto-router', enabled: false, preventOverrides: true }] };
    await expect(router.chat(ask(CODE), { account: never })).rejects.toMatchObject({
      status: 404,
      message: 'No endpoints found for router/auto: its plugin "auto-router" is switched off here',
    });
  });
});

describe('pin_model', () => {
  const messages = (model?: string): ChatRequest['messages'] => [
    { role: 'user', content: CODE },
    { role: 'assistant', content: 'Done.', model: 'acme/coder' },
    { role: 'user', content: 'And in Go?' },
    { role: 'assistant', content: 'Done.', ...(model === undefined ? {} : { model }) },
    { role: 'user', content: MATH },
  ];

  it.each([
    ['a tier', { cost_tier: 'low' }],
    ['a tradeoff', { cost_quality_tradeoff: 10 }],
    ['no cost setting', {}],
  ])('keeps to the model of the latest assistant message with %s, whatever it costs', async (_what, setting) => {
    const dear: Record<string, Offered> = { ...SCORED, 'acme/dear': { usd: 99 } };
    const pinned = { pin_model: true, ...setting };
    expect((await chosen(dear, ask('', pinned, { messages: messages('acme/dear') })))[0]).toBe('dear');
    const { router } = routingBench(dear);
    const answer = await router.chat(ask('', pinned, { messages: messages('acme/dear') }), { metadata: true });
    expect(routerStage(answer.router_metadata?.pipeline).data).toMatchObject({ first_by: 'pin_model' });
  });

  it('does nothing without a model to keep, or with one that is excluded', async () => {
    expect((await chosen(SCORED, ask('', { pin_model: true }, { messages: messages() })))[0]).toBe('thinker');
    expect((await chosen(SCORED, ask('', {}, { messages: messages('acme/unknown') })))[0]).toBe('thinker');
    const excluded = { pin_model: true, excluded_models: ['acme/unknown'] };
    expect((await chosen(SCORED, ask('', excluded, { messages: messages('acme/unknown') })))[0]).toBe('thinker');
    expect((await chosen(SCORED, ask('', { pin_model: true }, { messages: messages('gone/model') })))[0]).toBe(
      'thinker',
    );
  });

  it('is not an option of auto-beta-router', async () => {
    const plugins = [{ id: 'auto-beta-router', pin_model: true }];
    const error = await refused(SCORED, ask(CODE, undefined, { model: 'router/auto-beta', plugins }));
    expect(error).toMatchObject({ status: 400 });
    expect(error.message).toContain('pin_model');
  });
});

describe('router/auto-beta', () => {
  it('does the same under its own name and with its own options', async () => {
    const { router } = routingBench(SCORED);
    const plugins = [{ id: 'auto-beta-router', excluded_models: ['*/coder'] }];
    const request = ask(CODE, undefined, { model: 'openrouter/auto-beta', plugins });
    const answer = await router.chat(request, { metadata: true });
    expect(answer.model).toBe('acme/average');
    expect(answer.router_metadata).toMatchObject({ requested: 'openrouter/auto-beta', strategy: 'auto' });
    expect(routerStage(answer.router_metadata?.pipeline).name).toBe('auto-beta-router');
  });

  it('takes the services that its factory is given', async () => {
    const plugins = [autoBetaRouter({ classify: () => ({ task: 'math', confidence: 1 }) })];
    const { router } = routingBench(SCORED, { plugins });
    expect((await router.chat(ask(CODE, undefined, { model: 'router/auto-beta' }))).model).toBe('acme/thinker');
  });
});

describe('a session with router/auto', () => {
  const talk = (content: string, more: Partial<ChatRequest> = {}) =>
    ask(content, undefined, { session_id: 'talk', ...more });

  it('keeps its model when the task changes, as long as that is a candidate', async () => {
    const { router } = routingBench(SCORED);
    expect((await router.chat(talk(CODE))).model).toBe('acme/coder');
    const second = await router.chat(talk(MATH), { metadata: true });
    expect(second.model).toBe('acme/coder');
    expect(routerStage(second.router_metadata?.pipeline)).toMatchObject({
      summary: expect.stringContaining('the session keeps its model') as string,
      data: { task_type: 'math', first_by: 'session' },
    });
    expect((await router.chat(ask(MATH))).model).toBe('acme/thinker');
    const without = { plugins: [{ id: 'auto-router', excluded_models: ['*/coder'] }] };
    expect((await router.chat(talk(MATH, without))).model).toBe('acme/thinker');
    // The session is where it was served last.
    expect((await router.chat(talk(CODE))).model).toBe('acme/thinker');
  });

  it('goes where a fallback answered', async () => {
    const { router } = routingBench(SCORED, { failures: [{ kind: 'server' }] });
    expect((await router.chat(talk(CODE))).model).toBe('acme/average');
    expect((await router.chat(talk(CODE))).model).toBe('acme/average');
  });

  it('is its own for each account and each router', async () => {
    const { router } = routingBench(SCORED);
    await router.chat(talk(CODE), { account: { id: 'a' } });
    expect((await router.chat(talk(MATH), { account: { id: 'a' } })).model).toBe('acme/coder');
    expect((await router.chat(talk(MATH), { account: { id: 'b' } })).model).toBe('acme/thinker');
    const beta = { model: 'router/auto-beta' };
    expect((await router.chat(talk(MATH, beta), { account: { id: 'a' } })).model).toBe('acme/thinker');
  });

  it('remembers the model behind the account own key too', async () => {
    const account = { id: 'a', providerKeys: { lab: { apiKey: 'own' } } };
    const { router } = routingBench(SCORED);
    await router.chat(talk(CODE), { account });
    const answer = await router.chat(talk(MATH), { account, metadata: true });
    expect(answer.model).toBe('acme/coder');
    expect(answer.router_metadata?.is_byok).toBe(true);
  });

  it('does not stick with an order of providers, nor in a tier that its model is outside of', async () => {
    const { router } = routingBench(SCORED);
    await router.chat(talk(CODE));
    expect((await router.chat(talk(MATH, { provider: { order: ['lab'] } }))).model).toBe('acme/thinker');
    const ladder = routingBench(LADDER);
    const low = { plugins: [{ id: 'auto-router', cost_tier: 'low' }] };
    expect((await ladder.router.chat(talk(CODE, low))).model).toBe('acme/m1');
    const high = { plugins: [{ id: 'auto-router', cost_tier: 'max' }] };
    expect((await ladder.router.chat(talk(CODE, high))).model).toBe('acme/m9');
  });

  it('is read once from a store that answers later', async () => {
    const inner = memoryStore({ maxEntries: 10, now: () => 0 });
    let reads = 0;
    const state: StateStore = {
      get: (key) => {
        if (key.startsWith('sticky')) reads += 1;
        return Promise.resolve(inner.get(key));
      },
      set: (key, value, ttlMs) => Promise.resolve(inner.set(key, value, ttlMs)),
      delete: (key) => Promise.resolve(inner.delete(key)),
      increment: (key, by, ttlMs) => Promise.resolve(inner.increment(key, by, ttlMs)),
      change: (changes) => Promise.resolve(inner.change(changes)),
    };
    const { router } = routingBench(SCORED, { state });
    await router.chat(talk(CODE));
    expect((await router.chat(talk(MATH))).model).toBe('acme/coder');
    expect(reads).toBe(2);
  });
});

describe('services of auto-router', () => {
  const broken = () => {
    throw new Error('secret prompt');
  };

  it.each([
    ['throws', broken],
    ['gives nothing', () => undefined as never],
    ['names no task', () => ({ task: 'a task\nwith lines', confidence: 1 })],
    ['is sure of too much', () => ({ task: 'math', confidence: 2 })],
  ])('may fail: a classifier that %s leaves the default order, and the stage says so', async (_what, classify) => {
    const { router, warnings } = routingBench(SCORED, { plugins: [autoRouter({ classify })] });
    const answer = await router.chat(ask(MATH), { metadata: true });
    expect(answer.model).toBe('acme/average');
    const stage = routerStage(answer.router_metadata?.pipeline);
    expect(stage.data).toMatchObject({ task_type: 'general', confidence: 0, degraded: ['classifier'] });
    expect(JSON.stringify([stage, warnings])).not.toContain('secret');
  });

  it('may fail: a ranking that throws leaves the models by price', async () => {
    const { router } = routingBench(LADDER, { plugins: [autoRouter({ rank: broken })] });
    const answer = await router.chat(ask(CODE, BEST), { metadata: true });
    expect(answer.model).toBe('acme/m9');
    expect(routerStage(answer.router_metadata?.pipeline)).toMatchObject({
      summary: expect.stringContaining('went on without ranking') as string,
      data: { ranking: 'size', degraded: ['ranking'] },
    });
  });

  it('may be others: a ranking, an order for models without scores, a length of the chain', async () => {
    const rank: AutoRouterOptions['rank'] = ({ model }, task) =>
      task === 'math' && model.id === 'acme/m1' ? 1 : Number.NaN;
    expect(await chosen(LADDER, ask(MATH, BEST), { rank, maxModels: 2 })).toEqual(['m1', 'm9']);
    expect(await chosen(LADDER, ask(CODE, BEST), { defaultModels: ['acme/m1'], maxModels: 3 })).toEqual([
      'm1',
      'm9',
      'm8',
    ]);
  });

  it('count the best score among the endpoints that the request can use', async () => {
    const { router } = routingBench({
      'acme/one': { usd: 1, scores: { coding: 0.3 } },
      'acme/two': { usd: 1, scores: { coding: 0.4 }, info: { scores: { coding: 0.1 } } },
    });
    expect((await router.chat(ask(CODE))).model).toBe('acme/two');
  });
});
