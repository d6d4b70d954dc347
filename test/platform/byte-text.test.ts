import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { beginsCharacter, fromByteText, toByteText } from '../../src/platform/byte-text.ts';
import { runs } from '../support/properties.ts';

const texts = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.string({ unit: 'grapheme-ascii' }),
  fc.constant('\u{FEFF}a'),
  fc.string({ unit: 'grapheme' }).map((text) => text.repeat(2_000)),
);

test('a byte text is the bytes of UTF-8, one a character, and gives the text again', () => {
  fc.assert(
    fc.property(texts, (text) => {
      const bytes = toByteText(text);
      expect(bytes).toBe(Buffer.from(text).toString('latin1'));
      expect(fromByteText(bytes)).toBe(text);
    }),
    runs(300),
  );
});

test('it is cut between characters exactly where one begins', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 20 }), (text) => {
      const bytes = toByteText(text);
      for (let at = 0; at <= bytes.length; at += 1) {
        const isWhole = fromByteText(bytes.slice(0, at)) + fromByteText(bytes.slice(at)) === text;
        expect(beginsCharacter(bytes, at)).toBe(isWhole);
      }
    }),
    runs(200),
  );
});
