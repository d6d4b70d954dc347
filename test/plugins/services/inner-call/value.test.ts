import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FAR_WORSE } from '../../../../src/plugins/services/inner-call/candidates.ts';
import { byValue, type Worth } from '../../../../src/plugins/services/inner-call/value.ts';
import { runs } from '../../../support/properties.ts';

const quality = fc.integer({ min: 0, max: 20 }).map((step) => step / 20);
const price = fc.option(fc.integer({ min: 0, max: 12 }), { nil: undefined });
const worths = fc.array(fc.record({ quality, price }), { maxLength: 20 });
const same = (one: Worth): Worth => one;

describe('quality per cost', () => {
  it('never puts first what something else beats, or what is far worse than the best', () => {
    fc.assert(
      fc.property(worths, (list) => {
        const found = byValue(list, same);
        expect(new Set(found)).toEqual(new Set(list));
        expect(found).toHaveLength(list.length);
        const [first] = found;
        const priced = list.filter((one) => one.price !== undefined);
        if (first === undefined || priced.length === 0) return;
        expect(first.price).toBeDefined();
        const best = Math.max(...priced.map((one) => one.quality));
        // Differences of decimal fractions are not exact.
        expect(first.quality).toBeGreaterThanOrEqual(best - FAR_WORSE - 1e-9);
        for (const { quality: other, price: cost = Infinity } of priced) {
          const own = first.price ?? Infinity;
          expect(other > first.quality && cost <= own).toBe(false);
          expect(other >= first.quality && cost < own).toBe(false);
        }
      }),
      runs(500),
    );
  });

  it.each([
    [
      'the cheapest of equals',
      [
        [0.9, 5],
        [0.9, 2],
      ],
      1,
    ],
    [
      'a little less for a lot less',
      [
        [0.9, 10],
        [0.85, 1],
      ],
      1,
    ],
    [
      'a little more for a little more',
      [
        [0.85, 1],
        [0.94, 1.05],
      ],
      1,
    ],
    [
      'not what is cheap and far worse',
      [
        [0.9, 10],
        [0.3, 0.1],
      ],
      0,
    ],
    [
      'the better of two that cost nothing',
      [
        [0.5, 0],
        [0.55, 0],
      ],
      1,
    ],
  ] as const)('takes %s', (_what, rows, first) => {
    const list = rows.map(([own, cost]) => ({ quality: own, price: cost }));
    expect(byValue(list, same)[0]).toBe(list[first]);
  });

  it('is quality alone where no worse one is good enough', () => {
    const list = [
      { quality: 0.85, price: 1 },
      { quality: 0.9, price: 10 },
    ];
    expect(byValue(list, same, 0)[0]).toBe(list[1]);
  });
});
