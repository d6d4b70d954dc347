import { describe, expect, it } from 'vitest';
import type { ProviderPreferences } from '../../../src/protocol/provider-preferences.ts';
import { recordAfter, recordMeasured, times } from '../../support/records.ts';
import { costing, serving } from '../../support/requests.ts';

const scene = serving({ cheap: costing(1), middle: costing(5), dear: costing(9) });
const sticky = 'dear#acme/one';

describe('a sticky session', () => {
  it('puts its endpoint first and leaves the others as they are', () => {
    const plan = scene.plan({}, { sticky });
    expect(plan.steps.map(({ endpoint, why }) => [endpoint.tag, why])).toEqual([
      ['dear', 'sticky session'],
      ['cheap', 'weighted by price'],
      ['middle', 'next by price'],
    ]);
  });

  it('comes before a sort and before thresholds', () => {
    expect(scene.order({ provider: { sort: 'price' } }, { sticky })[0]).toBe('dear');
    const records = { cheap: recordMeasured(times(5, { latencyMs: 10 })) };
    expect(scene.order({ provider: { preferred_max_latency: 1 } }, { sticky, records })[0]).toBe('dear');
  });

  it('is switched off by order', () => {
    expect(scene.order({ provider: { order: ['middle'] } }, { sticky })).toEqual(['middle', 'cheap', 'dear']);
  });

  const filters: readonly ProviderPreferences[] = [
    { ignore: ['dear'] },
    { only: ['cheap', 'middle'] },
    { max_price: { prompt: 3 } },
  ];
  it.each(filters)('never brings back an endpoint that %j leaves out', (provider) => {
    expect(scene.order({ provider }, { sticky })).toEqual(['cheap', 'middle']);
  });

  it('holds while its endpoint is unstable; whether it may be called at all is asked later', () => {
    expect(scene.order({}, { sticky, records: { dear: recordAfter(['server', 'server']) } })[0]).toBe('dear');
  });

  it('means nothing when its endpoint is unknown', () => {
    expect(scene.order({}, { sticky: 'gone#acme/one' })).toEqual(['cheap', 'middle', 'dear']);
  });
});
