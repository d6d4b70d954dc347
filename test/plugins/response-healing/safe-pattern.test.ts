import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { matchesPattern } from '../../../src/plugins/response-healing/safe-pattern.ts';
import { runs } from '../../support/properties.ts';

const PARTS = [
  'a',
  'b',
  '\\d',
  '[ab]',
  '(?:ab)',
  '(a|b)',
  '.',
  'a+',
  '[ab]*',
  'b?',
  '\\d{2}',
  'a{1,3}',
  '(?:b\\d)?',
  '-',
];

describe('matchesPattern', () => {
  it.each<[string, string, boolean]>([
    ['^[A-Z]{3}-\\d{4}$', 'ABC-1234', true],
    ['^[A-Z]{3}-\\d{4}$', 'ABC-12345', false],
    ['^\\d{4}-\\d{2}-\\d{2}$', '2026-11-26', true],
    ['^[^@\\s]+@[^@\\s]+\\.[^@\\s]+$', 'ada@example.org', true],
    ['cat|dog', 'a dog', true],
    ['^(?:\\+\\d{1,3})?\\d{6,10}$', '+4366012345', true],
    ['', 'anything', true],
  ])('runs %s on %s', (pattern, text, expected) => {
    expect(matchesPattern(pattern, text)).toBe(expected);
  });

  it.each([
    '(a+)+$',
    '(a|a)*b',
    '(a*)*',
    '(?=a)b',
    '(?<!a)b',
    '(a)\\1',
    '([a-z]+-?)+',
    '(',
    'a{1000}{1000}',
    '(a?){50}',
  ])('does not run %s', (pattern) => {
    expect(matchesPattern(pattern, `${'a'.repeat(40)}!`)).toBeUndefined();
  });

  it('does not run what would take too long on a long text', () => {
    expect(matchesPattern('a*b*c*d', 'a'.repeat(30))).toBe(false);
    expect(matchesPattern('a*b*c*d', 'a'.repeat(5_000))).toBeUndefined();
  });

  it('says what the runtime says, in little time', () => {
    const pattern = fc.array(fc.constantFrom(...PARTS), { maxLength: 6 }).map((parts) => parts.join(''));
    fc.assert(
      fc.property(pattern, fc.boolean(), fc.stringMatching(/^[ab\d-]{0,30}$/), (inside, isAnchored, text) => {
        const source = isAnchored ? `^${inside}$` : inside;
        const matches = matchesPattern(source, text);
        if (matches !== undefined) expect(matches).toBe(new RegExp(source, 'u').test(text));
      }),
      runs(300),
    );
  });
});
