import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isFree } from '../../../src/catalog/price.ts';
import { pickByPrice } from '../../../src/core/selection/rank.ts';
import { seededRandom } from '../../../src/providers/simulated/chance.ts';
import { runs } from '../../support/properties.ts';
import { recordAfter, times } from '../../support/records.ts';
import { type Circumstances, type Scene, costing, serving } from '../../support/requests.ts';

const DRAWS = 10_000;

/** How often each order of endpoints came up. */
function draw(scene: Scene, circumstances: Circumstances, seed = 7): ReadonlyMap<string, number> {
  const chance = seededRandom(seed);
  const request = scene.request();
  expect(request.targets).toHaveLength(1);
  const seen = new Map<string, number>();
  for (let index = 0; index < DRAWS; index += 1) {
    const order = scene.order({}, { ...circumstances, roll: chance() }).join(' ');
    seen.set(order, (seen.get(order) ?? 0) + 1);
  }
  return seen;
}

function firsts(seen: ReadonlyMap<string, number>): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const [order, count] of seen) {
    const [first = ''] = order.split(' ');
    counts[first] = (counts[first] ?? 0) + count;
  }
  return counts;
}

/** Pearson's statistic of counts against the shares they should have. */
function chiSquare(counts: Readonly<Record<string, number>>, shares: Readonly<Record<string, number>>): number {
  return Object.entries(shares).reduce((sum, [name, share]) => {
    const expected = share * DRAWS;
    return sum + ((counts[name] ?? 0) - expected) ** 2 / expected;
  }, 0);
}

