import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mayHold, shareOf } from '../../../src/core/limits/share.ts';
import { runs } from '../../support/properties.ts';

describe('the share of one account', () => {
  it('is half, or one unit, or what it is limited to', () => {
    expect(shareOf(100, {})).toBe(50);
    expect(shareOf(3, {})).toBe(1);
    expect(shareOf(1, {})).toBe(1);
    expect(shareOf(100, { unit: 60 })).toBe(60);
    expect(shareOf(100, { most: 2 })).toBe(2);
  });

  it('is said apart from there being no room', () => {
    expect(mayHold({ limit: 10, held: 5, own: 5 }, {}, 1)).toBe('share');
    expect(mayHold({ limit: 10, held: 10, own: 0 }, {}, 1)).toBe('full');
    expect(mayHold({ limit: 10, held: 8, own: 2 }, {}, 1)).toBe('share');
    expect(mayHold({ limit: 10, held: 9, own: 0 }, {}, 1)).toBe('granted');
  });

  it('leaves room for whoever comes next, whatever others take and leave in whatever order', () => {
    const step = fc.record({ account: fc.nat({ max: 3 }), more: fc.integer({ min: -40, max: 40 }) });
    fc.assert(
      fc.property(
        fc.integer({ min: 64, max: 5_000 }),
        fc.integer({ min: 1, max: 4 }),
        fc.array(step, { maxLength: 200 }),
        (limit, others, steps) => {
          const own = [0, 0, 0, 0];
          const held = (): number => own.reduce((sum, one) => sum + one);
          for (const { account, more } of steps) {
            const one = account % others;
            const has = own[one] ?? 0;
            if (more <= 0) own[one] = Math.max(0, has + more);
            else if (mayHold({ limit, held: held(), own: has }, {}, more) === 'granted') own[one] = has + more;
            expect(Math.max(...own)).toBeLessThanOrEqual(limit / 2);
            // A newcomer's first is always granted; beside one other, it may have a quarter of all at once.
            expect(mayHold({ limit, held: held(), own: 0 }, {}, 1)).toBe('granted');
            const few = others === 1 ? Math.floor(limit / 4) : 1;
            expect(mayHold({ limit, held: held(), own: 0 }, {}, few)).toBe('granted');
          }
        },
      ),
      runs(400),
    );
  });
});
