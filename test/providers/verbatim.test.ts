import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { LONG_TEXT, verbatimTexts } from '../../src/platform/decode-text.ts';
import { serialize } from '../../src/providers/serialize.ts';

/** Long texts: of an image, with characters of every length, with what must be escaped, with halves of characters. */
const long = fc
  .oneof(
    fc.base64String({ minLength: 4 }),
    fc.string({ unit: 'grapheme', minLength: 1 }),
    fc.string({ unit: 'binary', minLength: 1 }),
  )
  .map((text) => text.repeat(Math.ceil(LONG_TEXT / text.length)));

const body = fc.record({
  model: fc.string(),
  messages: fc.array(
    fc.oneof(long, fc.jsonValue(), fc.record({ url: long, detail: fc.constantFrom(undefined, 'high') })),
  ),
});

test('a body is the same with and without what is known of its texts', () => {
  fc.assert(
    fc.property(body, (value) => {
      // As a caller sends it: halves of characters are escapes there, and there is no other backslash without a reason.
      const text = JSON.stringify(value);
      const parsed = JSON.parse(text) as Record<string, unknown>;
      expect(serialize(parsed, verbatimTexts(text, parsed))).toBe(serialize(parsed));
      expect(serialize(value, verbatimTexts(text, parsed))).toBe(serialize(value));
    }),
    { numRuns: 200 },
  );
});

test('a long text without escapes is known, and one with an escape is not', () => {
  const image = 'A'.repeat(LONG_TEXT);
  const textOf = (url: string): string => JSON.stringify({ messages: [{ content: [{ url }] }] });
  expect(verbatimTexts(textOf(image), JSON.parse(textOf(image)))).toEqual([image]);
  for (const odd of ['"', '\\', '\n', '\u0001', '\ud800']) {
    expect(verbatimTexts(textOf(image + odd), JSON.parse(textOf(image + odd)))).toBeUndefined();
  }
});
