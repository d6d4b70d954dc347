import { describe, expect, it } from 'vitest';
import type { ChatRequest } from '../../../src/protocol/chat-request.ts';
import { recordMeasured, times } from '../../support/records.ts';
import { MODEL, costing, reasonsOf, serving } from '../../support/requests.ts';

const scene = serving({
  alpha: [costing(4), { ...costing(8), tier: 'priority' }, { ...costing(2), tier: 'flex' }],
  beta: [costing(5), { ...costing(10), tier: 'priority' }, { ...costing(1), tier: 'flex' }],
});

/** In tokens per second: beta is faster than alpha, and priority faster than default. */
const records = {
  alpha: recordMeasured(times(5, { tokensPerSecond: 20 })),
  beta: recordMeasured(times(5, { tokensPerSecond: 40 })),
  'alpha/priority': recordMeasured(times(5, { tokensPerSecond: 80 })),
  'beta/priority': recordMeasured(times(5, { tokensPerSecond: 160 })),
};

const DEFAULTS = ['alpha', 'beta'];

describe('service_tier', () => {
  const cases: readonly (readonly [string, Partial<ChatRequest>, readonly string[]])[] = [
    ['absent means the default tier', {}, DEFAULTS],
    ['auto means the default tier', { service_tier: 'auto' }, DEFAULTS],
    ['default means the default tier', { service_tier: 'default' }, DEFAULTS],
    ['scale means the default tier', { service_tier: 'scale' }, DEFAULTS],
    ['null means the default tier', { service_tier: null }, DEFAULTS],
    [
      'priority puts the priority endpoints first, each group by throughput',
      { service_tier: 'priority' },
      ['beta/priority', 'alpha/priority', 'beta', 'alpha'],
    ],
    ['fast is priority', { service_tier: 'fast' }, ['beta/priority', 'alpha/priority', 'beta', 'alpha']],
    [
      'priority with an explicit sort keeps its groups',
      { service_tier: 'priority', provider: { sort: 'price' } },
      ['alpha/priority', 'beta/priority', 'alpha', 'beta'],
    ],
    ['flex takes flex endpoints only, by price', { service_tier: 'flex' }, ['beta/flex', 'alpha/flex']],
    [
      ':nitro admits priority and sorts by throughput',
      { model: `${MODEL}:nitro` },
      ['beta/priority', 'alpha/priority', 'beta', 'alpha'],
    ],
    [
      ':floor admits flex and sorts by price',
      { model: `${MODEL}:floor` },
      ['beta/flex', 'alpha/flex', 'alpha', 'beta'],
    ],
    ['default cancels what :nitro admits', { model: `${MODEL}:nitro`, service_tier: 'default' }, ['beta', 'alpha']],
    ['default cancels what :floor admits', { model: `${MODEL}:floor`, service_tier: 'default' }, ['alpha', 'beta']],
    [
      'auto cancels nothing',
      { model: `${MODEL}:floor`, service_tier: 'auto' },
      ['beta/flex', 'alpha/flex', 'alpha', 'beta'],
    ],
    ['order cancels what :nitro admits', { model: `${MODEL}:nitro`, provider: { order: ['alpha'] } }, DEFAULTS],
    [
      'a sort of the request wins over that of :nitro, whose tier stays admitted',
      { model: `${MODEL}:nitro`, provider: { sort: 'price' } },
      ['alpha', 'beta', 'alpha/priority', 'beta/priority'],
    ],
  ];
  it.each(cases)('%s', (_name, body, expected) => {
    expect(scene.order(body, { records })).toEqual(expected);
  });

  it('flex never falls back to the default tier, also when no flex endpoint qualifies', () => {
    const plan = scene.plan({ service_tier: 'flex', provider: { max_price: { prompt: 0.1 } } });
    expect(plan.steps).toEqual([]);
    expect(reasonsOf(plan)).toMatchObject({ 'alpha/flex': 'max_price', 'beta/flex': 'max_price' });
    expect(scene.order({ service_tier: 'flex', provider: { only: ['alpha'] } })).toEqual([]);
  });

  it('flex is ordinary routing for a model without flex endpoints', () => {
    const plain = serving({ alpha: costing(1), beta: costing(3) });
    expect(plain.plan({ service_tier: 'flex' }).steps[0]?.why).toBe('weighted by price');
    expect(plain.order({ service_tier: 'flex' }, { roll: 0.95 })).toEqual(['beta', 'alpha']);
  });

  it('priority falls back to the default tier where there is no priority endpoint', () => {
    expect(serving({ alpha: {}, beta: {} }).order({ service_tier: 'priority' })).toEqual(DEFAULTS);
  });

  it('says why a tier was left out', () => {
    expect(reasonsOf(scene.plan())).toMatchObject({ 'alpha/priority': 'service_tier', 'beta/flex': 'service_tier' });
  });
});
