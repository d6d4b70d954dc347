import * as fc from 'fast-check';
import { type Price, type StreamPiece, type Usage, createRouter } from 'signalbox';
import { fakeEnvironment } from 'signalbox/testing';
import { describe, expect, it } from 'vitest';
import { fedProvider } from '../support/fed-provider.ts';
import { inProportion, runs } from '../support/properties.ts';

const tokens = fc.nat(500_000);
const some = fc.option(fc.nat(300_000), { nil: 0 });
const usd = fc.nat(10_000).map((thousandths) => thousandths / 1_000);
const maybe = fc.option(usd, { nil: undefined });

const rates = fc.record({
  prompt: usd,
  completion: usd,
  cacheRead: maybe,
  cacheWrite1h: maybe,
  reasoning: maybe,
  imageCompletion: maybe,
  request: maybe,
  image: maybe,
  outputImage: maybe,
  webSearch: maybe,
});

const price: fc.Arbitrary<Price> = fc
  .tuple(rates, rates, rates, fc.nat(400_000), fc.boolean())
  .map(([base, long, flex, promptTokens, tiered]) => ({
    ...base,
    above: [{ ...long, promptTokens }],
    ...(tiered ? { serviceTiers: { flex, priority: 2 } } : {}),
  }));

const usage = fc
  .tuple(tokens, tokens, some, some, some, some, fc.nat(2))
  .map(([prompt, completion, cached, hour, reasoning, image, searches]) => ({
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: cached },
    cache_creation: { ephemeral_1h_input_tokens: hour },
    completion_tokens_details: { reasoning_tokens: reasoning, image_tokens: image },
    server_tool_use: { web_search_requests: searches },
  }));

const exchange = fc.record({
  price,
  usage: fc.option(usage, { nil: undefined }),
  images: fc.nat(3),
  serviceTier: fc.constantFrom(undefined, 'default', 'flex', 'priority'),
  reportedCost: fc.option(usd, { nil: undefined, freq: 5 }),
});

const STOPPED = { finish_reason: 'stop', native_finish_reason: 'stop', logprobs: null } as const;

const picture = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } } as const;
const REQUEST = {
  model: 'acme/one',
  messages: [{ role: 'user', content: [{ type: 'text', text: 'Draw what this shows, twice' }, picture] }],
} as const;

describe('the cost of an exchange', () => {
  it('is the same whole and streamed, whichever way the provider answers, and its split adds up', async () => {
    let priced = 0;
    await fc.assert(
      fc.asyncProperty(exchange, async ({ price: own, usage: counted, images: count, serviceTier, reportedCost }) => {
        const images = Array.from({ length: count }, () => picture);
        const reported = counted && { ...counted, ...(reportedCost === undefined ? {} : { reportedCost }) };
        let streams = false;
        const provider = fedProvider({
          models: { 'acme/one': { price: own } },
          script(call) {
            const message = { role: 'assistant', content: 'Here', refusal: null, reasoning: null, images } as const;
            const choices = [{ index: 0, message, ...STOPPED }];
            if (!streams) return call.answer('', { choices, usage: reported, serviceTier });
            const pieces: readonly StreamPiece[] = [
              'Here',
              ...images.map((image) => ({ type: 'delta', index: 0, delta: { images: [image] } }) as const),
              { type: 'facts', serviceTier },
              { type: 'finish', index: 0, reason: 'stop', native: 'stop' },
              ...(reported === undefined ? [] : [{ type: 'usage', usage: reported } as const]),
              { type: 'end' },
            ];
            call.push(...pieces);
            call.end();
          },
        });
        const router = createRouter({ providers: [provider], environment: fakeEnvironment() });
        const bills: (Usage | undefined)[] = [];
        for (streams of [false, true]) {
          bills.push((await router.chat(REQUEST)).usage);
          for await (const chunk of router.stream(REQUEST)) if (chunk.usage !== undefined) bills.push(chunk.usage);
        }
        const [first, ...others] = bills;
        expect(others).toEqual([first, first, first]);
        const { cost, cost_details: split } = first ?? {};
        if (cost === undefined || split?.upstream_inference_prompt_cost === undefined) return;
        const parts = [
          split.upstream_inference_prompt_cost,
          split.upstream_inference_completions_cost,
          split.server_tool_cost ?? 0,
        ].map((amount) => Math.round((amount ?? Number.NaN) * 1e9));
        expect(parts.reduce((sum, part) => sum + part, 0)).toBe(Math.round(cost * 1e9));
        priced += 1;
      }),
      runs(150),
    );
    expect(priced).toBeGreaterThan(inProportion(30));
  });
});
