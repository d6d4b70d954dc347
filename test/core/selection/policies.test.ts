import { describe, expect, it } from 'vitest';
import type { RoutingPolicy } from '../../../src/contracts/account.ts';
import type { ProviderPreferences } from '../../../src/protocol/provider-preferences.ts';
import { type Scene, reasonsOf, serving } from '../../support/requests.ts';

const OFFERS = {
  open: { price: { prompt: 1, completion: 1 }, dataCollection: true, distillable: true },
  careful: { price: { prompt: 2, completion: 2 } },
  private: { price: { prompt: 3, completion: 3 }, zeroDataRetention: true, distillable: false },
};

function sceneUnder(policy: RoutingPolicy): Scene {
  return serving(OFFERS, { policy });
}

describe('data rules of a request', () => {
  const cases: readonly (readonly [string, ProviderPreferences, readonly string[], string])[] = [
    ['data_collection: deny', { data_collection: 'deny' }, ['careful', 'private'], 'data_policy:training'],
    ['zdr: true', { zdr: true }, ['private'], 'data_policy:zdr'],
    ['enforce_distillable_text: true', { enforce_distillable_text: true }, ['open'], 'distillable'],
  ];
  it.each(cases)('%s leaves out who does not satisfy it', (_name, provider, expected, reason) => {
    const plan = sceneUnder({}).plan({ provider });
    expect(plan.steps.map(({ endpoint }) => endpoint.tag)).toEqual(expected);
    expect(Object.values(reasonsOf(plan))).toContain(reason);
  });

  const harmless: readonly ProviderPreferences[] = [
    { data_collection: 'allow' },
    { data_collection: null },
    { zdr: false },
    { zdr: null },
    { enforce_distillable_text: false },
    { enforce_distillable_text: null },
  ];
  it.each(harmless)('%o leaves nobody out', (provider) => {
    expect(sceneUnder({}).order({ provider })).toEqual(['open', 'careful', 'private']);
  });

  it('take a model whose author said nothing for one that may not be distilled', () => {
    const plan = sceneUnder({}).plan({ provider: { enforce_distillable_text: true } });
    expect(reasonsOf(plan)).toEqual({ careful: 'distillable', private: 'distillable' });
  });
});

describe('rules of the router and of the account', () => {
  const strict: RoutingPolicy = { dataCollection: 'deny', zeroDataRetention: true };
  const cases: readonly (readonly [string, RoutingPolicy, RoutingPolicy | undefined, readonly string[]])[] = [
    ['the router denies data collection', { dataCollection: 'deny' }, undefined, ['careful', 'private']],
    ['the account denies data collection', {}, { dataCollection: 'deny' }, ['careful', 'private']],
    ['the account cannot allow what the router denies', strict, { dataCollection: 'allow' }, ['private']],
    ['the account cannot relax zero data retention', strict, { zeroDataRetention: false }, ['private']],
    ['the router wants distillable text', { enforceDistillableText: true }, undefined, ['open']],
    ['allow-lists intersect', { only: ['open', 'careful'] }, { only: ['careful', 'private'] }, ['careful']],
    ['ignore-lists add up', { ignore: ['open'] }, { ignore: ['private'] }, ['careful']],
    [
      'the lower price limit holds',
      { maxPrice: { prompt: 2 } },
      { maxPrice: { prompt: '1.5', completion: 9 } },
      ['open'],
    ],
    ['a price limit of the account may be a string', {}, { maxPrice: { completion: '2' } }, ['open', 'careful']],
  ];
  it.each(cases)('%s', (_name, policy, own, expected) => {
    const account = { id: 'tester', policy: own };
    expect(sceneUnder(policy).order({}, {}, { account })).toEqual(expected);
  });

  const attempts: readonly (readonly [string, RoutingPolicy, ProviderPreferences, readonly string[]])[] = [
    ['data_collection: allow', { dataCollection: 'deny' }, { data_collection: 'allow' }, ['careful', 'private']],
    ['zdr: false', { zeroDataRetention: true }, { zdr: false }, ['private']],
    [
      'enforce_distillable_text: false',
      { enforceDistillableText: true },
      { enforce_distillable_text: false },
      ['open'],
    ],
    ['a wider only', { only: ['open'] }, { only: ['open', 'careful', 'private'] }, ['open']],
    ['an only outside the allow-list', { only: ['open'] }, { only: ['private'] }, []],
    ['an order that names an ignored provider', { ignore: ['open'] }, { order: ['open'] }, ['careful', 'private']],
    ['a higher max_price', { maxPrice: { prompt: 1 } }, { max_price: { prompt: 10 } }, ['open']],
    ['a max_price for something else', { maxPrice: { prompt: 2 } }, { max_price: { completion: 1 } }, ['open']],
  ];
  it.each(attempts)('cannot be loosened by %s', (_name, policy, provider, expected) => {
    expect(sceneUnder(policy).order({ provider })).toEqual(expected);
    expect(sceneUnder({}).order({ provider }, {}, { account: { id: 'tester', policy } })).toEqual(expected);
  });

  it('are tightened by a request', () => {
    expect(sceneUnder({ maxPrice: { prompt: 3 } }).order({ provider: { max_price: { prompt: 1 } } })).toEqual(['open']);
    expect(sceneUnder({ ignore: ['open'] }).order({ provider: { ignore: ['careful'] } })).toEqual(['private']);
    expect(sceneUnder({ dataCollection: 'deny' }).order({ provider: { zdr: true } })).toEqual(['private']);
  });
});
