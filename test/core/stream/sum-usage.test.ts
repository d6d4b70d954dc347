import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addServiceUse, addUsage } from '../../../src/core/stream/sum-usage.ts';
import type { Usage } from '../../../src/protocol/usage.ts';

const count = fc.nat({ max: 1_000_000 });
const usd = fc.nat({ max: 1_000_000_000 }).map((nano) => nano / 1e9);
const usage: fc.Arbitrary<Usage> = fc.record(
  {
    prompt_tokens: count,
    completion_tokens: count,
    total_tokens: count,
    cost: usd,
    is_byok: fc.boolean(),
    estimated: fc.constant(true),
    cost_details: fc.record({ upstream_inference_cost: fc.option(usd), server_tool_cost: usd }, { requiredKeys: [] }),
    prompt_tokens_details: fc.record({ cached_tokens: count, audio_tokens: count }, { requiredKeys: [] }),
    completion_tokens_details: fc.record({ reasoning_tokens: count }, { requiredKeys: [] }),
    server_tool_use: fc.record({ web_search_requests: count }, { requiredKeys: [] }),
  },
  { requiredKeys: ['prompt_tokens', 'completion_tokens', 'total_tokens'] },
);

describe('the usage of several calls', () => {
  it('is the sum, in whatever order and grouping it is made', () => {
    fc.assert(
      fc.property(usage, usage, usage, (one, two, three) => {
        const { is_byok: _, ...left } = addUsage(addUsage(one, two), three);
        const { is_byok: __, ...right } = addUsage(one, addUsage(three, two));
        expect(left).toEqual(right);
        expect(left.prompt_tokens).toBe(one.prompt_tokens + two.prompt_tokens + three.prompt_tokens);
      }),
    );
  });

  it('does not drift: money is added in whole nano-dollars', () => {
    const tenth: Usage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0, cost: 0.1 };
    const sum = Array.from({ length: 9 }).reduce<Usage>((total) => addUsage(total, tenth), tenth);
    expect(sum.cost).toBe(1);
  });

  it('has no members that nobody reported', () => {
    const bare: Usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };
    expect(addUsage(bare, bare)).toEqual({ prompt_tokens: 2, completion_tokens: 4, total_tokens: 6 });
    expect(addServiceUse(bare, {})).toEqual(bare);
    expect(addUsage(bare, { ...bare, cost: 0.5 }).cost).toBe(0.5);
  });

  it('was paid by the own key only when everything was', () => {
    const own: Usage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0, is_byok: true };
    expect(addUsage(own, own).is_byok).toBe(true);
    expect(addUsage(own, { ...own, is_byok: false }).is_byok).toBe(false);
  });
});
