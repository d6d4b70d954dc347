import * as fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Endpoint } from '../../../src/catalog/endpoint.ts';
import type { Candidate } from '../../../src/plugins/services/inner-call/candidates.ts';
import {
  type Coder,
  codersOfTier,
  codersUnder,
  frontier,
  loadValue,
  priceOf,
  tierOf,
  TIERS,
  tiersOf,
} from '../../../src/plugins/pareto-router/pareto-router.ts';
import { runs } from '../../support/properties.ts';
import { sceneOf } from '../../support/requests.ts';

/** What is compared is score and price; who they belong to is of no importance here. */
function coder(score: number, price: number | undefined): Coder {
  return { candidate: {} as Candidate, score, price, cost: price };
}

beforeAll(loadValue);

const score = fc.integer({ min: 0, max: 20 }).map((step) => step / 20);
const price = fc.option(fc.integer({ min: 0, max: 12 }), { nil: undefined });
const coders = fc.array(
  fc.tuple(score, price).map(([own, cost]) => coder(own, cost)),
  { maxLength: 25 },
);

/** At least as good and at most as dear, and not the same. */
function beats(one: Coder, other: Coder): boolean {
  const [cost, otherCost] = [one.price ?? Infinity, other.price ?? Infinity];
  return one.score >= other.score && cost <= otherCost && (one.score > other.score || cost < otherCost);
}

function pairs(list: readonly Coder[]): readonly (readonly [Coder, Coder])[] {
  return list.slice(1).flatMap((one, index) => {
    const before = list[index];
    return before === undefined ? [] : [[before, one] as const];
  });
}

describe('the pareto frontier', () => {
  it('has exactly the models with a price that no other one beats, best first', () => {
    fc.assert(
      fc.property(coders, (list) => {
        const found = frontier(list);
        const unbeaten = list.filter((one) => one.price !== undefined && !list.some((other) => beats(other, one)));
        expect(new Set(found.map((one) => `${one.score} ${one.price}`))).toEqual(
          new Set(unbeaten.map((one) => `${one.score} ${one.price}`)),
        );
        for (const [first, second] of pairs(found)) {
          expect(first.score).toBeGreaterThan(second.score);
          expect(first.price).toBeGreaterThan(second.price ?? Infinity);
        }
      }),
      runs(500),
    );
  });

  it('comes before everything else that a cap allows, and nothing above the cap comes at all', () => {
    fc.assert(
      fc.property(coders, fc.integer({ min: 0, max: 12 }), (list, cap) => {
        const found = codersUnder(list, cap);
        const allowed = list.filter((one) => one.price !== undefined && one.price <= cap);
        expect(new Set(found)).toEqual(new Set(allowed));
        expect(found[0]?.score).toBe(allowed.length === 0 ? undefined : Math.max(...allowed.map((one) => one.score)));
        const others = found.slice(frontier(allowed).length);
        for (const [first, second] of pairs(others)) expect(first.score).toBeGreaterThanOrEqual(second.score);
      }),
      runs(500),
    );
  });
});

