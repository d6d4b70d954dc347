import { describe, expect, it } from 'vitest';
import type { ChatRequest } from '../../../src/protocol/chat-request.ts';
import { DEFAULT_SELECTION_POLICY } from '../../../src/core/selection/world.ts';
import { recordMeasured, times } from '../../support/records.ts';
import { type Scene, costing, sceneOf } from '../../support/requests.ts';

const scene = sceneOf({
  providers: {
    alpha: {
      'acme/one': costing(1),
      'acme/two': costing(2),
      'acme/gpt-4.1': { tag: 'dotted' },
      'acme/one-3': {},
      'acme/planned:batch': {},
    },
    beta: { 'acme/one': [costing(3), { ...costing(0), variant: 'free' }], 'acme/think': { variant: 'thinking' } },
  },
  models: { 'acme/two': { aliases: ['acme/deux', 'zwei'] }, 'acme/one': { aliases: ['acme/two'] } },
  aliases: {
    smart: 'acme/two',
    quick: 'acme/one:nitro',
    quicker: 'quick',
    searching: 'acme/one:online',
    chain: ['acme/two', 'acme/one'],
    nested: ['smart', 'acme/one'],
    loop: 'loop',
    typo: 'acme/nobody',
  },
  routerModels: ['router/auto'],
});

function targetsOf(body: Partial<ChatRequest>, where: Scene = scene): readonly (readonly string[])[] {
  return where.request(body).targets.map(({ model, strategy }) => [model, strategy]);
}

describe('a slug', () => {
  const cases: readonly (readonly [string, string, string])[] = [
    ['acme/one', 'acme/one', 'direct'],
    ['ACME/One', 'acme/one', 'alias'],
    ['acme/gpt-4.1', 'acme/gpt-4.1', 'direct'],
    ['acme/gpt-4-1', 'acme/gpt-4.1', 'alias'],
    ['acme/deux', 'acme/two', 'alias'],
    ['zwei', 'acme/two', 'alias'],
    ['smart', 'acme/two', 'alias'],
    ['acme/one:free', 'acme/one:free', 'direct'],
    ['acme/think:thinking', 'acme/think:thinking', 'direct'],
    ['router/auto', 'router/auto', 'auto'],
    ['openrouter/auto', 'router/auto', 'auto'],
    ['router/free', 'router/free', 'free'],
    ['openrouter/free', 'router/free', 'free'],
  ];
  it.each(cases)('%s means %s', (slug, model, strategy) => {
    expect(targetsOf({ model: slug })).toEqual([[model, strategy]]);
  });

  it('is never taken away from its model by the alias of another', () => {
    expect(targetsOf({ model: 'acme/two' })).toEqual([['acme/two', 'direct']]);
    expect(targetsOf({ model: 'Acme/Two' })).toEqual([['acme/two', 'alias']]);
  });

  it.each([
    ['acme/nobody', 'acme/nobody is not a valid model ID'],
    ['typo', 'typo is not a valid model ID'],
    ['loop', 'loop is not a valid model ID'],
    ['acme/one:extended', 'acme/one:extended is not a valid model ID'],
    ['acme/one:toString', 'acme/one:toString is not a valid model ID'],
    ['acme/one:constructor', 'acme/one:constructor is not a valid model ID'],
    ['__proto__', '__proto__ is not a valid model ID'],
    ['~acme/unknown-latest', '~acme/unknown-latest is not a valid model ID'],
    ['router/fusion', 'router/fusion is not a valid model ID: it needs a plugin that this router does not have'],
    [
      'openrouter/fusion',
      'openrouter/fusion is not a valid model ID: it needs a plugin that this router does not have',
    ],
  ])('%s is refused as unknown', (model, message) => {
    expect(scene.fault({ model })).toEqual({
      status: 400,
      errorType: 'invalid_request',
      path: 'model',
      message,
      availability: {
        code: 'model_not_found',
        retryable: false,
        requested_models: [model],
        docs_url: 'docs#model_not_found',
      },
    });
  });

  it('that only serves batches is refused for another reason too', () => {
    expect(scene.fault({ model: 'acme/planned' })).toMatchObject({
      status: 400,
      availability: { code: 'wrong_endpoint' },
    });
  });

  it('of a batch variant is refused for another reason', () => {
    expect(scene.fault({ model: 'acme/planned:batch' })).toMatchObject({
      status: 400,
      availability: { code: 'wrong_endpoint' },
    });
  });
});

