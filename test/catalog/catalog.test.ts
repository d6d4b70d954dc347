import { describe, expect, it } from 'vitest';
import { buildCatalog, latestOfFamily } from '../../src/catalog/catalog.ts';
import type { CatalogProvider } from '../../src/catalog/endpoint.ts';

function provider(
  slug: string,
  models: CatalogProvider['models'],
  more: Partial<CatalogProvider> = {},
): CatalogProvider {
  return { slug, name: slug.toUpperCase(), models, ...more };
}

describe('an endpoint', () => {
  it('gets its defaults from its declaration and its provider', () => {
    const catalog = buildCatalog([provider('alpha', { 'alpha/one': {} }, { dataCollection: true })]);
    expect(catalog.endpoints('alpha/one')).toEqual([
      {
        id: 'alpha#alpha/one',
        canEmbed: false,
        model: 'alpha/one',
        provider: 'alpha',
        providerName: 'ALPHA',
        tag: 'alpha',
        upstreamModel: 'one',
        tier: 'default',
        parameters: undefined,
        apiFormats: [],
        nativeSearch: undefined,
        readsFiles: false,
        toolChoices: undefined,
        inputModalities: undefined,
        outputModalities: undefined,
        dataCollection: true,
        zeroDataRetention: false,
        quantization: 'unknown',
        moderated: false,
        implicitCaching: false,
      },
    ]);
  });

  it.each([
    [{}, 'alpha', 'acme/one'],
    [{ tag: 'turbo' }, 'alpha/turbo', 'acme/one'],
    [{ region: 'eu' }, 'alpha/eu', 'acme/one'],
    [{ tier: 'priority' }, 'alpha/priority', 'acme/one'],
    [{ tier: 'flex', region: 'eu' }, 'alpha/eu', 'acme/one'],
    [{ variant: 'free' }, 'alpha', 'acme/one:free'],
  ] as const)('declared as %j has the slug %s and the model %s', (declaration, tag, model) => {
    const catalog = buildCatalog([provider('alpha', { 'acme/one': declaration })]);
    expect(catalog.endpoints(model)).toMatchObject([{ tag, model, upstreamModel: 'acme/one' }]);
  });

  it('has an id of its own, also among twins', () => {
    const catalog = buildCatalog([provider('alpha', { 'acme/one': [{}, {}, {}] })]);
    const ids = catalog.endpoints('acme/one').map(({ id }) => id);
    expect(new Set(ids).size).toBe(3);
  });

  it('overrides what its provider says about data', () => {
    const declared = { dataCollection: false, zeroDataRetention: true };
    const catalog = buildCatalog([provider('alpha', { 'acme/one': declared }, { dataCollection: true })]);
    expect(catalog.endpoints('acme/one')).toMatchObject([declared]);
  });

  it('inherits the scores of its model, unless it has its own', () => {
    const catalog = buildCatalog([provider('alpha', { 'acme/one': [{}, { tag: 'own', scores: { coding: 0.1 } }] })], {
      'acme/one': { scores: { coding: 0.9 } },
    });
    expect(catalog.endpoints('acme/one').map(({ scores }) => scores)).toEqual([{ coding: 0.9 }, { coding: 0.1 }]);
  });
});

