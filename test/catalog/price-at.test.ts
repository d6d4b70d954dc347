import { describe, expect, it } from 'vitest';
import { billedTier, namedTier, ratesAt, unixSecondsOfDay } from '../../src/catalog/price-at.ts';
import { type BilledTier, isFree, type Price } from '../../src/catalog/price.ts';

const PRICE: Price = { prompt: 2, completion: 10 };
const AT = Date.UTC(2026, 7, 18, 12) / 1_000;

/** Input and output price of a request. */
function pair(price: Price, at: number, promptTokens = 0, otherTier?: BilledTier): readonly number[] | undefined {
  const rates = ratesAt(price, { at, promptTokens, otherTier });
  return rates && [rates.prompt, rates.completion];
}

describe('rates for long prompts', () => {
  const price: Price = {
    ...PRICE,
    cacheRead: 0.2,
    above: [
      { promptTokens: 500_000, prompt: 8, completion: 30 },
      { promptTokens: 200_000, prompt: 4, completion: 15 },
    ],
  };

  it.each([
    [0, [2, 10]],
    [200_000, [2, 10]],
    [200_001, [4, 15]],
    [500_000, [4, 15]],
    [500_001, [8, 30]],
  ])('hold from the token after their bound on: %d tokens cost %j', (tokens, expected) => {
    expect(pair(price, AT, tokens)).toEqual(expected);
  });

  it('leave the rates that they do not name', () => {
    expect(ratesAt(price, { at: AT, promptTokens: 300_000 })).toMatchObject({ prompt: 4, cacheRead: 0.2 });
  });
});

describe('rates that change with time', () => {
  const price: Price = {
    ...PRICE,
    changes: [
      { from: Date.UTC(2026, 7, 17) / 1_000, price: { prompt: 1, completion: 5 } },
      { hours: { from: 60, to: 240 }, price: { prompt: 3, completion: 12 } },
      { hours: { from: 1_380, to: 30 }, price: { prompt: 4, completion: 14 } },
    ],
  };

  it.each([
    ['2026-08-16T23:59:59Z', [4, 14]],
    ['2026-08-16T12:00:00Z', [2, 10]],
    ['2026-08-17T00:29:59Z', [4, 14]],
    ['2026-08-17T00:30:00Z', [1, 5]],
    ['2026-08-18T00:59:59Z', [1, 5]],
    ['2026-08-18T01:00:00Z', [3, 12]],
    ['2026-08-18T03:59:59Z', [3, 12]],
    ['2026-08-18T04:00:00Z', [1, 5]],
  ])('at %s are %j', (time, expected) => {
    expect(pair(price, Date.parse(time) / 1_000)).toEqual(expected);
  });
});

describe('rates of another tier', () => {
  const price: Price = {
    ...PRICE,
    request: 0.01,
    above: [{ promptTokens: 100, prompt: 4, completion: 20 }],
    serviceTiers: { flex: 0.5, priority: { prompt: 5, completion: 25 } },
  };

  it('are multiples of the token rates, also for long prompts, and never of the rates per unit', () => {
    expect(pair(price, AT, 0, 'flex')).toEqual([1, 5]);
    expect(pair(price, AT, 101, 'flex')).toEqual([2, 10]);
    expect(ratesAt(price, { at: AT, promptTokens: 0, otherTier: 'flex' })?.request).toBe(0.01);
  });

  it('are prices of their own', () => {
    expect(pair(price, AT, 101, 'priority')).toEqual([5, 25]);
  });

  it('are unknown where nobody told them, and not those of the endpoint', () => {
    expect(pair(price, AT, 0, 'batch')).toBeUndefined();
    expect(pair(PRICE, AT, 0, 'flex')).toBeUndefined();
  });

  it.each([
    ['default', null, undefined],
    ['default', 'default', undefined],
    ['default', 'Standard', undefined],
    ['default', 'on_demand', undefined],
    ['default', 'scale', undefined],
    ['default', 'flex', 'flex'],
    ['default', 'fast', 'priority'],
    ['flex', 'flex', undefined],
    ['flex', 'standard', 'default'],
    ['priority', 'default', 'default'],
    ['priority', undefined, undefined],
    ['batch', 'batch', undefined],
  ] as const)('are asked for when an endpoint of %s says that it served in %s: %s', (own, served, expected) => {
    expect(billedTier(own, served)).toBe(expected);
  });
});

describe('the tier that an answer names', () => {
  it.each([
    ['Standard', 'default'],
    ['on_demand', 'default'],
    ['fast', 'priority'],
    ['flex', 'flex'],
    ['scale', 'scale'],
    ['auto', null],
    [null, null],
    [undefined, null],
  ])('is, for a provider that says %s, %s', (served, named) => {
    expect(namedTier(served)).toBe(named);
  });
});

describe('a price that is free', () => {
  const free: Price = { prompt: 0, completion: 0 };

  it.each([
    [undefined, false],
    [free, true],
    [{ ...free, cacheRead: undefined, request: 0 }, true],
    [{ ...free, request: 0.01 }, false],
    [{ ...free, above: [{ promptTokens: 1_000, prompt: 0 }] }, true],
    [{ ...free, above: [{ promptTokens: 1_000, prompt: 1 }] }, false],
    [{ ...free, changes: [{ from: 5, price: free }] }, true],
    [{ ...free, changes: [{ from: 5, price: PRICE }] }, false],
    [{ ...free, serviceTiers: { priority: PRICE } }, true],
  ])('is so at every length and time: %j is %s', (price, expected) => {
    expect(isFree(price)).toBe(expected);
  });
});

describe('days', () => {
  it.each(['1970-01-01', '1999-12-31', '2000-02-29', '2024-02-29', '2026-11-20', '2100-03-01'])(
    '%s begins when the platform says',
    (day) => {
      expect(unixSecondsOfDay(day)).toBe(Date.parse(`${day}T00:00:00Z`) / 1_000);
    },
  );

  it('may be whole months', () => {
    expect(unixSecondsOfDay('2026-05')).toBe(Date.UTC(2026, 4, 1) / 1_000);
  });

  it.each(['', 'soon', '2026', '2026-13', '2026-00', '2026-02-29', '2100-02-29', '2026-04-31', '2026-1-1'])(
    '%j is none',
    (text) => {
      expect(unixSecondsOfDay(text)).toBeUndefined();
    },
  );
});
