import { describe, expect, it } from 'vitest';
import { countReported, errorsOf, readReported } from '../../support/reported-counts.ts';

const fixture = new URL('../../fixtures/tokens/reported.jsonl', import.meta.url);
const { counted, refused } = await countReported(readReported(fixture));

const of = (vendor: string, ...kinds: readonly string[]) =>
  counted.filter(({ reported }) => reported.vendor === vendor && kinds.includes(reported.kind));

describe('requests that providers reported tokens for, and that no constant was made from', () => {
  it('are nearly all understood', () => {
    expect(counted.length).toBeGreaterThan(500);
    expect(refused.length).toBeLessThan(counted.length / 50);
  });

  it.each([
    'questions',
    'instructions',
    'conversations',
    'code',
    'JSON and data',
    'JSON schemas',
    'tools',
    'tool results',
    'images',
    'files',
    'audio',
  ])('are counted within 10 of 100, in the middle, for %s', (kind) => {
    const group = counted.filter(({ reported }) => reported.kind === kind);
    expect(errorsOf(group, 'counted').median).toBeLessThanOrEqual(0.1);
  });

  it.each<readonly [string, readonly string[], number]>([
    ['openai', ['questions', 'instructions', 'conversations', 'code', 'JSON and data'], 0.95],
    ['openai', ['tools', 'tool results', 'JSON schemas'], 0.85],
    ['anthropic', ['questions', 'instructions', 'conversations'], 0.75],
    ['anthropic', ['tools', 'tool results'], 0.8],
    ['google', ['questions', 'instructions', 'JSON schemas'], 0.85],
    ['deepseek', ['tools'], 0.9],
    ['openai', ['images', 'audio'], 0.95],
    ['anthropic', ['images'], 0.85],
    ['google', ['images'], 0.95],
    ['google', ['files'], 0.75],
  ])('are counted within 10 of 100 of what %s reports for %j, %d of them', (vendor, kinds, share) => {
    expect(errorsOf(of(vendor, ...kinds), 'counted').within).toBeGreaterThanOrEqual(share);
  });

  it('are a guess where media are behind addresses, and nowhere else but for documents that are no PDFs', () => {
    for (const { reported, isGuess } of counted) {
      const isUnknown = /https:\/\/example\.com\/a\.|officedocument/.test(JSON.stringify(reported.body));
      if (['images', 'audio', 'files', 'behind addresses'].includes(reported.kind)) {
        expect([reported.source, isGuess]).toEqual([reported.source, isUnknown]);
      }
    }
  });
});
