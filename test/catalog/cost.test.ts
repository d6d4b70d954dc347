import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nanoFromUsd, priceUsage, usdFromNano } from '../../src/catalog/cost.ts';
import type { Price } from '../../src/catalog/price.ts';
import type { Usage } from '../../src/protocol/usage.ts';
import { runs } from '../support/properties.ts';

const PRICE: Price = { prompt: 2, completion: 10 };

function usageOf(prompt: number, completion: number, more: Partial<Usage> = {}): Usage {
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion, ...more };
}

/** US dollars with nine digits, as whole nano-dollars. */
function nano(usd: number): number {
  return Math.round(usd * 1e9);
}

describe('a cost', () => {
  const cases: readonly (readonly [string, Price, Usage, number, number])[] = [
    ['input and output', PRICE, usageOf(1_000, 500), 0.002, 0.005],
    ['nothing used', PRICE, usageOf(0, 0), 0, 0],
    [
      'cached input at its own price',
      { ...PRICE, cacheRead: 0.2 },
      usageOf(1_000, 0, { prompt_tokens_details: { cached_tokens: 600 } }),
      0.00092,
      0,
    ],
    [
      'cached input without a price of its own',
      PRICE,
      usageOf(1_000, 0, { prompt_tokens_details: { cached_tokens: 600 } }),
      0.002,
      0,
    ],
    [
      'cache writes',
      { ...PRICE, cacheWrite: 2.5 },
      usageOf(1_000, 0, { prompt_tokens_details: { cache_write_tokens: 400 } }),
      0.0022,
      0,
    ],
    [
      'cache writes by lifetime',
      { ...PRICE, cacheWrite: 2.5, cacheWrite1h: 4 },
      usageOf(1_000, 0, {
        prompt_tokens_details: { cache_write_tokens: 400 },
        cache_creation: { ephemeral_1h_input_tokens: 100 },
      }),
      0.00235,
      0,
    ],
    [
      'an hour of cache at the price of minutes',
      { ...PRICE, cacheWrite: 2.5 },
      usageOf(1_000, 0, { cache_creation: { ephemeral_1h_input_tokens: 100 } }),
      0.00205,
      0,
    ],
    [
      'reasoning at its own price',
      { ...PRICE, reasoning: 20 },
      usageOf(0, 500, { completion_tokens_details: { reasoning_tokens: 200 } }),
      0,
      0.007,
    ],
    ['reasoning as output', PRICE, usageOf(0, 500, { completion_tokens_details: { reasoning_tokens: 200 } }), 0, 0.005],
    [
      'sound in and out',
      { ...PRICE, audioPrompt: 40, audioCompletion: 80 },
      usageOf(100, 100, {
        prompt_tokens_details: { audio_tokens: 50 },
        completion_tokens_details: { audio_tokens: 50 },
      }),
      0.0021,
      0.0045,
    ],
    [
      'images out',
      { ...PRICE, imageCompletion: 30 },
      usageOf(0, 100, { completion_tokens_details: { image_tokens: 100 } }),
      0,
      0.003,
    ],
    ['a price per request', { ...PRICE, request: 0.01 }, usageOf(0, 0), 0.01, 0],
    [
      'searches',
      { ...PRICE, webSearch: 0.004 },
      usageOf(0, 0, { server_tool_use: { web_search_requests: 3 } }),
      0.012,
      0,
    ],
  ];
  it.each(cases)('counts %s', (_name, price, usage, prompt, completion) => {
    expect(priceUsage(price, usage)).toEqual({
      promptNanoUsd: nano(prompt),
      completionNanoUsd: nano(completion),
      totalNanoUsd: nano(prompt) + nano(completion),
    });
  });

  it('counts images of the request', () => {
    expect(priceUsage({ ...PRICE, image: 0.001 }, usageOf(0, 0), 3).totalNanoUsd).toBe(nano(0.003));
  });

  it('counts the smallest prices exactly', () => {
    expect(priceUsage({ prompt: 0.001, completion: 0 }, usageOf(1, 0)).totalNanoUsd).toBe(1);
    expect(usdFromNano(priceUsage({ prompt: 0.15, completion: 0.6 }, usageOf(13, 16)).totalNanoUsd)).toBe(0.00001155);
  });
});

const tokens = fc.integer({ min: 0, max: 10_000_000 });
const maybe = fc.option(fc.integer({ min: -100, max: 20_000_000 }), { nil: undefined });
const usd = fc.integer({ min: 0, max: 1_000_000 }).map((thousandths) => thousandths / 1_000);
const maybeUsd = fc.option(usd, { nil: undefined });

const anyPrice: fc.Arbitrary<Price> = fc.record({
  prompt: usd,
  completion: usd,
  cacheRead: maybeUsd,
  cacheWrite: maybeUsd,
  cacheWrite1h: maybeUsd,
  reasoning: maybeUsd,
  audioPrompt: maybeUsd,
  audioCompletion: maybeUsd,
  imageCompletion: maybeUsd,
});