describe('the balance of prices', () => {
  it('draws the first endpoint with weight one over the price squared', () => {
    const scene = serving({ a: costing(1), b: costing(2), c: costing(3) });
    const total = 1 + 1 / 4 + 1 / 9;
    const shares = { a: 1 / total, b: 1 / 4 / total, c: 1 / 9 / total };
    for (const seed of [7, 8, 9]) {
      // The 99.9th percentile of chi-square with two degrees of freedom.
      expect(chiSquare(firsts(draw(scene, {}, seed)), shares)).toBeLessThan(13.82);
    }
  });

  it('draws an endpoint at 1 USD nine times as often as one at 3 USD', () => {
    const counts = firsts(draw(serving({ a: costing(1), c: costing(3) }), {}));
    expect(chiSquare(counts, { a: 0.9, c: 0.1 })).toBeLessThan(10.83);
    expect((counts['a'] ?? 0) / (counts['c'] ?? 1)).toBeGreaterThan(8);
    expect((counts['a'] ?? 0) / (counts['c'] ?? 1)).toBeLessThan(10);
  });

  it('tries A, C, B most often when B has just failed, and B always last', () => {
    const scene = serving({ a: costing(1), b: costing(2), c: costing(3) });
    const seen = draw(scene, { records: { b: recordAfter(['server', 'server']) } });
    const [most] = [...seen].sort(([, left], [, right]) => right - left);
    expect(most?.[0]).toBe('a c b');
    expect([...seen.keys()].sort()).toEqual(['a c b', 'c a b']);
    expect(chiSquare(firsts(seen), { a: 0.9, c: 0.1 })).toBeLessThan(10.83);
  });

  it('tries the others by price after the draw', () => {
    const scene = serving({ dear: costing(9), cheap: costing(1), middle: costing(3), unknown: {} });
    for (const order of draw(scene, {}).keys()) {
      const [first, ...rest] = order.split(' ');
      expect(rest).toEqual(['cheap', 'middle', 'dear', 'unknown'].filter((name) => name !== first));
    }
  });

  it('draws only among those that cost nothing where there are some, all alike', () => {
    const scene = serving({ paid: costing(0.01), free: costing(0), gratis: costing(0) });
    const counts = firsts(draw(scene, {}));
    expect(Object.keys(counts).sort()).toEqual(['free', 'gratis']);
    expect(chiSquare(counts, { free: 0.5, gratis: 0.5 })).toBeLessThan(10.83);
  });

  it('draws all alike where no price is known', () => {
    const counts = firsts(draw(serving({ a: {}, b: {}, c: {}, d: {} }), {}));
    expect(chiSquare(counts, { a: 0.25, b: 0.25, c: 0.25, d: 0.25 })).toBeLessThan(16.27);
  });

  it('always picks one of the endpoints, whatever they cost', () => {
    const paid = fc.double({ min: 1e-6, max: 1e6, noNaN: true });
    const price = fc.option(fc.oneof(fc.constant(0), paid), { nil: undefined });
    fc.assert(
      fc.property(
        fc.array(price, { minLength: 1, maxLength: 12 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (usd, roll) => {
          const scene = serving(
            Object.fromEntries(usd.map((one, index) => [`p${index}`, one === undefined ? {} : costing(one)])),
          );
          const endpoints = scene.request().targets[0]?.endpoints ?? [];
          const picked = pickByPrice(endpoints, Math.min(roll, 1 - Number.EPSILON));
          expect(endpoints).toContain(picked);
          const someFree = endpoints.some((endpoint) => isFree(endpoint.price));
          if (someFree && usd.every((one) => one !== undefined)) expect(isFree(picked?.price)).toBe(true);
        },
      ),
      runs(1_000),
    );
  });
});

describe('stability', () => {
  const scene = serving({ a: costing(1), b: costing(2), c: costing(3) });

  function orderWhen(history: Parameters<typeof recordAfter>[0], agoMs?: number, everyMs?: number): readonly string[] {
    return scene.order({}, { records: { a: recordAfter(history, agoMs, everyMs) } });
  }

  it.each([
    ['two failures in a row', ['server', 'timeout'] as const],
    ['one failure in five calls', ['ok', 'ok', 'ok', 'ok', 'connection'] as const],
    ['a key that is refused', ['credentials'] as const],
  ])('puts an endpoint last after %s', (_name, history) => {
    expect(orderWhen(history)).toEqual(['b', 'c', 'a']);
  });

  it.each([
    ['one failure in six calls', ['ok', 'ok', 'ok', 'ok', 'ok', 'server'] as const],
    ['rate limits', ['rate_limited', 'rate_limited', 'rate_limited'] as const],
    ['requests that were refused', ['invalid_request', 'context_length', 'too_large', 'unprocessable'] as const],
    ['refused content', ['content_policy', 'content_policy'] as const],
    ['callers who went away', ['aborted', 'aborted'] as const],
  ])('leaves an endpoint where it is after %s', (_name, history) => {
    expect(orderWhen(history)).toEqual(['a', 'b', 'c']);
  });

  it('forgives after thirty seconds without a failure', () => {
    expect(orderWhen(['server', 'server'], 29_000)).toEqual(['b', 'c', 'a']);
    expect(orderWhen(['server', 'server'], 30_000)).toEqual(['a', 'b', 'c']);
  });

  it('looks at the uptime of half an hour once there are a hundred calls', () => {
    const history = [...times(10, 'server' as const), ...times(90, 'ok' as const)];
    expect(orderWhen(history, 60_000)).toEqual(['b', 'c', 'a']);
    expect(orderWhen(history.slice(1), 60_000)).toEqual(['a', 'b', 'c']);
    expect(orderWhen([...times(4, 'server' as const), ...times(96, 'ok' as const)], 60_000)).toEqual(['a', 'b', 'c']);
  });

  it('never leaves an endpoint out, however bad it is', () => {
    const failing = recordAfter(times(50, 'server'));
    const plan = scene.plan({}, { records: { a: failing, b: failing, c: failing } });
    expect(plan.steps).toHaveLength(3);
    expect(plan.rejected).toEqual([]);
  });

  it('tells middling uptime from bad uptime', () => {
    const middling = recordAfter([...times(10, 'server' as const), ...times(90, 'ok' as const)], 60_000);
    const bad = recordAfter([...times(30, 'server' as const), ...times(90, 'ok' as const)], 60_000);
    expect(scene.order({}, { records: { a: bad, b: middling } })).toEqual(['c', 'b', 'a']);
  });
});
