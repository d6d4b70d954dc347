import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Cost, type ImageCounts, nanoFromUsd, priceUsage, usdFromNano } from '../../src/catalog/cost.ts';
import type { Price, Rates } from '../../src/catalog/price.ts';
import { runs } from '../support/properties.ts';
import type { Usage } from '../../src/protocol/usage.ts';

const PRICE: Price = { prompt: 2, completion: 10 };

function usageOf(prompt: number, completion: number, more: Partial<Usage> = {}): Usage {
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion, ...more };
}

/** The cost of something whose price is known. */
function costOf(rates: Rates, usage: Usage, images?: ImageCounts): Cost {
  const cost = priceUsage(rates, usage, images);
  if (cost === undefined) throw new Error('has a price');
  return cost;
}

/** US dollars with nine digits, as whole nano-dollars. */
function nano(usd: number): number {
  return Math.round(usd * 1e9);
}

describe('a cost', () => {
  const cases: [name: string, price: Price, usage: Usage, prompt: number, completion: number, tools?: number][] = [
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
      0,
      0,
      0.012,
    ],
    [
      'cache writes that are only told by lifetime',
      { ...PRICE, cacheWrite: 2.5, cacheWrite1h: 4 },
      usageOf(1_000, 0, { cache_creation: { ephemeral_5m_input_tokens: 300, ephemeral_1h_input_tokens: 100 } }),
      0.00235,
      0,
    ],
    [
      'pictures and films at their own prices',
      { ...PRICE, imagePrompt: 8, videoPrompt: 12 },
      usageOf(1_000, 0, { prompt_tokens_details: { image_tokens: 100, video_tokens: 200 } }),
      0.0046,
      0,
    ],
  ];
  it.each(cases)('counts %s', (_name, price, usage, prompt, completion, tools = 0) => {
    expect(costOf(price, usage)).toMatchObject({
      promptNanoUsd: nano(prompt),
      completionNanoUsd: nano(completion),
      toolsNanoUsd: nano(tools),
      totalNanoUsd: nano(prompt) + nano(completion) + nano(tools),
    });
  });

  it('tells what was billed, part by part', () => {
    const usage = usageOf(1_000, 100, {
      prompt_tokens_details: { cached_tokens: 600 },
      completion_tokens_details: { reasoning_tokens: 40 },
      server_tool_use: { web_search_requests: 1 },
    });
    const rates = { ...PRICE, cacheRead: 0.2, request: 0.001, webSearch: 0.01 };
    expect(costOf(rates, usage, { input: 0, output: 0 }).parts).toEqual([
      { item: 'prompt', units: 400, nanoUsd: 800_000 },
      { item: 'cache_read', units: 600, nanoUsd: 120_000 },
      { item: 'request', units: 1, nanoUsd: 1_000_000 },
      { item: 'completion', units: 60, nanoUsd: 600_000 },
      { item: 'reasoning', units: 40, nanoUsd: 400_000 },
      { item: 'web_search', units: 1, nanoUsd: 10_000_000 },
    ]);
  });

  it('is unknown for searches that nobody priced, and not what the tokens cost', () => {
    const searched = usageOf(10, 10, { server_tool_use: { web_search_requests: 1 } });
    expect(priceUsage(PRICE, searched)).toBeUndefined();
    expect(costOf({ ...PRICE, webSearch: 0 }, searched).toolsNanoUsd).toBe(0);
  });

  it('counts images of the request and of the answer', () => {
    const rates = { ...PRICE, image: 0.001, outputImage: 0.04 };
    const cost = costOf(rates, usageOf(0, 0), { input: 3, output: 2 });
    expect([cost.promptNanoUsd, cost.completionNanoUsd]).toEqual([nano(0.003), nano(0.08)]);
  });

  it('counts the smallest prices exactly', () => {
    expect(costOf({ prompt: 0.001, completion: 0 }, usageOf(1, 0)).totalNanoUsd).toBe(1);
    expect(usdFromNano(costOf({ prompt: 0.15, completion: 0.6 }, usageOf(13, 16)).totalNanoUsd)).toBe(0.00001155);
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
  imagePrompt: maybeUsd,
  videoPrompt: maybeUsd,
  request: maybeUsd,
  image: maybeUsd,
  outputImage: maybeUsd,
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
    imageIn: maybe,
    videoIn: maybe,
    minutes: maybe,
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
        image_tokens: parts.imageIn,
        video_tokens: parts.videoIn,
      }),
      cache_creation: withoutUndefined({
        ephemeral_1h_input_tokens: parts.hour,
        ephemeral_5m_input_tokens: parts.minutes,
      }),
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
    const cost = costOf({ prompt: 1, completion: 1, ...hour, [name]: 0 }, everything);
    expect([cost.promptNanoUsd, cost.completionNanoUsd]).toEqual([(100 - prompt) * 1_000, (100 - completion) * 1_000]);
  });
});

describe('conservation', () => {
  it('the total is the sum of its parts, in whole nano-dollars that are never negative', () => {
    fc.assert(
      fc.property(anyPrice, anyUsage, fc.nat(20), fc.nat(20), (price, usage, input, output) => {
        const { parts, promptNanoUsd, completionNanoUsd, toolsNanoUsd, totalNanoUsd } = costOf(price, usage, {
          input,
          output,
        });
        expect(totalNanoUsd).toBe(promptNanoUsd + completionNanoUsd + toolsNanoUsd);
        expect(parts.reduce((sum, part) => sum + part.nanoUsd, 0)).toBe(totalNanoUsd);
        for (const { units, nanoUsd } of parts) {
          expect(Number.isSafeInteger(nanoUsd)).toBe(true);
          expect(nanoUsd).toBeGreaterThanOrEqual(0);
          expect(units).toBeGreaterThan(0);
        }
      }),
      runs(2_000),
    );
  });

  it('at one price for everything, each token is billed exactly once, whatever its parts claim', () => {
    fc.assert(
      fc.property(anyUsage, usd, (usage, amount) => {
        const flat: Price = { prompt: amount, completion: amount };
        const { promptNanoUsd, completionNanoUsd } = costOf(flat, usage);
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
          price.imagePrompt ?? price.prompt,
          price.videoPrompt ?? price.prompt,
        ];
        const { promptNanoUsd } = costOf({ ...price, request: undefined }, usage);
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
        const before = costOf(price, usageOf(prompt, completion)).totalNanoUsd;
        expect(costOf(price, usageOf(prompt + more, completion)).totalNanoUsd).toBeGreaterThanOrEqual(before);
        expect(costOf(price, usageOf(prompt, completion + more)).totalNanoUsd).toBeGreaterThanOrEqual(before);
      }),
      runs(1_000),
    );
  });

  it('nonsense below zero costs nothing', () => {
    const usage = usageOf(-5, -5, {
      prompt_tokens_details: { cached_tokens: 3 },
      server_tool_use: { web_search_requests: -2 },
    });
    expect(costOf({ ...PRICE, webSearch: 1 }, usage).totalNanoUsd).toBe(0);
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
