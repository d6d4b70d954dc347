import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Catalog, buildCatalog, latestOfFamily } from '../../src/catalog/catalog.ts';
import type {
  CatalogProvider,
  Endpoint,
  EndpointDeclaration,
  EndpointFacts,
  KnownInfo,
} from '../../src/catalog/endpoint.ts';
import type { CatalogFacts } from '../../src/catalog/facts.ts';
import type { ModelInfo } from '../../src/catalog/model.ts';
import { runs } from '../support/properties.ts';

const ORIGIN = { source: 'a test', date: '2026-11-20', licence: 'MIT' };

/** Facts of one vendor, all from one source. */
function factsOf(models: Readonly<Record<string, EndpointFacts & { info?: KnownInfo }>>, slug = 'alpha'): CatalogFacts {
  const entries = Object.entries(models).map(([name, { info = {}, ...endpoint }]) => {
    const from = Object.fromEntries([...Object.keys(info), ...Object.keys(endpoint)].map((field) => [field, 0]));
    return [name, { info, endpoint, from }] as const;
  });
  return { version: 1, origins: [ORIGIN], vendors: { [slug]: Object.fromEntries(entries) } };
}

const KNOWN = factsOf({
  one: {
    info: { name: 'One', created: 100, family: 'one', knowledgeCutoff: '2026-01' },
    price: {
      prompt: 1,
      completion: 2,
      serviceTiers: { flex: 0.5, priority: { prompt: 3, completion: 6 }, batch: 0.25 },
    },
    contextLength: 1_000,
    abilities: { tools: true, seed: false },
    inputModalities: ['text', 'image'],
  },
  'deep/two': { price: { prompt: 0, completion: 0 } },
});

function catalogOf(
  provider: Partial<CatalogProvider>,
  models?: Readonly<Record<string, ModelInfo>>,
  facts = KNOWN,
): Catalog {
  return buildCatalog([{ slug: 'alpha', name: 'Alpha', models: {}, ...provider }], models, {}, facts);
}

/** The one endpoint of a model that a program declared like this. */
function declared(declaration: EndpointDeclaration, id = 'alpha/one'): Endpoint {
  const endpoints = catalogOf({ models: { [id]: declaration } }).endpoints(
    declaration.variant === undefined ? id : `${id}:${declaration.variant}`,
  );
  expect(endpoints).toHaveLength(1);
  return endpoints[0] as Endpoint;
}

describe('a provider that takes any model', () => {
  const catalog = catalogOf({ acceptsAnyModel: true });

  it('has all models that are known of its vendor, under its slug, with everything that is known', () => {
    expect([...catalog.models.keys()]).toEqual(['alpha/one', 'alpha/deep/two']);
    expect(catalog.models.get('alpha/one')).toEqual({
      id: 'alpha/one',
      name: 'One',
      created: 100,
      family: 'one',
      knowledgeCutoff: '2026-01',
    });
    expect(catalog.endpoints('alpha/deep/two')).toMatchObject([{ upstreamModel: 'deep/two', price: { prompt: 0 } }]);
    expect(catalog.endpoints('alpha/one')[0]).toMatchObject({
      upstreamModel: 'one',
      contextLength: 1_000,
      inputModalities: new Set(['text', 'image']),
      origins: { price: ORIGIN, contextLength: ORIGIN, abilities: ORIGIN, inputModalities: ORIGIN },
    });
  });

  it('has an endpoint for each tier with a price, and each knows what the others cost', () => {
    const endpoints = catalog.endpoints('alpha/one');
    expect(endpoints.map(({ tag, price }) => [tag, price?.prompt, price?.completion])).toEqual([
      ['alpha', 1, 2],
      ['alpha/priority', 3, 6],
      ['alpha/flex', 0.5, 1],
    ]);
    const [, priority] = endpoints;
    expect(priority?.price?.serviceTiers?.default).toMatchObject({ prompt: 1 });
  });

  it('still takes any other model, of which nothing is known', () => {
    expect(catalog.find('alpha/three')).toBe('alpha/three');
    expect(catalog.endpoints('alpha/three')[0]).not.toHaveProperty('price');
  });

  it('offers what costs nothing as free, if text comes out of it', () => {
    expect(catalog.freeEndpoints.map(({ model }) => model)).toEqual(['alpha/deep/two']);
    const free = { price: { prompt: 0, completion: 0 } };
    const painting = factsOf({
      paints: { ...free, outputModalities: ['image'] },
      both: { ...free, outputModalities: ['image', 'text'] },
    });
    const { freeEndpoints } = catalogOf({ acceptsAnyModel: true }, {}, painting);
    expect(freeEndpoints.map(({ upstreamModel }) => upstreamModel)).toEqual(['both']);
  });

  it('is not told of the models of others', () => {
    expect(catalogOf({ slug: 'beta', acceptsAnyModel: true }).models.size).toBe(0);
  });
});

