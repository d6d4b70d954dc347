import { calcPrice, findProvider } from '@pydantic/genai-prices';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { usdFromNano, priceUsage } from '../../src/catalog/cost.ts';
import { parseGenaiPrices } from '../../src/catalog/genai-prices.ts';
import type { Price } from '../../src/catalog/price.ts';
import { ratesAt } from '../../src/catalog/price-at.ts';
import { VENDOR_IDS } from '../../src/catalog/vendor-ids.ts';
import { checkCatalogLock } from '../../src/protocol/catalog-lock.ts';
import { inProportion, runs } from '../support/properties.ts';

const IDS = Object.values(VENDOR_IDS).flatMap(({ genaiPrices }) => genaiPrices ?? []);
const FACTS = parseGenaiPrices(
  IDS.map((providerId) => findProvider({ providerId })),
  '2026-11-20',
);

/** Every model that has a price, under the names of the package. */
const PRICED = Object.entries(FACTS.vendors).flatMap(([slug, models]) =>
  Object.entries(models).flatMap(([model, { endpoint }]) =>
    endpoint?.price === undefined
      ? []
      : [{ provider: VENDOR_IDS[slug]?.genaiPrices ?? slug, model, price: endpoint.price }],
  ),
);

/** The price of a model of one vendor that is written like this. */
function priceOf(prices: unknown): Price | undefined {
  const { vendors } = parseGenaiPrices([{ id: 'groq', models: [{ id: 'one', prices }] }], '2026-11-20');
  return vendors['groq']?.['one']?.endpoint?.price;
}

describe('facts of genai-prices', () => {
  it('are there for every vendor that the package knows, most of them with prices', () => {
    expect(Object.keys(FACTS.vendors).length).toBe(IDS.length);
    expect(PRICED.length).toBeGreaterThan(900);
    expect(checkCatalogLock(FACTS)).toEqual({ ok: true });
  });

  it('cost what the package itself computes, at any length and any time', () => {
    const someModel = fc.constantFrom(...PRICED, ...PRICED.filter(({ price }) => price.above ?? price.changes));
    const tokens = fc.oneof(fc.nat(1_000), fc.nat(1_000_000), fc.constantFrom(199_999, 200_000, 200_001, 272_000));
    const time = fc.date({ min: new Date('2025-01-01'), max: new Date('2027-06-01'), noInvalidDate: true });
    let compared = 0;
    fc.assert(
      fc.property(
        someModel,
        tokens,
        fc.nat(100),
        tokens,
        time,
        ({ provider, model, price }, prompt, share, completion, date) => {
          const cached = Math.floor((prompt * share) / 100);
          const usage = {
            input_tokens: prompt,
            output_tokens: completion,
            ...(price.cacheRead === undefined ? {} : { cache_read_tokens: cached }),
          };
          const theirs = calcPrice(usage, model, { providerId: provider, timestamp: date });
          // Some names lead to another entry first, by resemblance.
          if (theirs?.model.id !== model || theirs.provider.id !== provider) return;
          const rates = ratesAt(price, { at: Math.floor(date.getTime() / 1_000), promptTokens: prompt });
          const cost =
            rates &&
            priceUsage(rates, {
              prompt_tokens: prompt,
              completion_tokens: completion,
              total_tokens: prompt + completion,
              ...(price.cacheRead === undefined ? {} : { prompt_tokens_details: { cached_tokens: cached } }),
            });
          compared += 1;
          expect(usdFromNano(cost?.totalNanoUsd ?? Number.NaN)).toBeCloseTo(theirs.total_price, 7);
        },
      ),
      runs(1_500),
    );
    expect(compared).toBeGreaterThan(inProportion(1_000));
  });

  it('are from the day of the latest change up to today', () => {
    const prices = [
      { prices: { input_mtok: 1, output_mtok: 2 } },
      { constraint: { type: 'start_date', start_date: '2026-03-01' }, prices: { input_mtok: 2, output_mtok: 3 } },
      { constraint: { type: 'start_date', start_date: '2027-01-01' }, prices: { input_mtok: 3, output_mtok: 4 } },
    ];
    const facts = parseGenaiPrices([{ id: 'groq', models: [{ id: 'one', prices }] }], '2026-11-20');
    expect(facts.origins).toEqual([{ source: '@pydantic/genai-prices', date: '2026-03-01', licence: 'MIT' }]);
  });

  it('hold tiers, days and hours', () => {
    const tiered = { base: 1, tiers: [{ start: 200_000, price: 2 }] };
    expect(
      priceOf([
        {
          prices: {
            input_mtok: tiered,
            output_mtok: 5,
            cache_write_1h_mtok: 3,
            web_searches_kcount: 10,
            requests_kcount: 2,
          },
        },
        { constraint: { type: 'start_date', start_date: '2026-08-17' }, prices: { input_mtok: 2, output_mtok: 6 } },
        {
          constraint: { type: 'time_of_date', start_time: '16:30:00Z', end_time: '02:30:00+02:00' },
          prices: { input_mtok: 3, output_mtok: 7, storage_searches_kcount: 2.5 },
        },
      ]),
    ).toEqual({
      prompt: 1,
      completion: 5,
      cacheWrite1h: 3,
      webSearch: 0.01,
      request: 0.002,
      above: [{ promptTokens: 200_000, prompt: 2, completion: 5, cacheWrite1h: 3, webSearch: 0.01, request: 0.002 }],
      changes: [
        { from: Date.UTC(2026, 7, 17) / 1_000, price: { prompt: 2, completion: 6 } },
        { hours: { from: 990, to: 30 }, price: { prompt: 3, completion: 7 } },
      ],
    });
  });

  it.each([
    ['there is none for output', { input_mtok: 1 }],
    ['something is billed that nobody counts', { input_mtok: 1, output_mtok: 2, output_citation_mtok: 3 }],
    ['an amount makes no sense', { input_mtok: 1, output_mtok: 'free' }],
    ['a tier makes no sense', { input_mtok: { base: 1, tiers: [{ start: 5 }] }, output_mtok: 2 }],
    [
      'a time makes no sense',
      [
        { prices: { input_mtok: 1, output_mtok: 1 } },
        { constraint: { type: 'full moon' }, prices: { input_mtok: 2, output_mtok: 2 } },
      ],
    ],
  ])('have no price at all where %s', (_why, prices) => {
    expect(priceOf(prices)).toBeUndefined();
  });

  it('never fail, and always are what a lock file may hold, whatever they are read from', () => {
    const amounts = fc.dictionary(
      fc.constantFrom('input_mtok', 'output_mtok', 'cache_read_mtok', 'requests_kcount', 'output_video_mtok'),
      fc.oneof(fc.double(), fc.jsonValue(), fc.record({ base: fc.nat(), tiers: fc.jsonValue() })),
    );
    const entry = fc.record({ constraint: fc.oneof(fc.jsonValue(), fc.constant(undefined)), prices: amounts });
    const model = fc.record({
      id: fc.oneof(fc.string(), fc.constant('__proto__')),
      prices: fc.oneof(fc.jsonValue(), amounts, fc.array(entry)),
    });
    const provider = fc.oneof(
      fc.jsonValue(),
      fc.record({ id: fc.constantFrom('openai', 'groq'), models: fc.oneof(fc.jsonValue(), fc.array(model)) }),
    );
    fc.assert(
      fc.property(fc.array(provider), (providers) => {
        const facts = parseGenaiPrices(providers, '2026-11-20');
        expect(checkCatalogLock(JSON.parse(JSON.stringify(facts)))).toEqual({ ok: true });
      }),
      runs(300),
    );
  });
});
