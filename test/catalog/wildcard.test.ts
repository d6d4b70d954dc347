import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { matchesWildcard } from '../../src/catalog/model-patterns.ts';
import { inProportion, runs } from '../support/properties.ts';

/** The same by a table over all beginnings of pattern and text: slow, and too simple to be wrong. */
function matchesSlowly(pattern: string, text: string): boolean {
  let row = [true, ...Array.from({ length: text.length }, () => false)];
  for (const letter of pattern) {
    const next = [letter === '*' && row[0] === true];
    for (let index = 0; index < text.length; index += 1) {
      const fits =
        letter === '*'
          ? next[index] === true || row[index + 1] === true
          : row[index] === true && letter === text[index];
      next.push(fits);
    }
    row = next;
  }
  return row.at(-1) === true;
}

/** A text that counts how often somebody looks at one of its characters. */
function counting(text: string): { readonly text: string; readonly looks: () => number } {
  let looks = 0;
  const counted = {
    length: text.length,
    charCodeAt(index: number) {
      looks += 1;
      return text.charCodeAt(index);
    },
  };
  return { text: counted as unknown as string, looks: () => looks };
}

describe('a wildcard pattern', () => {
  it.each([
    ['', '', true],
    ['', 'a', false],
    ['*', '', true],
    ['*', 'openai/gpt-5', true],
    ['openai/*', 'openai/gpt-5', true],
    ['openai/*', 'openai/', true],
    ['openai/*', 'anthropic/claude', false],
    ['*/gpt-*', 'openai/gpt-5', true],
    ['*claude*', 'anthropic/claude-4', true],
    ['anthropic/claude-*-sonnet', 'anthropic/claude-4-sonnet', true],
    ['anthropic/claude-*-sonnet', 'anthropic/claude-4-sonnet-x', false],
    ['a*b*c', 'abbbc', true],
    ['a*b*c', 'acb', false],
    ['**', 'a', true],
    ['a**', 'a', true],
    ['a.c', 'abc', false],
    ['a?c', 'abc', false],
    ['(a+)+$', 'aaaa', false],
    ['a*', '*', false],
    ['*', '*', true],
    ['a', 'A', false],
  ])('%j against %j: %s', (pattern, text, expected) => {
    expect(matchesWildcard(pattern, text)).toBe(expected);
    expect(matchesSlowly(pattern, text)).toBe(expected);
  });

  it('matches what the slow reference matches', () => {
    const letters = fc.constantFrom('a', 'b', '/', '*');
    const pattern = fc.string({ unit: letters, maxLength: 12 });
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '/'), maxLength: 16 });
    let matched = 0;
    fc.assert(
      fc.property(pattern, text, (left, right) => {
        const found = matchesWildcard(left, right);
        if (found) matched += 1;
        expect(found).toBe(matchesSlowly(left, right));
      }),
      runs(10_000),
    );
    expect(matched).toBeGreaterThan(inProportion(500));
  });

  it('matches a text made from it', () => {
    const pieces = fc.array(fc.string({ unit: fc.constantFrom('a', 'b', '/'), maxLength: 4 }), {
      minLength: 1,
      maxLength: 6,
    });
    const filling = fc.array(fc.string({ unit: fc.constantFrom('a', 'b', '/'), maxLength: 5 }), {
      minLength: 6,
      maxLength: 6,
    });
    fc.assert(
      fc.property(pieces, filling, (list, between) => {
        const text = list.reduce((whole, piece, index) => `${whole}${between[index] ?? ''}${piece}`);
        expect(matchesWildcard(list.join('*'), text)).toBe(true);
      }),
      runs(2_000),
    );
  });

  it.each([
    ['many stars', `${'a*'.repeat(511)}b`, 'a'.repeat(256)],
    ['a late mismatch', `*${'a'.repeat(127)}b`, 'a'.repeat(256)],
    ['stars only', '*'.repeat(1_024), 'a'.repeat(256)],
    ['a repeated half', `*${'ab'.repeat(100)}c*`, 'ab'.repeat(128)],
  ])('never takes more work than pattern times text: %s', (_name, pattern, text) => {
    const left = counting(pattern);
    const right = counting(text);
    expect(matchesWildcard(left.text, right.text)).toBe(matchesSlowly(pattern, text));
    expect(left.looks() + right.looks()).toBeLessThanOrEqual(3 * (pattern.length + 1) * (text.length + 1));
  });

  it('takes work in proportion where nothing has to be tried again', () => {
    const left = counting(`${'ab'.repeat(200)}*`);
    const right = counting('ab'.repeat(5_000));
    expect(matchesWildcard(left.text, right.text)).toBe(true);
    expect(left.looks() + right.looks()).toBeLessThan(4 * 10_000);
  });
});