describe('reasoning.mode "pro"', () => {
  const two = sceneOf({
    providers: { alpha: { 'acme/one': {}, 'acme/one-pro': {}, 'acme/two': {} } },
    routerModels: ['router/auto'],
  });
  const reasoning = { mode: 'pro' } as const;

  it('stands for the -pro edition of a model', () => {
    const models = (model: string) => two.request({ model, reasoning }).targets.map((target) => target.model);
    expect(models('acme/one')).toEqual(['acme/one-pro']);
    expect(models('acme/one:nitro')).toEqual(['acme/one-pro']);
    expect(models('acme/one-pro')).toEqual(['acme/one-pro']);
    expect(models('router/auto')).toEqual(['router/auto']);
    expect(two.request({ model: 'acme/one', reasoning: { mode: 'standard' } }).targets[0]?.model).toBe('acme/one');
  });

  it('is refused where there is none', () => {
    expect(two.fault({ model: 'acme/two', reasoning })).toMatchObject({
      status: 400,
      path: 'reasoning.mode',
      message: expect.stringContaining('-pro edition of acme/two') as string,
    });
  });
});

describe('a routing variant', () => {
  const records = { beta: recordMeasured(times(5, { tokensPerSecond: 90 })) };

  it.each([
    ['acme/one:nitro', ['beta', 'alpha']],
    ['acme/one:floor', ['alpha', 'beta']],
    ['acme/one:exacto', ['alpha', 'beta']],
    ['acme/one:online', ['alpha', 'beta']],
    ['acme/one:online:nitro', ['beta', 'alpha']],
    ['acme/one:nitro:online', ['beta', 'alpha']],
    ['acme/one:free:nitro', ['beta']],
  ])('%s orders endpoints %j', (model, expected) => {
    expect(scene.order({ model }, { records })).toEqual(expected);
  });

  it('at the slug wins over the one behind an alias', () => {
    expect(scene.request({ model: 'quick' }).targets[0]).toMatchObject({ sort: 'throughput', admitTier: 'priority' });
    expect(scene.request({ model: 'quick:floor' }).targets[0]).toMatchObject({ sort: 'price', admitTier: 'flex' });
  });

  it('survives an alias of an alias', () => {
    expect(scene.request({ model: 'quicker' }).targets[0]).toMatchObject({ model: 'acme/one', sort: 'throughput' });
  });

  it(':online asks for the web plugin, also through an alias, and only once', () => {
    expect(scene.request({ model: 'acme/one:free:online' }).plugins).toEqual([{ id: 'web' }]);
    expect(scene.request({ model: 'searching' }).plugins).toEqual([{ id: 'web' }]);
    expect(scene.request({ model: 'acme/one', models: ['acme/two:online'] }).plugins).toEqual([{ id: 'web' }]);
    const plugins = [{ id: 'web', max_results: 2 }];
    expect(scene.request({ model: 'acme/one:online', plugins }).plugins).toEqual(plugins);
    expect(scene.request({ model: 'acme/one' }).plugins).toEqual([]);
  });

  it.each(['price', 'latency', 'throughput'] as const)('gives way to sort: %s', (sort) => {
    const plan = scene.plan({ model: 'acme/one:nitro', provider: { sort } });
    expect(plan.steps[0]?.why).toBe(`sort: ${sort}`);
  });
});

describe('a list of models', () => {
  it('follows the primary model, each with its own variants', () => {
    const { targets } = scene.request({ model: 'acme/one:nitro', models: ['acme/two:floor', 'acme/gpt-4.1'] });
    expect(targets.map(({ model, sort }) => [model, sort])).toEqual([
      ['acme/one', 'throughput'],
      ['acme/two', 'price'],
      ['acme/gpt-4.1', undefined],
    ]);
  });

  it('begins with its first entry when there is no primary model', () => {
    const request = scene.request({ models: ['acme/two', 'acme/one'] });
    expect(request.requested).toBe('acme/two');
    expect(request.targets.map(({ model }) => model)).toEqual(['acme/two', 'acme/one']);
  });

  it('drops repetitions', () => {
    expect(targetsOf({ model: 'acme/one', models: ['acme/one', 'acme/two', 'smart'] })).toEqual([
      ['acme/one', 'direct'],
      ['acme/two', 'direct'],
    ]);
  });

  it('may stand behind an alias, also nested, in its order', () => {
    expect(targetsOf({ model: 'chain' })).toEqual([
      ['acme/two', 'alias'],
      ['acme/one', 'alias'],
    ]);
    expect(targetsOf({ model: 'nested', models: ['acme/gpt-4.1'] })).toEqual([
      ['acme/two', 'alias'],
      ['acme/one', 'alias'],
      ['acme/gpt-4.1', 'direct'],
    ]);
  });

  it('is refused as a whole for one unknown entry, by its path', () => {
    expect(scene.fault({ model: 'acme/one', models: ['acme/two', 'acme/nobody'] })).toMatchObject({
      status: 400,
      path: 'models[1]',
      availability: { requested_models: ['acme/nobody'] },
    });
  });

  it('that is empty means none', () => {
    expect(targetsOf({ model: 'acme/one', models: [] })).toEqual([['acme/one', 'direct']]);
    expect(scene.fault({ models: [] })).toMatchObject({ status: 400, path: 'model' });
    expect(scene.fault({ models: [] }).message).toContain('No models provided');
  });

  it('never leads to an endpoint twice', () => {
    const ids = (body: Partial<ChatRequest>): readonly string[] =>
      scene.plan(body).steps.map(({ endpoint }) => endpoint.id);
    expect(ids({ model: 'acme/one', models: ['acme/one:nitro'] })).toEqual(['alpha#acme/one', 'beta#acme/one']);
    expect(ids({ model: 'acme/one:free', models: ['router/free'] })).toEqual(['beta#acme/one:free']);
    const provider = { sort: { by: 'price', partition: 'none' } } as const;
    expect(ids({ model: 'acme/one', models: ['acme/one:nitro'], provider })).toEqual([
      'alpha#acme/one',
      'beta#acme/one',
    ]);
  });

  it('calls everything but the first a fallback', () => {
    const { steps } = scene.plan({ model: 'smart', models: ['acme/one', 'router/free'] });
    expect(steps.map(({ strategy }) => strategy)).toEqual(['alias', 'fallback', 'fallback', 'fallback']);
  });
});

