import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type CallCounts,
  type EndpointPerformance,
  UNMEASURED,
  callCounts,
  latencyOf,
  measureCall,
  slicesOf,
  throughputOf,
} from '../../../src/core/selection/performance.ts';
import { runs } from '../../support/properties.ts';

const NOW = 10_000_000;
const FIVE_MINUTES = 300_000;
/** Half a bucket of an eighth of a factor of two, as the module says. */
const ERROR = 0.05;
const SHARES = { p50: 0.5, p75: 0.75, p90: 0.9, p99: 0.99 } as const;

function measured(values: readonly number[], name: 'latencyMs' | 'tokensPerSecond'): EndpointPerformance {
  return values.reduce((known, value) => measureCall(known, { [name]: value }, NOW), UNMEASURED);
}

/** The value that is reached by this share of the values, counted from the first. */
function rank(sorted: readonly number[], share: number): number {
  return sorted[Math.max(0, Math.ceil(sorted.length * share - 1e-9) - 1)] ?? Number.NaN;
}

const values = fc.array(fc.double({ min: 1, max: 900_000, noNaN: true }), { minLength: 1, maxLength: 300 });

describe('percentiles', () => {
  it('of latency lie within the stated error of the exact ones, counted from the fastest', () => {
    fc.assert(
      fc.property(values, (list) => {
        const found = latencyOf(measured(list, 'latencyMs'), NOW, FIVE_MINUTES);
        const sorted = [...list].sort((left, right) => left - right);
        for (const name of ['p50', 'p75', 'p90', 'p99'] as const) {
          const exact = rank(sorted, SHARES[name]);
          expect(Math.abs((found?.[name] ?? Number.NaN) - exact) / exact).toBeLessThan(ERROR);
        }
      }),
      runs(1_000),
    );
  });

  it('of throughput lie within the stated error of the exact ones, counted from the fastest too', () => {
    fc.assert(
      fc.property(values, (list) => {
        const found = throughputOf(measured(list, 'tokensPerSecond'), NOW, FIVE_MINUTES);
        const sorted = [...list].sort((left, right) => right - left);
        for (const name of ['p50', 'p75', 'p90', 'p99'] as const) {
          const exact = rank(sorted, SHARES[name]);
          expect(Math.abs((found?.[name] ?? Number.NaN) - exact) / exact).toBeLessThan(ERROR);
        }
      }),
      runs(1_000),
    );
  });

  it('are ordered: waiting longer for more, and slower for more', () => {
    fc.assert(
      fc.property(values, (list) => {
        const latency = latencyOf(measured(list, 'latencyMs'), NOW, FIVE_MINUTES);
        const throughput = throughputOf(measured(list, 'tokensPerSecond'), NOW, FIVE_MINUTES);
        if (latency === undefined || throughput === undefined) throw new Error('nothing was measured');
        expect(latency.p50 <= latency.p75 && latency.p75 <= latency.p90 && latency.p90 <= latency.p99).toBe(true);
        const { p50, p75, p90, p99 } = throughput;
        expect(p50 >= p75 && p75 >= p90 && p90 >= p99).toBe(true);
      }),
      runs(300),
    );
  });

  it('do not exist where nothing was measured', () => {
    expect(latencyOf(UNMEASURED, NOW, FIVE_MINUTES)).toBeUndefined();
    expect(throughputOf(measured([100], 'latencyMs'), NOW, FIVE_MINUTES)).toBeUndefined();
  });

  it.each([0, -5, Number.NaN, Number.POSITIVE_INFINITY, undefined])('ignore the nonsense value %s', (value) => {
    const seen = measureCall(UNMEASURED, { latencyMs: value }, NOW);
    expect(latencyOf(seen, NOW, FIVE_MINUTES)).toBeUndefined();
    expect(callCounts(seen, NOW, FIVE_MINUTES).requests).toBe(1);
  });

  it('count values outside their range at its ends', () => {
    expect(latencyOf(measured([0.001], 'latencyMs'), NOW, FIVE_MINUTES)?.p50).toBe(1);
    expect(latencyOf(measured([1e12], 'latencyMs'), NOW, FIVE_MINUTES)?.p50).toBeGreaterThan(900_000);
  });
});

