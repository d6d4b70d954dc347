import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addItemUsage } from '../../../src/core/batch/sum-usage.ts';
import type { Usage } from '../../../src/protocol/usage.ts';

const count = fc.nat({ max: 1_000_000 });
/** Whole nano-dollars, as costs are billed. */
const cost = fc.nat({ max: 10_000_000_000 }).map((nano) => nano / 1e9);

const usage: fc.Arbitrary<Usage> = fc
  .record({
    prompt: count,
    completion: count,
    cost: fc.option(cost, { nil: undefined }),
    byok: fc.boolean(),
    cached: fc.option(count, { nil: undefined }),
    searches: fc.option(count, { nil: undefined }),
  })
  .map(({ prompt, completion, cost: usd, byok, cached, searches }) => ({
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    is_byok: byok,
    ...(usd === undefined ? {} : { cost: usd, cost_details: { upstream_inference_cost: usd } }),
    ...(cached === undefined ? {} : { prompt_tokens_details: { cached_tokens: cached } }),
    ...(searches === undefined ? {} : { server_tool_use: { web_search_requests: searches } }),
  }));

function sum(all: readonly Usage[]): Usage | undefined {
  return all.reduce<Usage | undefined>((total, one) => addItemUsage(total, one), undefined);
}

describe('the usage of a batch', () => {
  it('is the sum over its requests, whatever their order', () => {
    fc.assert(
      fc.property(fc.array(usage, { minLength: 1, maxLength: 30 }), (all) => {
        const total = sum(all);
        expect(sum(all.toReversed())).toEqual(total);
        for (const name of ['prompt_tokens', 'completion_tokens', 'total_tokens'] as const) {
          expect(total?.[name]).toBe(all.reduce((before, one) => before + one[name], 0));
        }
        const reported = all.flatMap((one) => one.prompt_tokens_details?.cached_tokens ?? []);
        expect(total?.prompt_tokens_details?.cached_tokens).toBe(
          reported.length === 0 ? undefined : reported.reduce((before, one) => before + one, 0),
        );
        expect(total?.is_byok).toBe(all.every((one) => one.is_byok));
      }),
      { numRuns: 1_000 },
    );
  });

  it('has a cost when each request has one, exact to the nano-dollar', () => {
    fc.assert(
      fc.property(fc.array(usage, { minLength: 1, maxLength: 30 }), (all) => {
        const nano = all.map((one) => one.cost && Math.round(one.cost * 1e9));
        const known = all.every((one) => one.cost !== undefined);
        const expected = known ? nano.reduce<number>((before, one) => before + (one ?? 0), 0) / 1e9 : undefined;
        expect(sum(all)?.cost).toBe(expected);
        expect(sum(all)?.cost_details?.upstream_inference_cost).toBe(expected);
      }),
      { numRuns: 1_000 },
    );
  });

  it('keeps the tier and the speed that all requests had, and the rounds by their type', () => {
    const one: Usage = {
      prompt_tokens: 1,
      completion_tokens: 1,
      total_tokens: 2,
      service_tier: 'batch',
      speed: 'standard',
      iterations: [
        { type: 'message', input_tokens: 3, cache_creation: { ephemeral_5m_input_tokens: 1 } },
        { type: 'compaction', input_tokens: 5 },
      ],
    };
    const both = addItemUsage(addItemUsage(undefined, one), { ...one, speed: 'fast' });
    expect(both).toMatchObject({ service_tier: 'batch', total_tokens: 4 });
    expect(both.speed).toBeUndefined();
    expect(both.iterations).toEqual([
      { type: 'message', input_tokens: 6, cache_creation: { ephemeral_5m_input_tokens: 2 } },
      { type: 'compaction', input_tokens: 10 },
    ]);
    expect(addItemUsage(both, one).speed).toBeUndefined();
  });

  it('leaves out what cannot be added up', () => {
    const odd = {
      prompt_tokens: 1,
      completion_tokens: 1,
      total_tokens: 2,
      iterations: [1],
      note: 'x',
    } as unknown as Usage;
    expect(addItemUsage(addItemUsage(undefined, odd), odd)).toEqual({
      prompt_tokens: 2,
      completion_tokens: 2,
      total_tokens: 4,
    });
  });
});
