import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type ConcurrencyLimit,
  concurrencyLimitAfter,
  type CrowdedCall,
  concurrencyRoom,
  lateness,
} from '../../../src/core/selection/adaptive/endpoint-room.ts';
import { DEFAULT_ADAPTIVE_POLICY } from '../../../src/core/selection/adaptive/policy.ts';
import { seededRandom } from '../../../src/providers/simulated/chance.ts';
import { runs } from '../../support/properties.ts';

const POLICY = DEFAULT_ADAPTIVE_POLICY;
const UNKNOWN_LIMIT: ConcurrencyLimit['inTime'] = { limit: 3, isFound: false, few: 0, many: 0, loweredAt: -Infinity };
const UNKNOWN: ConcurrencyLimit = { inTime: UNKNOWN_LIMIT, useful: UNKNOWN_LIMIT };
const SECOND = 1_000;

/** A call that took so long where a second is usual. */
function call(calls: number, ms: number, more: Partial<CrowdedCall> = {}): CrowdedCall {
  return { calls, late: Math.log(ms / SECOND), startedAt: 0, isAnswered: true, ...more };
}

function after(crowd: ConcurrencyLimit, ...calls: readonly CrowdedCall[]): ConcurrencyLimit {
  return calls.reduce((known, one) => concurrencyLimitAfter(known, POLICY, one, 0) ?? known, crowd);
}

const times = (count: number, one: CrowdedCall): readonly CrowdedCall[] => Array.from({ length: count }, () => one);

/** Normally distributed numbers. */
function normal(seed: number): () => number {
  const chance = seededRandom(seed);
  return () => Math.sqrt(-2 * Math.log(1 - chance())) * Math.cos(2 * Math.PI * chance());
}

/** What becomes of a limit at an endpoint that has as many calls as it may have, or as many as come. */
function settled(
  count: number,
  {
    seed,
    deviation,
    slowness,
    most,
  }: { seed: number; deviation: number; slowness: (calls: number) => number; most: number },
): ConcurrencyLimit {
  const [chance, draw] = [seededRandom(seed), normal(seed + 1)];
  let crowd = UNKNOWN;
  for (let at = 0; at < count; at += 1) {
    const calls = Math.max(1, Math.round(chance() * Math.min(most, crowd.inTime.limit)));
    const late = Math.log(slowness(calls)) + deviation * draw();
    crowd = concurrencyLimitAfter(crowd, POLICY, { calls, late, startedAt: at, isAnswered: true }, at) ?? crowd;
  }
  return crowd;
}

function foundAt(limit: number): ConcurrencyLimit {
  return { inTime: { ...UNKNOWN_LIMIT, limit, isFound: true }, useful: UNKNOWN_LIMIT };
}

/**
 * How many of the last 200 of 3,000 moments had no room for one more call, where calls come one after the other until
 * there are `most`.
 */
function surge({ seed, deviation, slowness, most }: Parameters<typeof settled>[1]): number {
  const [chance, draw] = [seededRandom(seed), normal(seed + 1)];
  let crowd = UNKNOWN;
  let refused = 0;
  for (let at = 0; at < 3_000; at += 1) {
    // At first little comes, so that it is known what is usual.
    const wanted = at < 200 ? 1 + Math.floor(3 * chance()) : Math.ceil(most * (0.2 + 0.8 * chance()));
    let calls = 1;
    while (calls < wanted && concurrencyRoom(crowd, POLICY.concurrencyLimit, calls).waitMs === 0) calls += 1;
    if (at >= 2_800 && calls < wanted) refused += 1;
    const late = Math.log(slowness(calls)) + deviation * draw();
    crowd = concurrencyLimitAfter(crowd, POLICY, { calls, late, startedAt: at, isAnswered: true }, at) ?? crowd;
  }
  return refused;
}

