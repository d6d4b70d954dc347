import { describe, expect, it } from 'vitest';
import type { ProviderPreferences } from '../../../src/protocol/provider-preferences.ts';
import { costing, reasonsOf, serving } from '../../support/requests.ts';

/** Four providers; one of them has a named endpoint, a region and a priority tier beside its plain one. */
const scene = serving(
  {
    alpha: costing(1),
    beta: [costing(2), { ...costing(3), tag: 'turbo' }, { ...costing(4), region: 'us-east5' }],
    gamma: costing(5),
    delta: { ...costing(6), tier: 'priority' },
  },
  { owners: { gamma: { name: 'Gamma Cloud' }, delta: { name: 'Delta' } } },
);

const REST = ['alpha', 'beta', 'beta/turbo', 'beta/us-east5', 'gamma'];

function without(...tags: readonly string[]): readonly string[] {
  return REST.filter((tag) => !tags.includes(tag));
}

describe('order', () => {
  const cases: readonly (readonly [string, ProviderPreferences, readonly string[]])[] = [
    ['tries the named providers first and the others by price', { order: ['gamma'] }, ['gamma', ...without('gamma')]],
    ['keeps the order of its list', { order: ['gamma', 'alpha'] }, ['gamma', 'alpha', ...without('gamma', 'alpha')]],
    ['skips names that do not serve the model', { order: ['nobody', 'gamma'] }, ['gamma', ...without('gamma')]],
    [
      'takes a base slug for all plain endpoints of a provider',
      { order: ['beta'] },
      ['beta', 'beta/turbo', 'beta/us-east5', 'alpha', 'gamma'],
    ],
    [
      'takes a slug with an ending for one endpoint',
      { order: ['beta/turbo', 'alpha'] },
      ['beta/turbo', 'alpha', 'beta', 'beta/us-east5', 'gamma'],
    ],
    [
      'counts an endpoint at the first name that means it',
      { order: ['beta/us-east5', 'beta'] },
      ['beta/us-east5', 'beta', 'beta/turbo', 'alpha', 'gamma'],
    ],
    ['understands display names', { order: ['Gamma Cloud'] }, ['gamma', ...without('gamma')]],
    ['does not care about case', { order: ['GAMMA cloud', 'ALPHA'] }, ['gamma', 'alpha', ...without('gamma', 'alpha')]],
    ['is not an allow-list', { order: [] }, REST],
    ['may be null', { order: null }, REST],
    ['wins over sort', { order: ['gamma'], sort: 'price' }, ['gamma', ...without('gamma')]],
    [
      'admits a service tier that it names',
      { order: ['delta/priority'] },
      ['delta/priority', 'alpha', 'beta', 'beta/turbo', 'beta/us-east5', 'gamma'],
    ],
    ['does not admit a service tier by the base slug', { order: ['delta'] }, REST],
  ];
  it.each(cases)('%s', (_name, provider, expected) => {
    expect(scene.order({ provider })).toEqual(expected);
  });
});

describe('only', () => {
  const cases: readonly (readonly [string, ProviderPreferences, readonly string[]])[] = [
    ['keeps the named providers', { only: ['gamma', 'alpha'] }, ['alpha', 'gamma']],
    ['keeps all plain endpoints of a provider', { only: ['beta'] }, ['beta', 'beta/turbo', 'beta/us-east5']],
    ['keeps a single endpoint', { only: ['beta/us-east5'] }, ['beta/us-east5']],
    ['understands display names in any case', { only: ['gamma CLOUD'] }, ['gamma']],
    ['admits a service tier that it names', { only: ['delta/priority'] }, ['delta/priority']],
    ['goes together with order', { only: ['alpha', 'gamma'], order: ['gamma'] }, ['gamma', 'alpha']],
    ['may be null', { only: null }, REST],
    ['leaves nobody when nobody is named', { only: ['nobody'] }, []],
  ];
  it.each(cases)('%s', (_name, provider, expected) => {
    expect(scene.order({ provider })).toEqual(expected);
  });

  it('says why the others are left out', () => {
    const plan = scene.plan({ provider: { only: ['gamma'] } });
    expect(reasonsOf(plan)).toMatchObject({ alpha: 'allowed_providers', 'beta/turbo': 'allowed_providers' });
  });
});

describe('ignore', () => {
  const cases: readonly (readonly [string, ProviderPreferences, readonly string[]])[] = [
    ['leaves the named providers out', { ignore: ['alpha', 'gamma'] }, ['beta', 'beta/turbo', 'beta/us-east5']],
    ['leaves all endpoints of a provider out', { ignore: ['beta'] }, ['alpha', 'gamma']],
    ['leaves a single endpoint out', { ignore: ['beta/turbo'] }, without('beta/turbo')],
    ['understands display names in any case', { ignore: ['GAMMA CLOUD'] }, without('gamma')],
    ['wins over only', { only: ['alpha', 'gamma'], ignore: ['alpha'] }, ['gamma']],
    ['wins over order', { order: ['alpha'], ignore: ['alpha'] }, without('alpha')],
    ['may be null', { ignore: null }, REST],
  ];
  it.each(cases)('%s', (_name, provider, expected) => {
    expect(scene.order({ provider })).toEqual(expected);
  });

  it('means the service tiers of a provider as well', () => {
    expect(scene.order({ service_tier: 'priority' })[0]).toBe('delta/priority');
    expect(scene.order({ service_tier: 'priority', provider: { ignore: ['delta'] } })).not.toContain('delta/priority');
  });
});

describe('allow_fallbacks', () => {
  const cases: readonly (readonly [string, ProviderPreferences, readonly string[]])[] = [
    ['false keeps the first candidate only', { allow_fallbacks: false }, ['alpha']],
    [
      'false keeps what order names',
      { allow_fallbacks: false, order: ['gamma', 'beta/turbo'] },
      ['gamma', 'beta/turbo'],
    ],
    ['false with a sort keeps the best', { allow_fallbacks: false, sort: 'price', ignore: ['alpha'] }, ['beta']],
    ['false keeps nobody when order names nobody that serves', { allow_fallbacks: false, order: ['nobody'] }, []],
    ['true keeps everybody', { allow_fallbacks: true }, REST],
    ['null keeps everybody', { allow_fallbacks: null }, REST],
  ];
  it.each(cases)('%s', (_name, provider, expected) => {
    expect(scene.order({ provider })).toEqual(expected);
  });

  it('false says of the others that this is why they are left out', () => {
    const plan = scene.plan({ provider: { allow_fallbacks: false } });
    expect(reasonsOf(plan)).toMatchObject({ beta: 'allow_fallbacks', gamma: 'allow_fallbacks' });
  });
});

describe('slugs', () => {
  it('compare in any case, also when the provider was declared with capitals', () => {
    const loud = serving({ Loud: [{}, { tag: 'FP8' }], quiet: {} });
    expect(loud.order({ provider: { order: ['loud/fp8'] } })[0]).toBe('Loud/FP8');
    expect(loud.order({ provider: { only: ['LOUD'] } })).toEqual(['Loud', 'Loud/FP8']);
    expect(loud.order({ provider: { ignore: ['loud'] } })).toEqual(['quiet']);
  });
});
