import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { modelPatterns } from '../../src/catalog/model-patterns.ts';
import { runs } from '../support/properties.ts';
import { cpuClock } from '../support/cpu-clock.ts';

const slugs = ['anthropic/claude-sonnet-4.5', 'openai/gpt-5-mini', 'openai/gpt-5', 'meta/llama-4:free'];

function matching(...patterns: readonly string[]): readonly string[] {
  const compiled = modelPatterns(patterns);
  return slugs.filter((slug) => compiled.matches(slug));
}

/** The same by a regular expression, which callers' patterns are never turned into. */
function oracle(pattern: string, slug: string): boolean {
  const source = pattern
    .split('*')
    .map((part) => part.replace(/[.?+^$()[\]{}|\\/]/g, '\\$&'))
    .join('[^]*');
  return new RegExp(`^${source}$`).test(slug);
}

describe('model patterns', () => {
  it.each([
    [['anthropic/*'], ['anthropic/claude-sonnet-4.5']],
    [['openai/gpt-5*'], ['openai/gpt-5-mini', 'openai/gpt-5']],
    [['*/claude-*'], ['anthropic/claude-sonnet-4.5']],
    [['openai/gpt-5'], ['openai/gpt-5']],
    [['gpt-5'], []],
    [['*'], slugs],
    [['***'], slugs],
    [
      ['*:free', 'openai/gpt-5'],
      ['openai/gpt-5', 'meta/llama-4:free'],
    ],
    [[], []],
  ])('%j fit whole slugs', (patterns, expected) => {
    expect(matching(...patterns)).toEqual(expected);
  });

  it('take dotted and dashed versions and capitals for the same', () => {
    expect(matching('Anthropic/Claude-Sonnet-4-5')).toEqual(['anthropic/claude-sonnet-4.5']);
    expect(matching('anthropic/*4-5')).toEqual(['anthropic/claude-sonnet-4.5']);
  });

  it('agree with a regular expression', () => {
    const letters = fc.constantFrom('a', 'b', '/', '*', '*');
    const text = fc.array(fc.constantFrom('a', 'b', '/'), { maxLength: 12 }).map((parts) => parts.join(''));
    fc.assert(
      fc.property(fc.array(letters, { maxLength: 10 }), text, (parts, slug) => {
        const pattern = parts.join('');
        expect(modelPatterns([pattern]).matches(slug)).toBe(oracle(pattern, slug));
      }),
      runs(5_000),
    );
  });

  it.each([
    ['longest', 'a*'.repeat(512)],
    ['full of stars', `${'*'.repeat(1_000)}b`],
    ['made to be tried again and again', `*${'ab*'.repeat(10)}${'a'.repeat(30)}c`],
    ['longer than any slug', 'a'.repeat(1_023).concat('*')],
  ])('cost little where 1,024 patterns are the %s', (_name, pattern) => {
    const patterns = Array.from({ length: 1_024 }, (_, index) => `${pattern.slice(0, 1_020)}${index}`);
    const models = Array.from({ length: 300 }, (_, index) => `aba/abab${'ab'.repeat(12)}-${index}`);
    const cpuMs = cpuClock();
    const compiled = modelPatterns(patterns);
    const found = models.filter((model) => compiled.matches(model));
    // Bounded generously: what goes wrong here takes minutes.
    expect(cpuMs()).toBeLessThan(2_000);
    expect(found).toEqual([]);
  });
});
