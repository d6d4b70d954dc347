import { describe, expect, it } from 'vitest';
import { Metric } from '../../src/core/ledger/replay/metric.ts';

/** Requests that show how often endpoints leave a request to the next one. */
function metricWith(goesOn: readonly number[]): Metric {
  const metric = new Metric();
  for (const [place, share] of goesOn.entries()) {
    for (let index = 0; index < 100; index += 1) {
      metric.observe(place, index, 0);
      if (index % 10 < share * 10) metric.wentOn(place, index);
      else metric.answeredAtFirst(place, index);
    }
  }
  return metric;
}

describe('the cost of a request that would go elsewhere', () => {
  it('is that of the endpoint that would answer, as often as those before it fail', () => {
    const metric = metricWith([0.5, 0.5, 0]);
    metric.moves(0, 50, 0, { count: 3, places: [0, 1, 2], prices: [10, 20, 40] });
    expect(metric.result().after).toBeCloseTo(0.5 * 10 + 0.25 * 20 + 0.25 * 40);
  });

  it('is known to vary with who answers, and not at all where the first always does', () => {
    const width = (goesOn: number): number => {
      const metric = metricWith([goesOn, 0]);
      for (let request = 0; request < 400; request += 1) {
        metric.moves(0, 50, 0, { count: 2, places: [0, 1], prices: [10, 30] });
      }
      const { low, high } = metric.result().difference;
      return high - low;
    };
    // By chance each request costs 10 or 30, and how often is known from a hundred.
    expect(width(0.5)).toBeGreaterThan(2 * 1.96 * 10 * Math.sqrt(1 / 400 + 1 / 100) * 0.95);
    expect(width(0.5)).toBeLessThan(2 * 1.96 * 10 * Math.sqrt(1 / 400 + 1 / 100) * 1.2);
    expect(width(0)).toBeLessThan(width(0.5) / 2);
  });
});