describe('calls at a time', () => {
  it('are twice as many as were answered in time', () => {
    expect(concurrencyLimitAfter(undefined, POLICY, call(3, 3 * SECOND), 0)?.inTime.limit).toBe(3);
    expect(concurrencyRoom(undefined, POLICY.concurrencyLimit, 3)).toEqual(
      concurrencyRoom(UNKNOWN, POLICY.concurrencyLimit, 3),
    );
    expect(after(UNKNOWN, call(2, SECOND)).inTime.limit).toBe(4);
    expect(after(UNKNOWN, call(10, SECOND)).inTime.limit).toBe(20);
    expect(after(UNKNOWN, call(10, 3 * SECOND)).inTime.limit).toBe(3);
  });

  it('are fewer once those that began among many are late and those that began among few are not', () => {
    const known = after(UNKNOWN, call(10, SECOND), ...times(5, call(2, SECOND)));
    const slow = after(known, ...times(5, call(18, 5 * SECOND)));
    expect(slow.inTime.isFound).toBe(true);
    expect(slow.inTime.limit).toBeCloseTo(0.7 * 18);
  });

  it('stay in an outage, which makes those that began among few late as well', () => {
    const known = after(UNKNOWN, call(10, SECOND), ...times(5, call(2, SECOND)));
    const outage = after(known, ...times(15, call(2, 8 * SECOND)), ...times(50, call(18, 8 * SECOND)));
    expect(outage.inTime.isFound).toBe(false);
  });

  it('are lowered once by calls that were under way together', () => {
    const known = after(UNKNOWN, call(10, SECOND));
    const lowered = times(8, call(18, 5 * SECOND, { startedAt: 10 })).reduce(
      (crowd, one) => concurrencyLimitAfter(crowd, POLICY, one, 20) ?? crowd,
      known,
    );
    const again = times(20, call(18, 5 * SECOND, { startedAt: 15 })).reduce(
      (crowd, one) => concurrencyLimitAfter(crowd, POLICY, one, 30) ?? crowd,
      lowered,
    );
    expect(lowered.inTime.isFound).toBe(true);
    expect(again.inTime.limit).toBe(lowered.inTime.limit);
  });

  it('grow again with what is answered in time', () => {
    const found = foundAt(4);
    expect(after(found, ...times(50, call(4, SECOND))).inTime.limit).toBeCloseTo(5);
    // Among few, only back to what everybody begins with: it does not show that more would do.
    expect(after(foundAt(1), ...times(50, call(1, SECOND))).inTime.limit).toBeCloseTo(2);
    expect(after(found, ...times(50, call(1, SECOND))).inTime.limit).toBe(4);
  });

  it('count calls that were given up only as far as they were late by then', () => {
    const known = after(UNKNOWN, call(10, SECOND));
    expect(after(known, ...times(20, call(18, 100, { isAnswered: false })))).toEqual(known);
    expect(after(known, ...times(8, call(18, 5 * SECOND, { isAnswered: false }))).inTime.isFound).toBe(true);
  });

  it('are never fewer than one', () => {
    const arbitrary = fc.record({
      calls: fc.integer({ min: 1, max: 200 }),
      late: fc.double({ min: -10, max: 10, noNaN: true }),
      startedAt: fc.nat(1_000),
      isAnswered: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(arbitrary, { maxLength: 200 }), (calls) => {
        let crowd = UNKNOWN;
        for (const [now, one] of calls.entries()) {
          crowd = concurrencyLimitAfter(crowd, POLICY, one, now) ?? crowd;
          expect(crowd.inTime.limit).toBeGreaterThanOrEqual(1);
          expect(crowd.useful.limit).toBeGreaterThanOrEqual(1);
          expect(concurrencyRoom(crowd, POLICY.concurrencyLimit, 0)).toEqual({ waitMs: 0, headroom: 1 });
        }
      }),
      runs(200),
    );
  });

  it('come near the knee of an endpoint that has one', () => {
    const knees = fc.record({
      knee: fc.integer({ min: 2, max: 40 }),
      seed: fc.nat(1e6),
      deviation: fc.double({ min: 0.1, max: 0.6, noNaN: true }),
    });
    fc.assert(
      fc.property(knees, ({ knee, seed, deviation }) => {
        const slowness = (calls: number): number => Math.max(1, calls / knee) ** 3;
        const { limit } = settled(3_000, { seed, deviation, slowness, most: Infinity }).inTime;
        expect(limit).toBeGreaterThan(0.5 * knee);
        expect(limit).toBeLessThan(3 * knee);
      }),
      runs(40),
    );
  });

  it('leave an endpoint without a knee alone, also one whose times have long tails', () => {
    const endpoints = fc.record({
      most: fc.integer({ min: 1, max: 40 }),
      seed: fc.nat(1e6),
      deviation: fc.double({ min: 0.1, max: 1, noNaN: true }),
    });
    fc.assert(
      fc.property(endpoints, ({ most, seed, deviation }) => {
        const tail = seededRandom(seed + 2);
        const { limit } = settled(3_000, { seed, deviation, slowness: () => (tail() < 0.05 ? 8 : 1), most }).inTime;
        expect(limit).toBeGreaterThanOrEqual(Math.min(most, 3));
      }),
      runs(40),
    );
  });

  it('are never too many for an endpoint that answers within a second: it may be this process that is slow', () => {
    const fast = fc.record({ calls: fc.integer({ min: 1, max: 500 }), ms: fc.integer({ min: 0, max: 1_000 }) });
    fc.assert(
      fc.property(fc.array(fast, { maxLength: 200 }), fc.integer({ min: 1, max: 1_000 }), (answers, usual) => {
        const calls = answers.map((one) => call(one.calls, 1, { late: lateness(one.ms, Math.log(usual), one.calls) }));
        expect(after(UNKNOWN, ...calls).inTime.isFound).toBe(false);
      }),
      runs(100),
    );
    expect(lateness(8_040, Math.log(50), 10)).toBeCloseTo(Math.log(8_040 / 1_020));
    expect(lateness(8_000, Math.log(2_000), 10)).toBeCloseTo(Math.log(4));
  });

  it('may take this process some time each: of thousands that come at once, the last ones are not late', () => {
    const burst = Array.from({ length: 2_000 }, (_, index) =>
      call(index + 1, 1, { late: lateness(100 + 2 * index, Math.log(100), index + 1) }),
    );
    expect(after(UNKNOWN, ...burst).inTime.isFound).toBe(false);
  });

  it('that are too many leave no headroom, and far too many no room at all once the limit is known', () => {
    const unfound: ConcurrencyLimit = { inTime: { ...UNKNOWN_LIMIT, limit: 4 }, useful: UNKNOWN_LIMIT };
    expect(concurrencyRoom(unfound, POLICY.concurrencyLimit, 3)).toEqual({ waitMs: 0, headroom: 1 });
    expect(concurrencyRoom(unfound, POLICY.concurrencyLimit, 5)).toEqual({ waitMs: 0, headroom: -0.5 });
    expect(concurrencyRoom(unfound, POLICY.concurrencyLimit, 50).waitMs).toBe(0);
    expect(concurrencyRoom(foundAt(4), POLICY.concurrencyLimit, 7).waitMs).toBe(0);
    expect(concurrencyRoom(foundAt(4), POLICY.concurrencyLimit, 8).waitMs).toBeGreaterThan(0);
  });

  it('that are late but get as much done as fewer have room', () => {
    const useful: ConcurrencyLimit = { ...foundAt(4), useful: { ...UNKNOWN_LIMIT, limit: 20 } };
    expect(concurrencyRoom(useful, POLICY.concurrencyLimit, 19)).toEqual({ waitMs: 0, headroom: -4 });
    expect(concurrencyRoom(useful, POLICY.concurrencyLimit, 20).waitMs).toBeGreaterThan(0);
  });

  /** Shares of moments without room, one for each of many servers. */
  function refusals(most: number, slowness: (crowding: number) => number): readonly number[] {
    return Array.from({ length: 100 }, (_, seed) => {
      const knee = 2 + (seed % 19);
      const slowed = (calls: number): number => slowness(Math.max(1, calls / knee));
      return surge({ seed, deviation: 0.1 + (seed % 5) / 20, slowness: slowed, most: most * knee }) / 200;
    });
  }

  const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

  it('are hardly ever too many where each is slow in proportion to their number', () => {
    expect(mean(refusals(3, (crowding) => crowding))).toBeLessThan(0.05);
    expect(mean(refusals(3, (crowding) => crowding ** 0.7))).toBeLessThan(0.01);
  });

  it('are too many where more of them get less done', () => {
    expect(Math.min(...refusals(20, (crowding) => crowding ** 3))).toBeGreaterThan(0.8);
  });
});