describe('a declared model', () => {
  it('stands alone, and is completed with what is known of it', () => {
    const catalog = catalogOf({ models: { 'alpha/one': { contextLength: 5 } } });
    expect([...catalog.models.keys()]).toEqual(['alpha/one']);
    const [endpoint] = catalog.endpoints('alpha/one');
    expect(endpoint).toMatchObject({ contextLength: 5, price: { prompt: 1 }, origins: { price: ORIGIN } });
    expect(endpoint?.origins).not.toHaveProperty('contextLength');
  });

  it('is found by its upstream name, or by its name without an author', () => {
    expect(declared({ upstreamModel: 'one' }, 'acme/uno').price?.prompt).toBe(1);
    expect(declared({ upstreamModel: 'my-deployment' }, 'acme/one').price?.prompt).toBe(1);
    expect(declared({}, 'acme/three')).not.toHaveProperty('price');
  });

  it('has the price of its tier, or none', () => {
    expect(declared({ tier: 'flex' }).price).toMatchObject({ prompt: 0.5, completion: 1 });
    expect(declared({ tier: 'priority' }).price).toMatchObject({ prompt: 3, completion: 6 });
    expect(declared({ variant: 'batch' }).price).toMatchObject({ prompt: 0.25, completion: 0.5 });
    expect(declared({ tier: 'flex' }, 'alpha/deep/two')).not.toHaveProperty('price');
  });

  it.each([{ region: 'eu' }, { tag: 'turbo' }, { variant: 'free' as const }, { variant: 'thinking' as const }])(
    'that is a special offer (%j) has no price unless it is declared, but the same limits',
    (special) => {
      expect(declared(special)).not.toHaveProperty('price');
      expect(declared(special).contextLength).toBe(1_000);
    },
  );

  it('keeps its own complete list of parameters, and adds single abilities to what is known', () => {
    const listed = declared({ parameters: ['seed'] });
    expect([listed.parameters, listed.unknownParameters]).toEqual([new Set(['seed']), undefined]);
    const single = declared({ abilities: { seed: true, stop: false } });
    expect(single.parameters?.has('seed')).toBe(true);
    expect(single.parameters?.has('stop')).toBe(false);
    expect(single.parameters?.has('tools')).toBe(true);
    expect(single.unknownParameters?.has('tools')).toBe(false);
    expect(single.unknownParameters?.has('top_p')).toBe(true);
  });

  it('has the info that the program gives, and else what is known', () => {
    const models = { 'alpha/one': { name: 'My one', family: undefined } };
    expect(catalogOf({ models: { 'alpha/one': {} } }, models).models.get('alpha/one')).toMatchObject({
      name: 'My one',
      family: 'one',
      created: 100,
    });
  });

  it('always wins over what sources know, field by field', () => {
    const declaration: fc.Arbitrary<EndpointDeclaration> = fc.record(
      {
        contextLength: fc.nat(),
        maxOutputTokens: fc.nat(),
        price: fc.record({ prompt: fc.nat(9), completion: fc.nat(9) }),
        inputModalities: fc.constantFrom(['text'] as const, ['audio'] as const),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(declaration, declaration, (mine, theirs) => {
        const facts = factsOf({ one: theirs });
        const [endpoint] = catalogOf({ models: { 'alpha/one': mine } }, {}, facts).endpoints('alpha/one');
        for (const name of ['contextLength', 'maxOutputTokens', 'price'] as const) {
          expect(endpoint?.[name]).toEqual(mine[name] ?? theirs[name]);
          const isTheirs = mine[name] === undefined && theirs[name] !== undefined;
          expect(endpoint?.origins?.[name]).toEqual(isTheirs ? ORIGIN : undefined);
        }
        expect([...(endpoint?.inputModalities ?? [])]).toEqual(mine.inputModalities ?? theirs.inputModalities ?? []);
      }),
      runs(500),
    );
  });
});

describe('the latest of a family', () => {
  it('is known from the sources, and never on its way out', () => {
    const facts = factsOf({
      'one-1': { info: { created: 1 } },
      'one-2': { info: { created: 2 } },
      'one-3': { info: { created: 3, status: 'deprecated' } },
    });
    expect(latestOfFamily(catalogOf({ acceptsAnyModel: true }, {}, facts), '~alpha/one-latest')).toBe('alpha/one-2');
  });
});
