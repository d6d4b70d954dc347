import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ClaimedShare } from '../../../src/core/batch/claimed-share.ts';

/** Indexes from one to before another. */
function indexes(from: number, to: number): readonly number[] {
  return Array.from({ length: to - from }, (_, place) => from + place);
}

describe('the share of a batch that a process has claimed', () => {
  it('is all of it before the first claim, and for one that runs it alone', () => {
    const share = new ClaimedShare();
    expect(share.ofRest(1_000)).toBe(1_000);
    share.claimed(indexes(0, 100));
    share.claimed(indexes(100, 300));
    expect(share.ofRest(1_000)).toBe(700);
    share.claimed(indexes(300, 1_000));
    expect(share.ofRest(1_000)).toBe(0);
  });

  it('does not count what was claimed before it began', () => {
    const share = new ClaimedShare();
    share.claimed(indexes(600, 700));
    expect(share.ofRest(1_000)).toBe(300);
  });

  it('leaves others what they will take meanwhile, down to nothing, whatever was claimed', () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 8 }), fc.integer({ min: 1, max: 128 }), (processes, slice) => {
        const total = 10_000;
        const share = new ClaimedShare();
        let claims = 0;
        for (let from = 0; from + slice * processes <= total; from += slice * processes) {
          share.claimed(indexes(from, from + slice));
          claims += 1;
          const own = share.ofRest(total);
          expect(own).toBeGreaterThanOrEqual(0);
          // After its first claim it cannot know of the others.
          if (claims > 1) expect(own).toBeLessThanOrEqual(Math.ceil((total - from - slice) / processes));
        }
        share.claimed(indexes(total - 1, total));
        expect(share.ofRest(total)).toBe(0);
      }),
    );
  });
});
