import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { isBase64, isUnbrokenBase64 } from '../../src/protocol/base64.ts';
import { runs } from '../support/properties.ts';

/** The definition, character by character. */
function isBase64Slowly(text: string): boolean {
  const [, characters = '', padding] = /^([A-Za-z0-9+/_\s-]*)(={0,2})$/.exec(text) ?? [];
  return padding !== undefined && (characters.length % 4 !== 1 || /\s/.test(characters));
}

/** Long enough for the fast way, and for more than one step of it. */
const long = fc
  .tuple(fc.base64String({ minLength: 4 }), fc.constantFrom(1_020, 1_021, 1_022, 1_023, 65_536, 70_001))
  .map(([text, length]) =>
    text
      .replaceAll('=', 'A')
      .repeat(Math.ceil(length / 4))
      .slice(0, length),
  );

/** Among them characters whose low byte is a letter, and what decoders leave out. */
const odd = fc.constantFrom(
  '',
  '=',
  '==',
  '===',
  '-',
  '_',
  ' ',
  '\n',
  '"',
  '\\',
  '\0',
  '\u0141',
  '\ud800',
  'ü',
  '!',
  'A',
);

test('is told as fast of long texts as slowly of any', () => {
  fc.assert(
    fc.property(long, odd, fc.nat(), odd, (text, strange, place, end) => {
      const at = place % (text.length + 1);
      const data = text.slice(0, at) + strange + text.slice(at) + end;
      expect([data.length, strange, at, end, isBase64(data, 0)]).toEqual([
        data.length,
        strange,
        at,
        end,
        isBase64Slowly(data),
      ]);
      expect(isBase64(`data:,${data}`, 6)).toBe(isBase64Slowly(data));
      if (!/[^\0-\xff]/.test(data) && isUnbrokenBase64(data, 0)) expect(data).toMatch(/^[A-Za-z0-9+/_-]+={0,2}$/);
    }),
    runs(400),
  );
});

test('is certain of plain base64 of any length but one character too many', () => {
  for (const length of [4, 6, 7, 65_536, 65_538, 65_540]) expect(isUnbrokenBase64('A'.repeat(length), 0)).toBe(true);
  for (const length of [0, 1, 5, 65_537]) expect(isUnbrokenBase64('A'.repeat(length), 0)).toBe(false);
});
