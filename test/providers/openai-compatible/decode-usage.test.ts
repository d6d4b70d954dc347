import { describe, expect, it } from 'vitest';
import { decodeUsage } from '../../../src/providers/openai-compatible/decode-usage.ts';

const counts = (prompt: number, completion: number): object => ({
  prompt_tokens: prompt,
  completion_tokens: completion,
  total_tokens: prompt + completion,
});

describe('a usage report', () => {
  it.each<readonly [name: string, usage: unknown]>([
    ['null', null],
    ['nothing', undefined],
    ['text', 'many'],
    ['an empty object', {}],
    ['a total alone', { total_tokens: 7 }],
    ['counts below zero', { prompt_tokens: -1, completion_tokens: -5 }],
    ['counts beyond all numbers', { prompt_tokens: 2 ** 60 }],
    ['counts that no answer has', { prompt_tokens: 2e9, completion_tokens: Number.MAX_SAFE_INTEGER }],
    ['counts in text', { prompt_tokens: '7', completion_tokens: '8' }],
  ])('is none when it is %s', (_name, usage) => {
    expect(decodeUsage(usage, {})).toBeUndefined();
  });

  it.each<readonly [name: string, usage: object, expected: object]>([
    ['one count alone', { prompt_tokens: 7 }, counts(7, 0)],
    ['a wrong total', { prompt_tokens: 7, completion_tokens: 2, total_tokens: 99 }, counts(7, 2)],
    ['fractions', { prompt_tokens: 6.6, completion_tokens: 2.2 }, counts(7, 2)],
    [
      'details that are null',
      { prompt_tokens: 7, completion_tokens: 2, prompt_tokens_details: null, completion_tokens_details: null },
      counts(7, 2),
    ],
    [
      'more cached tokens than there are',
      { prompt_tokens: 7, completion_tokens: 2, prompt_tokens_details: { cached_tokens: 9 } },
      { ...counts(7, 2), prompt_tokens_details: { cached_tokens: 7 } },
    ],
    [
      'more reasoning tokens than there are',
      { prompt_tokens: 7, completion_tokens: 2, completion_tokens_details: { reasoning_tokens: 5 } },
      { ...counts(7, 2), completion_tokens_details: { reasoning_tokens: 2 } },
    ],
    [
      'cache hits beside the details',
      { prompt_tokens: 7, completion_tokens: 2, prompt_cache_hit_tokens: 3, prompt_cache_miss_tokens: 4 },
      { ...counts(7, 2), prompt_tokens_details: { cached_tokens: 3 } },
    ],
    [
      'cached tokens at the top',
      { prompt_tokens: 7, completion_tokens: 2, cached_tokens: 3 },
      { ...counts(7, 2), prompt_tokens_details: { cached_tokens: 3 } },
    ],
    [
      'a cost of its own',
      { prompt_tokens: 7, completion_tokens: 2, cost: 0.5, cost_details: { upstream_inference_cost: 0.4 } },
      { ...counts(7, 2), reportedCost: 0.5, reportedCostDetails: { upstream_inference_cost: 0.4 } },
    ],
    ['a cost below zero', { prompt_tokens: 7, completion_tokens: 2, cost: -1 }, counts(7, 2)],
    ['a cost that no answer has', { prompt_tokens: 7, completion_tokens: 2, cost: 1e12 }, counts(7, 2)],
    [
      'web searches',
      { prompt_tokens: 7, completion_tokens: 2, server_tool_use: { web_search_requests: 2, note: 'x' } },
      { ...counts(7, 2), server_tool_use: { web_search_requests: 2 } },
    ],
    [
      'details with the names of members that every object has',
      JSON.parse(
        '{"prompt_tokens":7,"completion_tokens":2,"prompt_tokens_details":{"__proto__":1,"constructor":2}}',
      ) as object,
      { ...counts(7, 2), prompt_tokens_details: { constructor: 2 } },
    ],
  ])('may have %s', (_name, usage, expected) => {
    const decoded = decodeUsage(usage, {});
    expect(decoded).toEqual(expected);
    expect(Object.getPrototypeOf(decoded?.prompt_tokens_details ?? {})).toBe(Object.prototype);
  });

  it.each<readonly [name: string, usage: object, completion: number]>([
    ['reasoning beside the completion', { total_tokens: 17, completion_tokens_details: { reasoning_tokens: 8 } }, 10],
    ['reasoning inside the completion', { total_tokens: 9, completion_tokens_details: { reasoning_tokens: 1 } }, 2],
    ['a total that nothing explains', { total_tokens: 30, completion_tokens_details: { reasoning_tokens: 8 } }, 2],
    ['no total', { completion_tokens_details: { reasoning_tokens: 8 } }, 2],
  ])('has all tokens of the completion, also of a server that leaves reasoning out: %s', (_name, rest, completion) => {
    const usage = { prompt_tokens: 7, completion_tokens: 2, ...rest };
    expect(decodeUsage(usage, { reasoningOutsideCompletion: true })).toMatchObject(counts(7, completion));
    expect(decodeUsage(usage, {})).toMatchObject(counts(7, completion));
  });

  it('has what the total knows besides, of a server that is known to leave reasoning out', () => {
    const usage = { prompt_tokens: 7, completion_tokens: 2, total_tokens: 17 };
    expect(decodeUsage(usage, { reasoningOutsideCompletion: true })).toMatchObject(counts(7, 10));
    expect(decodeUsage(usage, {})).toMatchObject(counts(7, 2));
  });

  it.each<readonly [name: string, usage: object, details: object]>([
    [
      'Anthropic’s names',
      { cache_read_input_tokens: 5, cache_creation_input_tokens: 2 },
      { cached_tokens: 5, cache_write_tokens: 2 },
    ],
    [
      'a zero under one name',
      { prompt_tokens_details: { cached_tokens: 0 }, cache_read_input_tokens: 5 },
      { cached_tokens: 5 },
    ],
    [
      'a zero under the other',
      { prompt_tokens_details: { cached_tokens: 5 }, prompt_cache_hit_tokens: 0 },
      { cached_tokens: 5 },
    ],
    [
      'Alibaba’s writes',
      { prompt_tokens_details: { cached_tokens: 0, cache_creation_input_tokens: 6 } },
      { cached_tokens: 0, cache_write_tokens: 6 },
    ],
    ['LiteLLM’s writes', { prompt_tokens_details: { cache_creation_tokens: 6 } }, { cache_write_tokens: 6 }],
    ['more than the prompt has', { cache_read_input_tokens: 50 }, { cached_tokens: 7 }],
  ])('may call cached tokens by other names: %s', (_name, rest, details) => {
    const usage = { prompt_tokens: 7, completion_tokens: 2, ...rest };
    expect(decodeUsage(usage, {})).toMatchObject({ ...counts(7, 2), prompt_tokens_details: details });
  });

  it('may leave out of the prompt what the cache has, which its total gives away', () => {
    const usage = { prompt_tokens: 7, completion_tokens: 2, total_tokens: 39, cache_read_input_tokens: 30 };
    expect(decodeUsage(usage, {})).toEqual({ ...counts(37, 2), prompt_tokens_details: { cached_tokens: 30 } });
  });
});