describe('tiers of coding scores', () => {
  it.each([
    [1, 'high'],
    [0.66, 'high'],
    [0.6599, 'medium'],
    [0.33, 'medium'],
    [0.3299, 'low'],
    [0, 'low'],
  ])('a score of %f is %s', (own, tier) => {
    expect(tierOf(own)).toBe(tier);
  });

  it('are thirds of the pool: the best is high, equals are together, and what is better is in no lower tier', () => {
    fc.assert(
      fc.property(coders, (list) => {
        const tiers = tiersOf(list);
        const rankOf = (one: Coder): number => TIERS.indexOf(tiers.get(one) ?? 'low');
        expect(tiers.size).toBe(list.length);
        const best = Math.max(...list.map((one) => one.score));
        for (const one of list) {
          if (one.score === best) expect(tiers.get(one)).toBe('high');
          for (const other of list)
            if (one.score >= other.score) expect(rankOf(one)).toBeLessThanOrEqual(rankOf(other));
        }
        const different = new Set(list.map((one) => one.score)).size === list.length;
        if (!different || list.length % 3 !== 0) return;
        for (const tier of TIERS) {
          const size = list.filter((one) => tiers.get(one) === tier).length;
          expect(Math.abs(size - list.length / 3)).toBeLessThanOrEqual(1);
        }
      }),
      runs(500),
    );
  });

  it('never give first what another model beats, of whichever tier that is', () => {
    fc.assert(
      fc.property(coders, fc.constantFrom(...TIERS), (list, wanted) => {
        const [first] = codersOfTier(list, wanted, { sizeOnly: false }).coders;
        expect(first === undefined).toBe(list.length === 0);
        if (first?.cost === undefined) return;
        expect(list.filter((other) => beats(other, first))).toEqual([]);
      }),
      runs(500),
    );
  });

  it('give all their models, or the neighbour tier when they have none', () => {
    fc.assert(
      fc.property(coders, fc.constantFrom(...TIERS), fc.boolean(), (list, wanted, sizeOnly) => {
        const tiers = tiersOf(list);
        const { tier, coders: found } = codersOfTier(list, wanted, { sizeOnly });
        if (list.some((one) => tiers.get(one) === wanted)) expect(tier).toBe(wanted);
        expect(found.length > 0).toBe(list.length > 0);
        expect(found).toEqual(expect.arrayContaining(list.filter((one) => tiers.get(one) === tier)));
        for (const [index, one] of found.entries()) {
          if (tiers.get(one) === tier) continue;
          expect(sizeOnly).toBe(false);
          // A stranger is only there for one behind it.
          expect(found.slice(index).some((other) => tiers.get(other) === tier && beats(one, other))).toBe(true);
        }
        if (!sizeOnly) return;
        for (const [first, second] of pairs(found)) expect(first.score).toBeGreaterThanOrEqual(second.score);
      }),
      runs(500),
    );
  });

  it.each([
    ['medium', [0.9, 0.1], 'high'],
    ['medium', [0.1], 'high'],
    ['low', [0.9], 'high'],
    ['low', [0.5, 0.5, 0.5], 'high'],
  ] as const)('next to %s, with scores %j, comes %s', (wanted, scores, tier) => {
    const list = scores.map((own) => coder(own, 1));
    expect(codersOfTier(list, wanted, { sizeOnly: false }).tier).toBe(tier);
  });

  it('give the fastest first where speed counts, and what nobody measured behind, by price', () => {
    const [slow, fast, dear, cheap] = [coder(0.9, 1), coder(0.9, 9), coder(0.9, 5), coder(0.9, 2)];
    const speeds = new Map([
      [slow, 20],
      [fast, 90],
    ]);
    const { coders: found } = codersOfTier([dear, slow, cheap, fast], 'high', {
      sizeOnly: false,
      speedOf: (one) => speeds.get(one),
    });
    expect(found).toEqual([fast, slow, cheap, dear]);
  });
});

describe('the price of a model', () => {
  const scene = sceneOf({
    providers: {
      alpha: { 'acme/one': { price: { prompt: 1, completion: 50 } } },
      beta: { 'acme/one': { price: { prompt: 3, completion: 3 } } },
      gamma: { 'acme/one': {}, 'acme/unknown': {} },
      delta: { 'acme/gift': { price: { prompt: 0, completion: 0 } } },
      gift: { 'acme/gift': { price: { prompt: 8, completion: 8 } } },
    },
  });
  const endpoints = (model: string): readonly Endpoint[] => scene.catalog.endpoints(model);

  const inputPrice = (model: readonly Endpoint[], source: 'prompt' | 'weighted_avg'): number | undefined =>
    priceOf(model, source, ({ price: own }) => own?.prompt);

  it('is that of the cheapest input, or the average that load balancing would pay', () => {
    expect(inputPrice(endpoints('acme/one'), 'prompt')).toBe(1);
    // Weights of 1 and 1/9: (1 + 3/9) / (1 + 1/9).
    expect(inputPrice(endpoints('acme/one'), 'weighted_avg')).toBeCloseTo(1.2, 9);
  });

  it('is nothing where one endpoint costs nothing, and unknown where none tells', () => {
    expect(inputPrice(endpoints('acme/gift'), 'weighted_avg')).toBe(0);
    expect(inputPrice(endpoints('acme/unknown'), 'prompt')).toBeUndefined();
    expect(inputPrice([], 'weighted_avg')).toBeUndefined();
  });
});