describe('the catalog', () => {
  const catalog = buildCatalog(
    [
      provider('alpha', { 'acme/one': {}, 'acme/model-3.5': {}, 'acme/model-3-5': {} }),
      provider('beta', {
        'acme/one': [
          { price: { prompt: 0, completion: 0 } },
          { variant: 'batch', price: { prompt: 0, completion: 0 } },
        ],
      }),
      provider('gamma', {}, { acceptsAnyModel: true }),
    ],
    { 'acme/one': { aliases: ['acme/uno'] }, 'acme/planned': {} },
    { team: ['acme/one', 'acme/model-3.5'], solo: 'acme/one' },
  );

  it.each([
    ['acme/one', 'acme/one'],
    ['ACME/ONE', 'acme/one'],
    ['acme/uno', 'acme/one'],
    ['Acme/Uno', 'acme/one'],
    ['acme/model-3.5', 'acme/model-3.5'],
    ['acme/model-3-5', 'acme/model-3-5'],
    ['acme/planned', 'acme/planned'],
    ['acme/nobody', undefined],
    ['alpha/anything', undefined],
    ['gamma/anything', 'gamma/anything'],
    ['gamma', undefined],
    ['toString', undefined],
  ])('finds %s as %s', (slug, expected) => {
    expect(catalog.find(slug)).toBe(expected);
  });

  it('lists endpoints in the order of declaration, and none for who is unknown', () => {
    expect(catalog.endpoints('acme/one').map(({ provider: owner }) => owner)).toEqual(['alpha', 'beta']);
    expect(catalog.endpoints('acme/planned')).toEqual([]);
    expect(catalog.endpoints('acme/nobody')).toEqual([]);
  });

  it('knows aliases as lists, and no inherited names', () => {
    expect(catalog.alias('team')).toEqual(['acme/one', 'acme/model-3.5']);
    expect(catalog.alias('solo')).toEqual(['acme/one']);
    expect(catalog.alias('constructor')).toBeUndefined();
  });

  it('knows what costs nothing, without batches', () => {
    expect(catalog.freeEndpoints.map(({ id }) => id)).toEqual(['beta#acme/one']);
  });

  it('makes an endpoint for a model that an open provider never declared, always the same', () => {
    expect(catalog.find('gamma/llama3:8b')).toBe('gamma/llama3:8b');
    const [endpoint] = catalog.endpoints('gamma/llama3:8b');
    expect(endpoint).toMatchObject({ id: 'gamma#gamma/llama3:8b', upstreamModel: 'llama3:8b', provider: 'gamma' });
    catalog.find('gamma/llama3:8b');
    expect(catalog.endpoints('gamma/llama3:8b')[0]).toBe(endpoint);
  });

  it('remembers a bounded number of them', () => {
    const open = buildCatalog([provider('gamma', {}, { acceptsAnyModel: true })]);
    for (let index = 0; index < 2_500; index += 1) {
      open.find(`gamma/model-${index}`);
      expect(open.endpoints(`gamma/model-${index}`)).toHaveLength(1);
      // All are forgotten together; until then all are known.
      if (index === 999) expect(open.endpoints('gamma/model-0')).toHaveLength(1);
      if (index === 1_000) expect(open.endpoints('gamma/model-0')).toHaveLength(0);
    }
  });
});

describe('the latest model of a family', () => {
  const catalog = buildCatalog(
    [
      provider('alpha', {
        'acme/claude-3.5-sonnet': {},
        'acme/claude-4-sonnet': {},
        'acme/claude-2': {},
        'acme/other': {},
        'acme/dateless-b': {},
        'acme/dateless-a': {},
        'acme/free': { variant: 'free' },
        'rival/claude-9': {},
      }),
    ],
    {
      'acme/claude-3.5-sonnet': { created: 100 },
      'acme/claude-4-sonnet': { created: 200 },
      'acme/claude-2': { created: 50 },
      'acme/claude-5-sonnet': { created: 300 },
      'acme/other': { created: 400, family: 'special' },
      'acme/free:free': { created: 900 },
    },
  );

  it.each([
    ['~acme/claude-latest', 'acme/claude-4-sonnet'],
    ['~acme/claude-3-5-latest', 'acme/claude-3.5-sonnet'],
    ['~acme/claude-3.5-latest', 'acme/claude-3.5-sonnet'],
    ['~acme/special-latest', 'acme/other'],
    ['~acme/dateless-latest', 'acme/dateless-b'],
    ['~acme/other-latest', undefined],
    ['~acme/free-latest', undefined],
    ['~rival/claude-latest', 'rival/claude-9'],
    ['~nobody/claude-latest', undefined],
    ['acme/claude-latest', undefined],
    ['~acme/claude', undefined],
  ])('%s is %s', (slug, expected) => {
    expect(latestOfFamily(catalog, slug)).toBe(expected);
  });
});
