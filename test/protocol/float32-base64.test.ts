import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeFloat32, encodeFloat32 } from '../../src/protocol/float32-base64.ts';
import { base64Of, numbersOf } from '../support/embedding-upstream.ts';
import { runs } from '../support/properties.ts';

const float = fc.float({ noNaN: true });
const vector = fc.array(float, { maxLength: 40 });

describe.each([
  ['of Node', undefined],
  ['of every runtime', null],
] as const)('32-bit floats in base64, by the means %s', (_name, bytes) => {
  const encode = (numbers: ArrayLike<number>): string => encodeFloat32(numbers, bytes);
  const decode = (text: string): Float32Array | undefined => decodeFloat32(text, bytes);

  it('come back exactly, signs of zero and the smallest numbers included', () => {
    fc.assert(
      fc.property(vector, (numbers) => {
        expect([...(decode(encode(numbers)) ?? [])]).toEqual(numbers);
      }),
      runs(1_000),
    );
    const extremes = [0, -0, 1.401298464324817e-45, -3.4028234663852886e38, 0.1, Math.fround(0.1)];
    expect([...(decode(encode(extremes)) ?? [])]).toEqual(extremes.map(Math.fround));
  });

  it('are written as others read them, and read as others write them', () => {
    fc.assert(
      fc.property(vector, (numbers) => {
        expect(encode(numbers)).toBe(base64Of(numbers));
        expect(numbersOf(encode(Float32Array.from(numbers)))).toEqual(numbers);
        expect([...(decode(base64Of(numbers)) ?? [])]).toEqual(numbers);
      }),
      runs(1_000),
    );
  });

  it('are read from the bytes that any base64 of whole floats stands for', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (octets) => {
        const text = Buffer.from(octets).toString('base64');
        const read = decode(text);
        if (octets.length % 4 !== 0) expect(read).toBeUndefined();
        else expect(read?.length).toBe(octets.length / 4);
      }),
      runs(500),
    );
  });

  it.each(['AAAA', '!!!!!!!!', 'AAAA AAAA', 'AAAAAAAA=', 'ÄÄÄÄÄÄÄÄ', '[0.1,0.2]'])(
    'are not made up from "%s"',
    (text) => {
      expect(decode(text)).toBeUndefined();
    },
  );

  it('may be many', () => {
    const numbers = Float32Array.from({ length: 20_000 }, (_, index) => index / 7);
    expect(decode(encode(numbers))).toEqual(numbers);
  });
});