describe('the windows', () => {
  it('hold exactly the counts of their time, whenever they are asked', () => {
    const arrivals = fc.array(
      fc.record({ after: fc.nat(200_000), kind: fc.constantFrom('valid', 'invalid', undefined) }),
      {
        maxLength: 60,
      },
    );
    fc.assert(
      fc.property(arrivals, fc.integer({ min: 50_000, max: 7_200_000 }), (list, spanMs) => {
        let now = NOW;
        let known = UNMEASURED;
        const seen: { at: number; kind: 'valid' | 'invalid' | undefined }[] = [];
        for (const { after, kind } of list) {
          now += after;
          known = measureCall(known, { toolCalls: kind }, now);
          seen.push({ at: now, kind });
        }
        const counts = callCounts(known, now, spanMs);
        const inside = seen.filter(({ at }) => at > now - spanMs);
        const touched = seen.filter(({ at }) => at > now - spanMs - 50_000);
        expect(counts.requests).toBeGreaterThanOrEqual(inside.length);
        expect(counts.requests).toBeLessThanOrEqual(touched.length);
        expect(counts.badToolCalls).toBeLessThanOrEqual(counts.toolRequests);
        expect(counts.toolRequests).toBeLessThanOrEqual(counts.requests);
      }),
      runs(1_000),
    );
  });

  it('stay bounded however long an endpoint lives', () => {
    let known = UNMEASURED;
    for (let step = 0; step < 2_000; step += 1) known = measureCall(known, { latencyMs: 100 }, NOW + step * 50_000);
    expect(slicesOf(known).length).toBeLessThanOrEqual(145);
  });

  it('count into the newest slice when the clock goes back', () => {
    const ahead = measureCall(UNMEASURED, { latencyMs: 100 }, NOW + 3_600_000);
    const back = measureCall(ahead, { latencyMs: 100 }, NOW);
    expect(slicesOf(back)).toHaveLength(1);
    expect(slicesOf(back)[0]?.requests).toBe(2);
  });

  it('are the same whether calls are added to the slices one by one or several at once', () => {
    const call = fc.record({
      latencyMs: fc.integer({ min: 1, max: 1e6 }),
      toolCalls: fc.constantFrom('valid', 'invalid', undefined),
      schema: fc.constantFrom('fits', 'misfits', undefined),
      at: fc.oneof(fc.integer({ min: 0, max: 400_000 }), fc.integer({ min: 0, max: 9_000_000 })),
    });
    const spans = [50_000, FIVE_MINUTES, 1_800_000, 7_200_000];
    fc.assert(
      fc.property(fc.array(call, { maxLength: 100 }), fc.nat(8_000_000), (calls, after) => {
        let together = UNMEASURED;
        let oneByOne = UNMEASURED;
        for (const { at, ...seen } of calls) {
          together = measureCall(together, seen, NOW + at);
          oneByOne = { slices: slicesOf(measureCall(oneByOne, seen, NOW + at)) };
        }
        expect(slicesOf(together)).toEqual(oneByOne.slices);
        const last = Math.max(0, ...calls.map(({ at }) => at));
        for (const now of [NOW + last, NOW + last + after, NOW + last]) {
          for (const span of [...spans, FIVE_MINUTES]) {
            expect(latencyOf(together, now, span)).toEqual(latencyOf(oneByOne, now, span));
            const inTime = oneByOne.slices.filter(({ start }) => start + 50_000 > now - span);
            const sum = (of: keyof CallCounts): number => inTime.reduce((total, slice) => total + slice[of], 0);
            expect(callCounts(together, now, span)).toEqual({
              requests: sum('requests'),
              toolRequests: sum('toolRequests'),
              badToolCalls: sum('badToolCalls'),
              schemaAnswers: sum('schemaAnswers'),
              misfits: sum('misfits'),
            });
          }
        }
      }),
    );
  });

  it('survive being stored and restored', () => {
    const known = measured([10, 20, 3_000], 'latencyMs');
    const restored = JSON.parse(JSON.stringify(known)) as EndpointPerformance;
    expect(latencyOf(restored, NOW, FIVE_MINUTES)).toEqual(latencyOf(known, NOW, FIVE_MINUTES));
  });
});
