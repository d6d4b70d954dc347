import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { costBandOf, withinBand } from '../../../src/plugins/auto-router/auto-router.ts';
import type { RankingSource } from '../../../src/plugins/auto-router/catalog-scores.ts';
import type { TaskProbability } from '../../../src/plugins/auto-router/classifier.ts';
import { provenGain, ranked, type RankingRules, rate, type Rated } from '../../../src/plugins/auto-router/ranking.ts';
import type { Candidate } from '../../../src/plugins/services/inner-call/candidates.ts';
import { seededRandom } from '../../../src/providers/simulated/chance.ts';
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
        const bands = TIERS.map((tier) => withinBand(list, costBandOf({ cost_tier: tier })));
        const all = bands.flat().map((one) => one.price ?? Number.NaN);
        expect(new Set(all).size).toBe(all.length);
        expect(all).toHaveLength(list.length);
        expect(all).toEqual(all.toSorted((left, right) => left - right));
      }),
      runs(300),
    );
  });

  it('are never empty where there is a model, and never mix equal prices', () => {
    const wish = fc.oneof(
      fc.constantFrom(...TIERS).map((tier) => ({ cost_tier: tier })),
      tradeoff.map((value) => ({ cost_quality_tradeoff: value })),
    );
    fc.assert(
      fc.property(listOf(anyPrice), wish, (list, entry) => {
        const inside = withinBand(list, costBandOf(entry));
        expect(inside.length > 0).toBe(list.length > 0);
        const prices = new Set(inside.map((one) => one.price));
        const isPriced = list.some((one) => one.price !== undefined);
        const isAnyCost = 'cost_quality_tradeoff' in entry && entry.cost_quality_tradeoff === 0;
        if (isPriced) expect(inside).toHaveLength(list.filter((one) => prices.has(one.price)).length);
        if (isPriced && !isAnyCost) expect(prices.has(undefined)).toBe(false);
      }),
      runs(300),
    );
  });

  it('only ever get wider with a smaller cost_quality_tradeoff, and always hold the cheapest', () => {
    fc.assert(
      fc.property(listOf(price), fc.integer({ min: 1, max: 10 }), (list, value) => {
        const narrow = withinBand(list, costBandOf({ cost_quality_tradeoff: value }));
        const wide = new Set(withinBand(list, costBandOf({ cost_quality_tradeoff: value - 1 })));
        expect(narrow.filter((one) => !wide.has(one))).toEqual([]);
        const cheapest = Math.min(...list.map((one) => one.price ?? Infinity));
        if (list.length > 0) expect(narrow.some((one) => one.price === cheapest)).toBe(true);
      }),
      runs(300),
    );
  });

  it('are those of cost_quality_tradeoff 9 without a cost setting, and none with 0', () => {
    expect(costBandOf({})).toEqual(costBandOf({ cost_quality_tradeoff: 9 }));
    fc.assert(
      fc.property(listOf(anyPrice), (list) => {
        expect(withinBand(list, costBandOf({ cost_quality_tradeoff: 0 }))).toEqual(list);
      }),
      runs(300),
    );
  });

  it('count a tier before a tradeoff', () => {
    expect(costBandOf({ cost_tier: 'max', cost_quality_tradeoff: 10 })).toMatchObject({ from: 80, to: 100 });
    expect([0, 5, 9, 10].map((value) => costBandOf({ cost_quality_tradeoff: value }).to)).toEqual([100, 50, 18, 10]);
    expect(costBandOf({ cost_quality_tradeoff: 0 })).toEqual({ from: 0, to: 100, closed: true, farWorse: undefined });
  });
});

const GENERAL: readonly TaskProbability[] = [{ task: 'general', probability: 1 }];
const QUALITY: RankingRules = {
  shares: GENERAL,
  defaultModels: [],
  farWorse: undefined,
  places: 4,
  isInBand: () => true,
};

/** Scores of one candidate, all measured on so many prompts. */
type Row = Readonly<Record<string, number>>;

/** Candidates of one price with rows of scores, rated for a prompt. */
function rated(rows: readonly Row[], shares: readonly TaskProbability[], count = 1_000): readonly Rated[] {
  const list = rows.map((_, index) => candidate(1, index));
  const rowOf = (one: Candidate): Row => rows[list.indexOf(one)] ?? {};
  const source: RankingSource = Object.assign(
    (one: Candidate, task: string) => {
      const score = rowOf(one)[task];
      return score === undefined ? undefined : { score, count };
    },
    { names: (one: Candidate) => Object.keys(rowOf(one)) },
  );
  return rate(list, source, shares);
}

