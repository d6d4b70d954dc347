import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { afterAnswer, afterComplaint, freshPace, mayBegin } from '../../../src/core/batch/webhook-schedule.ts';

const MOST = 16;
const step = fc.oneof(
  fc.record({ type: fc.constant('answer' as const) }),
  fc.record({
    type: fc.constant('complaint' as const),
    waitMs: fc.option(fc.nat({ max: 60_000 }), { nil: undefined }),
  }),
  fc.record({ type: fc.constant('time' as const), ms: fc.nat({ max: 10_000 }) }),
);

describe('the pace of batches at a provider', () => {
  it('stays between one request at a time and the most, and pauses at least as long as asked', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        let pace = freshPace(MOST);
        let now = 0;
        for (const one of steps) {
          if (one.type === 'time') now += one.ms;
          if (one.type === 'answer') pace = afterAnswer(pace, MOST);
          if (one.type === 'complaint') {
            pace = afterComplaint(pace, pace.generation, now, one.waitMs);
            expect(mayBegin(pace, 0, now + (one.waitMs ?? 1_000) - 1)).toBe(false);
          }
          expect(pace.limit).toBeGreaterThanOrEqual(1);
          expect(pace.limit).toBeLessThanOrEqual(MOST);
          expect(mayBegin(pace, 0, pace.pausedUntil)).toBe(true);
          expect(mayBegin(pace, MOST, pace.pausedUntil)).toBe(false);
        }
      }),
      { numRuns: 1_000 },
    );
  });

  it('halves once for all complaints about the same rate, and grows back with answers', () => {
    let pace = freshPace(MOST);
    const { generation } = pace;
    for (let complaint = 0; complaint < MOST; complaint += 1) pace = afterComplaint(pace, generation, 0);
    expect(pace.limit).toBe(MOST / 2);
    for (let answers = 0; answers < 200; answers += 1) pace = afterAnswer(pace, MOST);
    expect(pace.limit).toBe(MOST);
  });
});
