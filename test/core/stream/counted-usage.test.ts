import { describe, expect, it } from 'vitest';
import { isCounted, withCountedUsage } from '../../../src/core/stream/usage.ts';
import type { ReportedUsage } from '../../../src/contracts/stream-piece.ts';

const COUNTS = { prompt_tokens: 7, completion_tokens: 0, total_tokens: 7 };

describe('a usage report', () => {
  it.each<readonly [name: string, usage: unknown]>([
    ['counts', COUNTS],
    ['a cost', { ...COUNTS, reportedCost: 0.00012 }],
    [
      'details, some of which are not known',
      { ...COUNTS, prompt_tokens_details: { cached_tokens: 3, audio_tokens: null } },
    ],
    ['details of any form that is priced nowhere', { ...COUNTS, reportedCostDetails: { note: 'x', share: 0.5 } }],
  ])('counts with %s', (_name, usage) => {
    const answer = { usage: usage as ReportedUsage };
    expect(isCounted(answer.usage)).toBe(true);
    expect(withCountedUsage(answer)).toBe(answer);
  });

  it.each<readonly [name: string, usage: unknown]>([
    ['nothing in it', {}],
    ['one count alone', { completion_tokens: 3 }],
    ['a number in its place', 7],
    ['null in its place', null],
    ['NaN', { ...COUNTS, prompt_tokens: NaN }],
    ['a fraction', { ...COUNTS, completion_tokens: 1.5 }],
    ['a count below zero', { ...COUNTS, total_tokens: -1 }],
    ['a count beyond belief', { ...COUNTS, prompt_tokens: 9e15 }],
    ['a string', { ...COUNTS, prompt_tokens: '7' }],
    ['a bigint', { ...COUNTS, prompt_tokens: 7n }],
    ['NaN in its details', { ...COUNTS, completion_tokens_details: { reasoning_tokens: NaN } }],
    ['details that are none', { ...COUNTS, prompt_tokens_details: 3 }],
    ['an endless cost', { ...COUNTS, reportedCost: Infinity }],
    ['a cost below zero', { ...COUNTS, reportedCost: -1 }],
  ])('does not count with %s', (_name, usage) => {
    expect(isCounted(usage as ReportedUsage)).toBe(false);
    expect(withCountedUsage({ usage: usage as ReportedUsage, more: 1 })).toEqual({ usage: undefined, more: 1 });
  });
});