function names({ ranking }: { readonly ranking: readonly Candidate[] }): readonly string[] {
  return ranking.map(({ model }) => model.id.replace('acme/', ''));
}

describe('the ranking of models', () => {
  const scored = fc.array(fc.tuple(anyPrice, fc.option(fc.integer({ min: 0, max: 5 }), { nil: undefined })), {
    maxLength: 30,
  });

  it('is by the overall score, then by price, with models of unknown score behind', () => {
    fc.assert(
      fc.property(scored, (rows) => {
        const list = rows.map(([cost], index) => candidate(cost, index));
        const scores = new Map(list.map((one, index) => [one, rows[index]?.[1]]));
        const known = rate(list, (one) => scores.get(one), GENERAL);
        const { ranking, by, bestOverall } = ranked(known, QUALITY);
        const isScored = rows.some(([, score]) => score !== undefined);
        expect(by).toBe(isScored ? 'scores' : 'size');
        expect(bestOverall).toBe(isScored ? ranking[0] : undefined);
        expect(new Set(ranking)).toEqual(new Set(list));
        expect(ranking).toHaveLength(list.length);
        for (const [index, one] of ranking.entries()) {
          const next = ranking[index + 1];
          if (next === undefined) continue;
          const [score, nextScore] = [scores.get(one) ?? -1, scores.get(next) ?? -1];
          expect(score).toBeGreaterThanOrEqual(nextScore);
          const [cost, nextCost] = [one.price ?? Infinity, next.price ?? Infinity];
          if (score >= 0 && score === nextScore) expect(cost).toBeLessThanOrEqual(nextCost);
          if (score < 0) expect(one.price ?? -1).toBeGreaterThanOrEqual(next.price ?? -1);
        }
      }),
      runs(300),
    );
  });

  it('never leaves the best model overall for one that is not better at the tasks of the prompt', () => {
    const share = fc.double({ min: 0, max: 1, noNaN: true });
    const row = fc.record({ general: share, math: share, law: share });
    fc.assert(
      fc.property(fc.array(row, { minLength: 1, maxLength: 12 }), share, fc.nat(3_000), (rows, math, count) => {
        const shares = [
          { task: 'math', probability: math },
          { task: 'law', probability: 1 - math },
        ];
        const all = rated(rows, shares, count);
        const { ranking, bestOverall } = ranked(all, { ...QUALITY, shares });
        const valueOf = (one: Candidate | undefined): number => {
          const own = rows[all.findIndex(({ candidate: other }) => other === one)];
          return math * (own?.math ?? 0) + (1 - math) * (own?.law ?? 0);
        };
        expect(bestOverall).toBeDefined();
        expect(valueOf(ranking[0])).toBeGreaterThanOrEqual(valueOf(bestOverall) - 1e-9);
      }),
      runs(300),
    );
  });

  it.each([
    ['differ in nothing but their level', 0],
    ['are better at some tasks than at others', 0.1],
  ])('gives answers as good as the best single model, in pools whose models %s', (_what, spread) => {
    const random = seededRandom(13);
    const tasks = ['math', 'law', 'science', 'planning', 'chat'];
    const gains = { rule: 0, highest: 0 };
    for (let pool = 0; pool < 400; pool += 1) {
      const truth = Array.from({ length: 8 }, () => {
        const level = 0.5 + 0.2 * random();
        return tasks.map(() => level + spread * (2 * random() - 1));
      });
      // What 100 answers say of it.
      const rows: readonly Row[] = truth.map((row) =>
        Object.fromEntries(
          row.map((share, index) => [
            tasks[index] ?? '',
            Array.from({ length: 100 }, () => (random() < share ? 1 : 0)).reduce<number>((sum, one) => sum + one, 0) /
              100,
          ]),
        ),
      );
      for (const [index, task] of tasks.entries()) {
        const shares = [{ task, probability: 1 }];
        const all = rated(rows, shares, 100);
        const { ranking, bestOverall } = ranked(all, { ...QUALITY, shares });
        const places = all.map(({ candidate: one }) => one);
        const trueScore = (place: number): number => truth[place]?.[index] ?? Number.NaN;
        const single = trueScore(bestOverall === undefined ? -1 : places.indexOf(bestOverall));
        const measuredBest = rows.reduce(
          (best, row, at) => ((row[task] ?? 0) > (rows[best]?.[task] ?? 0) ? at : best),
          0,
        );
        gains.rule += trueScore(ranking[0] === undefined ? -1 : places.indexOf(ranking[0])) - single;
        gains.highest += trueScore(measuredBest) - single;
      }
    }
    const share = (sum: number): number => (100 * sum) / (400 * tasks.length);
    console.log(
      `${_what}: ${share(gains.rule).toFixed(2)} points by the rule, ${share(gains.highest).toFixed(2)} by the highest score`,
    );
    expect(share(gains.rule)).toBeGreaterThan(spread === 0 ? -0.5 : 1);
    if (spread === 0) expect(gains.rule).toBeGreaterThan(gains.highest);
  });

  it('follows n/(n+20) · gain − standard error', () => {
    const shares = [{ task: 'math', probability: 1 }];
    const [one, other] = rated([{ math: 0.9 }, { math: 0.5 }], shares, 100);
    if (one === undefined || other === undefined) throw new Error('two were rated');
    // Shares of 91 and 51 of 102: 100/120 · 0.4 − √((0.892 · 0.108 + 0.25) / 100).
    expect(provenGain(one, other, shares)).toBeCloseTo(0.3333 - 0.0588, 3);
    expect(provenGain(other, one, shares)).toBeCloseTo(-0.3333 - 0.0588, 3);
    expect(provenGain(one, other, [{ task: 'math', probability: 0.5 }])).toBeCloseTo(0.5 * (0.3333 - 0.0588), 3);
  });

  it('compares models by the scores that they share, where none is for all', () => {
    // m0 was measured at what is easy; where both were measured, m1 is better.
    const rows = [{ easy: 0.95, hard: 0.3 }, { hard: 0.5 }, { easy: 0.9, hard: 0.2 }];
    const [first = 0, second = 0, third = 0] = rated(rows, GENERAL).map(({ overall }) => overall ?? Number.NaN);
    expect(second).toBeGreaterThan(first);
    expect(first).toBeGreaterThan(third);
    expect(names(ranked(rated(rows, GENERAL), QUALITY))).toEqual(['m1', 'm0', 'm2']);
  });

  it('takes the mean where all have the same scores, and the score in general where all have that', () => {
    const same = rated(
      [
        { math: 0.4, law: 0.8 },
        { math: 0.6, law: 0.5 },
      ],
      GENERAL,
    );
    const [left = 0, right = 0] = same.map(({ overall }) => overall ?? Number.NaN);
    expect(left - right).toBeCloseTo(0.05, 9);
    const general = rated(
      [
        { general: 0.4, law: 1 },
        { general: 0.6, law: 0 },
      ],
      GENERAL,
    );
    expect(general.map(({ overall }) => overall)).toEqual([0.4, 0.6]);
  });

  it('puts models without a score for the task behind those with one', () => {
    const shares = [{ task: 'math', probability: 1 }];
    const rows = [{ law: 0.9 }, { law: 0.8, math: 0.3 }, {}, { math: 0.5 }];
    expect(names(ranked(rated(rows, shares), { ...QUALITY, shares }))).toEqual(['m3', 'm1', 'm0', 'm2']);
  });

  it('follows the default models only where nobody has a score', () => {
    const list = [1, 2, 3].map((cost, index) => candidate(cost, index));
    const defaultModels = ['acme/m2', 'acme/gone', 'acme/m1'];
    const byList = ranked(
      rate(list, () => undefined, GENERAL),
      { ...QUALITY, defaultModels },
    );
    expect(byList.by).toBe('default_models');
    expect(names(byList)).toEqual(['m2', 'm1', 'm0']);
    const source: RankingSource = ({ model }) => (model.id === 'acme/m1' ? 0 : undefined);
    const byScore = ranked(rate(list, source, GENERAL), { ...QUALITY, defaultModels });
    expect(byScore.by).toBe('scores');
    expect(names(byScore)).toEqual(['m1', 'm2', 'm0']);
  });
});
