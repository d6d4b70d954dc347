import * as fc from 'fast-check';
import { encode as cl100k } from 'gpt-tokenizer/encoding/cl100k_base';
import { encode as o200k } from 'gpt-tokenizer/encoding/o200k_base';
import { describe, expect, it } from 'vitest';
import { highTokens, mostTokens } from '../../../src/core/tokens/token-ceiling.ts';
import { runs } from '../../support/properties.ts';

/** What is reserved for a text, by the margin of `mostPromptTokens`. */
const reserved = (text: string): number => Math.ceil(1.25 * highTokens(text));

describe('the estimate that is reserved for', () => {
  it('is never below either vocabulary for units of white space and control characters, however often they come', () => {
    const sign = fc.constantFrom(
      ' ',
      '\n',
      '\r',
      '\t',
      '\0',
      '\u0001',
      '\u0002',
      '\u0007',
      '\u001f',
      '\u007f',
      '\u00a0',
      '\u2003',
      '\u200b',
      '\u3000',
    );
    const unit = fc.array(sign, { minLength: 1, maxLength: 4 }).map((signs) => signs.join(''));
    fc.assert(
      fc.property(fc.array(unit, { minLength: 1, maxLength: 3 }), fc.integer({ min: 1, max: 300 }), (units, times) => {
        const text = units.map((one) => one.repeat(times)).join('');
        expect(reserved(text)).toBeGreaterThanOrEqual(Math.max(o200k(text).length, cl100k(text).length));
      }),
      runs(400),
    );
  });

  it('holds for what was once too low, and stays as it is for ordinary texts', () => {
    for (const text of [' \n'.repeat(6_000), '\u0001\u0002'.repeat(4_000)]) {
      expect(reserved(text)).toBeGreaterThanOrEqual(Math.max(o200k(text).length, cl100k(text).length));
    }
    for (const text of [
      'Hello, how are you?\n\nFine.',
      'if (a) {\n    return b;\n  }\n',
      'Grüße aus Köln. '.repeat(20),
    ]) {
      expect(highTokens(text)).toBe(mostTokens(text));
    }
  });
});
