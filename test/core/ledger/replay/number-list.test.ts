import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { NumberList } from '../../../../src/core/ledger/replay/local-means.ts';

describe('a list of numbers', () => {
  it('holds what was added, over all of its pieces, as an array does', () => {
    // Lengths around the ends of pieces, where such lists go wrong.
    const length = fc.oneof(
      fc.integer({ min: 0, max: 3 }),
      fc.constantFrom(4_095, 4_096, 4_097, 8_191, 8_192, 8_193, 12_300),
    );
    fc.assert(
      fc.property(length, fc.double({ noNaN: true, noDefaultInfinity: true }), (count, first) => {
        const list = new NumberList();
        const expected = Array.from({ length: count }, (_, index) => first + index);
        for (const value of expected) list.push(value);
        expect(list.length).toBe(count);
        expect(Array.from(list.toArray())).toEqual(expected);
        for (const index of [0, 4_095, 4_096, count - 1, count]) expect(list.at(index)).toBe(expected[index] ?? 0);
      }),
      { numRuns: 30 },
    );
  });
});