describe('a request without a model', () => {
  const defaults = sceneOf({ providers: { alpha: { 'acme/one': {}, 'acme/two': {} } }, defaultModel: 'acme/one' });

  it('gets the default of the router, or of the account, which wins', () => {
    expect(targetsOf({ models: null }, defaults)).toEqual([['acme/one', 'direct']]);
    const account = { id: 'tester', defaultModel: 'acme/two' };
    expect(defaults.request({ model: null }, { account }).requested).toBe('acme/two');
  });
});

describe('router/free', () => {
  const free = sceneOf({
    providers: {
      alpha: { 'acme/one': [costing(1), { ...costing(0), variant: 'free' }], 'acme/gift': costing(0) },
      beta: {
        'acme/eye': { ...costing(0), inputModalities: ['text', 'image'] },
        'acme/bulk': { ...costing(0), variant: 'batch' },
      },
      gamma: { 'acme/unknown': {} },
    },
  });

  it('tries the endpoints that cost nothing, in random order', () => {
    const seen = new Set<string>();
    for (let step = 0; step < 600; step += 1) {
      const plan = free.plan({ model: 'router/free' }, { roll: (step + 0.5) / 600 });
      seen.add(plan.steps.map(({ endpoint }) => endpoint.model).join(' '));
    }
    expect([...seen].sort()).toEqual([
      'acme/eye acme/gift acme/one:free',
      'acme/eye acme/one:free acme/gift',
      'acme/gift acme/eye acme/one:free',
      'acme/gift acme/one:free acme/eye',
      'acme/one:free acme/eye acme/gift',
      'acme/one:free acme/gift acme/eye',
    ]);
  });

  it('only tries those that support what the request uses', () => {
    const image = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } } as const;
    const policy = { ...DEFAULT_SELECTION_POLICY, unknownCapability: 'exclude', toolSupport: 'exclude' } as const;
    const body: Partial<ChatRequest> = { model: 'router/free', messages: [{ role: 'user', content: [image] }] };
    expect(free.order(body, { policy })).toEqual(['beta']);
  });

  it('obeys order, with and without fallbacks', () => {
    const order = ['beta'];
    expect(free.order({ model: 'router/free', provider: { order } }, { roll: 0.1 })[0]).toBe('beta');
    expect(free.order({ model: 'router/free', provider: { order, allow_fallbacks: false } })).toEqual(['beta']);
  });
});

describe('a provider named openrouter', () => {
  const nested = sceneOf({
    providers: { openrouter: { 'openrouter/acme/one': {} } },
    owners: { openrouter: { acceptsAnyModel: true } },
    routerModels: ['router/auto'],
  });

  it('keeps its own models', () => {
    expect(targetsOf({ model: 'openrouter/acme/one:nitro' }, nested)).toEqual([['openrouter/acme/one', 'direct']]);
    expect(targetsOf({ model: 'openrouter/acme/undeclared' }, nested)).toEqual([
      ['openrouter/acme/undeclared', 'direct'],
    ]);
  });

  it('does not take the router models of this router', () => {
    expect(targetsOf({ model: 'openrouter/auto' }, nested)).toEqual([['router/auto', 'auto']]);
    expect(targetsOf({ model: 'openrouter/free' }, nested)).toEqual([['router/free', 'free']]);
  });
});