/** Usage whose parts may overlap, exceed the whole or be negative. */
const anyUsage: fc.Arbitrary<Usage> = fc
  .record({
    prompt: tokens,
    completion: tokens,
    cached: maybe,
    written: maybe,
    hour: maybe,
    audioIn: maybe,
    reasoning: maybe,
    audioOut: maybe,
    image: maybe,
  })
  .map((parts) =>
    usageOf(parts.prompt, parts.completion, {
      prompt_tokens_details: withoutUndefined({
        cached_tokens: parts.cached,
        cache_write_tokens: parts.written,
        audio_tokens: parts.audioIn,
      }),
      cache_creation: withoutUndefined({ ephemeral_1h_input_tokens: parts.hour }),
      completion_tokens_details: withoutUndefined({
        reasoning_tokens: parts.reasoning,
        audio_tokens: parts.audioOut,
        image_tokens: parts.image,
      }),
    }),
  );

function withoutUndefined<Counts extends object>(counts: Counts): { [Name in keyof Counts]: number } {
  const known = Object.entries(counts).filter(([, count]) => count !== undefined);
  return Object.fromEntries(known) as { [Name in keyof Counts]: number };
}

describe('a price of zero', () => {
  const everything = usageOf(100, 100, {
    prompt_tokens_details: { cached_tokens: 20, cache_write_tokens: 40, audio_tokens: 20 },
    cache_creation: { ephemeral_1h_input_tokens: 20 },
    completion_tokens_details: { reasoning_tokens: 20, audio_tokens: 20, image_tokens: 20 },
  });

  it.each([
    ['cacheRead', 20, 0],
    ['cacheWrite', 20, 0],
    ['cacheWrite1h', 20, 0],
    ['audioPrompt', 20, 0],
    ['reasoning', 0, 20],
    ['audioCompletion', 0, 20],
    ['imageCompletion', 0, 20],
  ] as const)('for %s is free, and not the price that would stand in', (name, prompt, completion) => {
    // Where an hour of cache has no price of its own, it costs what minutes cost.
    const hour = name === 'cacheWrite' ? { cacheWrite1h: 1 } : {};
    const cost = priceUsage({ prompt: 1, completion: 1, ...hour, [name]: 0 }, everything);
    expect([cost.promptNanoUsd, cost.completionNanoUsd]).toEqual([(100 - prompt) * 1_000, (100 - completion) * 1_000]);
  });
});

describe('conservation', () => {
  it('the total is the sum of its parts, in whole nano-dollars that are never negative', () => {
    fc.assert(
      fc.property(anyPrice, anyUsage, fc.nat(20), (price, usage, images) => {
        const { promptNanoUsd, completionNanoUsd, totalNanoUsd } = priceUsage(price, usage, images);
        expect(totalNanoUsd).toBe(promptNanoUsd + completionNanoUsd);
        expect(Number.isSafeInteger(totalNanoUsd)).toBe(true);
        expect(Math.min(promptNanoUsd, completionNanoUsd)).toBeGreaterThanOrEqual(0);
      }),
      runs(2_000),
    );
  });

  it('at one price for everything, each token is billed exactly once, whatever its parts claim', () => {
    fc.assert(
      fc.property(anyUsage, usd, (usage, amount) => {
        const flat: Price = { prompt: amount, completion: amount };
        const { promptNanoUsd, completionNanoUsd } = priceUsage(flat, usage);
        expect(promptNanoUsd).toBe(Math.round((usage.prompt_tokens * Math.round(amount * 1e6)) / 1_000));
        expect(completionNanoUsd).toBe(Math.round((usage.completion_tokens * Math.round(amount * 1e6)) / 1_000));
      }),
      runs(2_000),
    );
  });

  it('a cost lies between all tokens at the lowest and all tokens at the highest price', () => {
    fc.assert(
      fc.property(anyPrice, anyUsage, (price, usage) => {
        const write = price.cacheWrite ?? price.prompt;
        const ways = [
          price.prompt,
          price.cacheRead ?? price.prompt,
          write,
          price.cacheWrite1h ?? write,
          price.audioPrompt ?? price.prompt,
        ];
        const { promptNanoUsd } = priceUsage(price, usage);
        const at = (amount: number): number => usage.prompt_tokens * amount * 1_000;
        expect(promptNanoUsd).toBeGreaterThanOrEqual(at(Math.min(...ways)) - 1);
        expect(promptNanoUsd).toBeLessThanOrEqual(at(Math.max(...ways)) + 1);
      }),
      runs(2_000),
    );
  });

  it('more tokens never cost less', () => {
    fc.assert(
      fc.property(anyPrice, tokens, tokens, tokens, (price, prompt, completion, more) => {
        const before = priceUsage(price, usageOf(prompt, completion)).totalNanoUsd;
        expect(priceUsage(price, usageOf(prompt + more, completion)).totalNanoUsd).toBeGreaterThanOrEqual(before);
        expect(priceUsage(price, usageOf(prompt, completion + more)).totalNanoUsd).toBeGreaterThanOrEqual(before);
      }),
      runs(1_000),
    );
  });

  it('nonsense below zero costs nothing', () => {
    const usage = usageOf(-5, -5, {
      prompt_tokens_details: { cached_tokens: 3 },
      server_tool_use: { web_search_requests: -2 },
    });
    expect(priceUsage({ ...PRICE, webSearch: 1 }, usage).totalNanoUsd).toBe(0);
  });

  it('dollars survive the way to nano-dollars and back', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 10 ** 13 }), (amount) => {
        expect(nanoFromUsd(usdFromNano(amount))).toBe(amount);
      }),
      runs(2_000),
    );
  });
});
