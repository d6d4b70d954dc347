import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeStrictly, TextPieces } from '../../src/platform/decode-text.ts';

/** Texts with characters of every length, marks of the byte order, and bytes that are no text at all. */
const bytes = fc.oneof(
  fc.string({ unit: 'grapheme' }).map((text) => new TextEncoder().encode(text)),
  fc.string({ unit: 'grapheme-ascii' }).map((text) => new TextEncoder().encode(text)),
  fc.constant(new Uint8Array([0xef, 0xbb, 0xbf, 0x41])),
  fc.uint8Array(),
);

/** The same bytes in the middle of a larger buffer, as they come from a socket. */
function within(own: Uint8Array): Uint8Array {
  const whole = new Uint8Array(own.length + 16).fill(0x7a);
  whole.set(own, 8);
  return whole.subarray(8, 8 + own.length);
}

function textOr(decode: () => string): string {
  try {
    return decode();
  } catch {
    return 'no UTF-8';
  }
}

test('bytes are decoded strictly as a decoder of the platform does', () => {
  fc.assert(
    fc.property(bytes, (own) => {
      const strict = new TextDecoder('utf-8', { fatal: true });
      expect(textOr(() => decodeStrictly(within(own)))).toBe(textOr(() => strict.decode(own)));
    }),
    { numRuns: 500 },
  );
});

test('bytes that come in pieces are decoded as if they had come together, wherever they are cut', () => {
  fc.assert(
    fc.property(fc.array(bytes), fc.array(fc.nat(40)), (parts, cuts) => {
      const whole = Uint8Array.from(parts.flatMap((part) => [...part]));
      const places = [0, ...cuts.filter((cut) => cut < whole.length).sort((left, right) => left - right), whole.length];
      const pieces = new TextPieces();
      const text = places.map((place, index) => pieces.decode(whole.subarray(place, places[index + 1] ?? place)));
      expect(text.join('') + pieces.end()).toBe(new TextDecoder().decode(whole));
    }),
    { numRuns: 500 },
  );
});
