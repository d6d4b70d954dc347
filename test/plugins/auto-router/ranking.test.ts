import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { costBandOf, withinBand } from '../../../src/plugins/auto-router/auto-router.ts';
import { ranked } from '../../../src/plugins/auto-router/ranking.ts';
import type { Candidate } from '../../../src/plugins/inner-call/candidates.ts';
import { runs } from '../../support/properties.ts';

const TIERS = ['low', 'medium', 'high', 'xhigh', 'max'] as const;

/** What is ranked has a name and a price here, and nothing else. */
function candidate(price: number | undefined, index: number): Candidate {
  const id = `acme/m${index}`;
  return { model: { id }, target: { requested: id, model: id, endpoints: [], strategy: 'auto' }, endpoints: [], price };
}

function listOf(price: fc.Arbitrary<number | undefined>): fc.Arbitrary<readonly Candidate[]> {
  return fc.array(price, { maxLength: 30 }).map((prices) => prices.map(candidate));
}

const price = fc.integer({ min: 0, max: 20 });
const anyPrice = fc.option(price, { nil: undefined });
const tradeoff = fc.integer({ min: 0, max: 10 });

describe('cost bands', () => {
  it('give every model with a price to one tier, and dearer ones to no lower tier', () => {
    const several = fc.uniqueArray(price, { minLength: 5, maxLength: 20 }).map((prices) => prices.map(candidate));
    fc.assert(
      fc.property(several, (list) => {
        const bands = TIERS.map((tier) => withinBand(list, costBandOf({ cost_tier: tier })).inside);
        const all = bands.flat().map((one) => one.price ?? Number.NaN);
        expect(new Set(all).size).toBe(all.length);
        expect(all).toHaveLength(list.length);
        expect(all).toEqual(all.toSorted((left, right) => left - right));
      }),
      runs(300),
    );
  });

  it('are never empty where there is a model, never mix equal prices, and leave nobody in reserve when asked for', () => {
    const wish = fc.oneof(
      fc.constantFrom(...TIERS).map((tier) => ({ cost_tier: tier })),
      tradeoff.map((value) => ({ cost_quality_tradeoff: value })),
    );
    fc.assert(
      fc.property(listOf(anyPrice), wish, (list, entry) => {
        const { inside, reserve } = withinBand(list, costBandOf(entry));
        expect(inside.length > 0).toBe(list.length > 0);
        expect(reserve).toEqual([]);
        const prices = new Set(inside.map((one) => one.price));
        const isPriced = list.some((one) => one.price !== undefined);
        if (isPriced) expect(inside).toHaveLength(list.filter((one) => prices.has(one.price)).length);
        if (isPriced) expect(prices.has(undefined)).toBe(false);
      }),
      runs(300),
    );
  });

  it('only ever get wider with a smaller cost_quality_tradeoff, and always hold the cheapest', () => {
    fc.assert(
      fc.property(listOf(price), fc.integer({ min: 1, max: 10 }), (list, value) => {
        const narrow = withinBand(list, costBandOf({ cost_quality_tradeoff: value })).inside;
        const wide = new Set(withinBand(list, costBandOf({ cost_quality_tradeoff: value - 1 })).inside);
        expect(narrow.filter((one) => !wide.has(one))).toEqual([]);
        const cheapest = Math.min(...list.map((one) => one.price ?? Infinity));
        if (list.length > 0) expect(narrow.some((one) => one.price === cheapest)).toBe(true);
      }),
      runs(300),
    );
  });

  it('keep everybody else in reserve when nothing was said of costs', () => {
    fc.assert(
      fc.property(listOf(anyPrice), (list) => {
        const { inside, reserve } = withinBand(list, costBandOf({}));
        expect(new Set([...inside, ...reserve])).toEqual(new Set(list));
        expect(inside.length + reserve.length).toBe(list.length);
      }),
      runs(300),
    );
  });

  it('count a tier before a tradeoff', () => {
    expect(costBandOf({ cost_tier: 'max', cost_quality_tradeoff: 10 })).toMatchObject({ from: 80, to: 100 });
    expect([0, 5, 9, 10].map((value) => costBandOf({ cost_quality_tradeoff: value }).to)).toEqual([90, 50, 18, 10]);
    expect(costBandOf({})).toMatchObject({ from: 0, to: 18, strict: false });
  });
});

describe('the ranking of models', () => {
  const scored = fc.array(fc.tuple(anyPrice, fc.option(fc.integer({ min: 0, max: 5 }), { nil: undefined })), {
    maxLength: 30,
  });

  it('is by score, then by price, with models of unknown score behind', () => {
    fc.assert(
      fc.property(scored, (rows) => {
        const list = rows.map(([cost], index) => candidate(cost, index));
        const scores = new Map(list.map((one, index) => [one, rows[index]?.[1]]));
        const { ranking, by } = ranked(list, (one) => scores.get(one), []);
        expect(by).toBe(rows.some(([, score]) => score !== undefined) ? 'scores' : 'price');
        expect(new Set(ranking)).toEqual(new Set(list));
        expect(ranking).toHaveLength(list.length);
        for (const [index, one] of ranking.entries()) {
          const next = ranking[index + 1];
          if (next === undefined) continue;
          const [score, nextScore] = [scores.get(one) ?? -1, scores.get(next) ?? -1];
          expect(score).toBeGreaterThanOrEqual(nextScore);
          if (score === nextScore) expect(one.price ?? Infinity).toBeLessThanOrEqual(next.price ?? Infinity);
        }
      }),
      runs(300),
    );
  });

  it('follows the default models only where nobody has a score', () => {
    const list = [1, 2, 3].map((cost, index) => candidate(cost, index));
    const names = (found: readonly Candidate[]) => found.map(({ model }) => model.id);
    const byList = ranked(list, () => undefined, ['acme/m2', 'acme/gone', 'acme/m1']);
    expect(byList.by).toBe('default_models');
    expect(names(byList.ranking)).toEqual(['acme/m2', 'acme/m1', 'acme/m0']);
    const byScore = ranked(list, ({ model }) => (model.id === 'acme/m1' ? 0 : undefined), ['acme/m2']);
    expect(byScore.by).toBe('scores');
    expect(names(byScore.ranking)).toEqual(['acme/m1', 'acme/m0', 'acme/m2']);
  });
});
