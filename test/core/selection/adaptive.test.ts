import { likelyTextTokens } from '../../../src/core/tokens/likely-tokens.ts';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Admission, observe, UNKNOWN_HEALTH } from '../../../src/core/fallback/health.ts';
import { failureUsd } from '../../../src/core/selection/adaptive/health-score.ts';
import { useAfterSending, waitForLimits } from '../../../src/core/selection/adaptive/endpoint-room.ts';
import {
  DEFAULT_HEDGE_POLICY,
  EMPTY_HEDGE_BUDGET,
  lateAnswerShare,
  lateEndsAfter,
  NO_LATE_ENDS,
  hedgeDelay,
  budgetAfterAnswer,
  budgetAfterHedge,
  budgetAfterLoser,
  runsProviderTools,
} from '../../../src/core/selection/adaptive/hedge.ts';
import {
  DEFAULT_PACER_POLICY,
  FREE_PACE,
  type EndpointPace,
  paceAfterPromise,
  paceAfterReturn,
  paceAfterRefusal,
  paceAfterSending,
  paceAfterSuccess,
  slotIn,
} from '../../../src/core/selection/adaptive/pacer.ts';
import { promptRatio } from '../../../src/core/selection/adaptive/expected-cost.ts';
import { DEFAULT_ADAPTIVE_POLICY, MINIMUM_CALLS } from '../../../src/core/selection/adaptive/policy.ts';
import {
  DEFAULT_HANG_DETECTION,
  normalTail,
  silenceLikelihood,
} from '../../../src/core/selection/adaptive/hang-detection.ts';
import { UNMEASURED } from '../../../src/core/selection/performance.ts';
import type { EndpointRecord } from '../../../src/core/selection/world.ts';
import type { ProviderPreferences } from '../../../src/protocol/provider-preferences.ts';
import { runs } from '../../support/properties.ts';
import { HEALTH_POLICY } from '../../support/records.ts';
import { type Circumstances, NOW, costing, serving } from '../../support/requests.ts';
import { failure } from '../../../src/contracts/failure.ts';
import { FAULTLESS, conditionAfter, conditionNow } from '../../../src/core/fallback/outcomes.ts';
import {
  UNKNOWN_SPEED,
  grownAfter,
  levelOf,
  slownessOf,
  speedAfter,
  speedAfterGivingUp,
  usualAmongPeers,
  usualMedian,
  usualP95,
} from '../../../src/core/selection/adaptive/speed.ts';

const POLICY = DEFAULT_ADAPTIVE_POLICY;
const ADAPTIVE: Circumstances = { strategy: 'adaptive', adaptive: POLICY };

function record(value: number, lateness = 0, lostUsd = 0): EndpointRecord {
  return {
    health: { ...UNKNOWN_HEALTH, condition: { ...FAULTLESS, value, lostUsd, at: NOW } },
    performance: UNMEASURED,
    speed: { ...UNKNOWN_SPEED, lateness, at: NOW },
  };
}

const unit = fc.double({ min: 0, max: 1, noNaN: true });
/** What one failure may cost. */
const dollars = fc.double({ min: 0, max: 0.2, noNaN: true });
/** Powers of sums are this exact. */
const ROUNDING = 1e-9;

const cached = (usd: number) => ({ price: { prompt: usd, completion: 4 * usd, cacheRead: usd / 10 } });
const LONG = { messages: [{ role: 'user' as const, content: 'x'.repeat(40_000) }], max_tokens: 100 };
/** Tokens of LONG that are cached: nearly all. */
const CACHED = Math.floor(0.99 * likelyTextTokens(['x'.repeat(40_000)]));

describe('the strategy adaptive', () => {
  const scene = serving({ a: costing(1), b: costing(1.2), c: costing(3) });

  it('draws in proportion to (what it costs to start there)⁻¹², and says so', () => {
    const shares = scene.plan({}, ADAPTIVE).steps.map(({ figures }) => figures?.share ?? 0);
    expect(shares.reduce((sum, share) => sum + share, 0)).toBeCloseTo(1, 12);
    expect((shares[0] ?? 0) / (shares[1] ?? 1)).toBeCloseTo(1.2 ** 12, 6);
    const weak = scene.plan({}, { ...ADAPTIVE, records: { a: record(0.9) } }).steps;
    const figuresOf = (tag: string) => weak.find(({ endpoint }) => endpoint.tag === tag)?.figures;
    // A tenth of its calls fails: three calls more, and the next one, which is at b.
    const start = 1 + 0.1 * (3 + 1.2);
    expect((figuresOf('a')?.share ?? 0) / (figuresOf('b')?.share ?? 1)).toBeCloseTo((1.2 / start) ** 12, 6);
    const { expectedCostUsd = 0, failureCostUsd } = figuresOf('a') ?? {};
    expect(failureCostUsd).toBeCloseTo((start - 1) * expectedCostUsd, 12);
    expect(figuresOf('b')).not.toHaveProperty('failureCostUsd');
  });

  it('counts the time that failures take, at ten dollars an hour, and what is charged for them', () => {
    expect(failureUsd(3_600)).toBeCloseTo(0.01, 12);
    expect(failureUsd(3_600, 0.5)).toBeCloseTo(0.51, 12);
    expect(failureUsd(-1)).toBe(0);
    const costs = (lostUsd: number) => {
      const { steps } = scene.plan({}, { ...ADAPTIVE, records: { c: record(0.9, 0, lostUsd) } });
      return steps.find(({ endpoint }) => endpoint.tag === 'c')?.figures?.failureCostUsd ?? 0;
    };
    expect(costs(0.001) - costs(0)).toBeCloseTo(0.001, 12);
  });

  it('lets the best serve the most where all are ill, and the cheapest where all are equally ill', () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ value: unit, eachUsd: dollars }), { minLength: 2, maxLength: 6 }),
        fc.array(fc.double({ min: 0.01, max: 20, noNaN: true }), { minLength: 2, maxLength: 6 }),
        fc.record({ value: unit, eachUsd: dollars }),
        (ill, prices, same) => {
          const even = serving(Object.fromEntries(ill.map((_, index) => [`p${index}`, costing(1)])));
          const records = Object.fromEntries(
            ill.map(({ value, eachUsd }, index) => [`p${index}`, record(value, 0, (1 - value) * eachUsd)]),
          );
          const { steps } = even.plan({}, { ...ADAPTIVE, records, roll: 0 });
          const found = steps.map(({ endpoint, figures }) => {
            const { value = 0, eachUsd = 0 } = ill[Number(endpoint.tag.slice(1))] ?? {};
            return { value, eachUsd, share: figures?.share ?? 0 };
          });
          for (const one of found) {
            for (const other of found) {
              if (one.value < other.value || one.eachUsd > other.eachUsd) continue;
              expect(one.share).toBeGreaterThanOrEqual(other.share * (1 - ROUNDING));
            }
          }
          const priced = serving(Object.fromEntries(prices.map((usd, index) => [`p${index}`, costing(usd)])));
          const ofAll = Object.fromEntries(
            prices.map((_, index) => [`p${index}`, record(same.value, 0, (1 - same.value) * same.eachUsd)]),
          );
          const shares = priced.plan({}, { ...ADAPTIVE, records: ofAll }).steps.map(({ endpoint, figures }) => ({
            usd: prices[Number(endpoint.tag.slice(1))] ?? 0,
            share: figures?.share ?? 0,
          }));
          const byPrice = shares.toSorted((left, right) => left.usd - right.usd);
          for (const [index, { share }] of byPrice.entries()) {
            expect(share).toBeGreaterThanOrEqual((byPrice[index + 1]?.share ?? 0) * (1 - ROUNDING));
          }
        },
      ),
      runs(300),
    );
  });

  it('never ranks an endpoint better for more failures, slower ones, or ones that are charged for', () => {
    const known = fc.record({ usd: fc.double({ min: 0, max: 20, noNaN: true }), value: unit, eachUsd: dollars });
    const worse = fc.record({ value: unit, eachUsd: dollars });
    fc.assert(
      fc.property(fc.array(known, { minLength: 2, maxLength: 6 }), worse, fc.boolean(), (endpoints, factor, warm) => {
        const random = serving(Object.fromEntries(endpoints.map(({ usd }, index) => [`p${index}`, cached(usd)])));
        const served = warm ? [{ endpoint: 'p1#acme/one', at: NOW, tokens: CACHED }] : [];
        const shareOf = (isWorse: boolean) => {
          const records = Object.fromEntries(
            endpoints.map(({ value, eachUsd }, index) => {
              const failing = 1 - (isWorse && index === 0 ? value * factor.value : value);
              const each = eachUsd + (isWorse && index === 0 ? factor.eachUsd : 0);
              return [`p${index}`, record(1 - failing, 0, failing * each)];
            }),
          );
          const { steps } = random.plan(LONG, { ...ADAPTIVE, records, served });
          return Object.fromEntries(steps.map(({ endpoint: { tag }, figures }) => [tag, figures?.share ?? 0]));
        };
        const [before, after] = [shareOf(false), shareOf(true)];
        expect(after['p0']).toBeLessThanOrEqual((before['p0'] ?? 0) * (1 + ROUNDING));
      }),
      runs(500),
    );
  });

  it('draws twice as sharply once it is known how long answers are', () => {
    const { steps } = scene.plan({}, { ...ADAPTIVE, usualAnswerTokens: 200 });
    const shares = steps.map(({ figures }) => figures?.share ?? 0);
    expect((shares[0] ?? 0) / (shares[1] ?? 1)).toBeCloseTo(1.2 ** 24, 6);
  });

  it('expects prompts to be as long as providers report them', () => {
    const costOf = (ratio: number | undefined) =>
      scene.plan(LONG, { ...ADAPTIVE, promptRatio: ratio }).steps.find(({ endpoint }) => endpoint.tag === 'a')?.figures
        ?.expectedCostUsd ?? 0;
    const answerUsd = 2 * costOf(1) - costOf(2);
    expect(costOf(undefined)).toBe(costOf(1));
    expect(costOf(1) / answerUsd).toBeCloseTo(101, 6);
    expect((costOf(1.5) - answerUsd) / (costOf(1) - answerUsd)).toBeCloseTo(1.5, 9);
    expect([promptRatio(undefined, undefined), promptRatio(150, 100), promptRatio(9e9, 1), promptRatio(0, 9)]).toEqual([
      undefined,
      1.5,
      3,
      undefined,
    ]);
  });

  it('puts the others behind the drawn one from the best to the worst', () => {
    for (const roll of [0, 0.5, 0.95, 0.999_999]) {
      const [first, ...rest] = scene.order({}, { ...ADAPTIVE, roll });
      expect(rest).toEqual(['a', 'b', 'c'].filter((tag) => tag !== first));
    }
  });

  it('stays where a long prompt is cached, unless that costs more than to leave', () => {
    const two = serving({ cheap: cached(1), dear: cached(2), dearest: cached(15) });
    const servedBy = (tag: string) => [{ endpoint: `${tag}#acme/one`, at: NOW - 60_000, tokens: CACHED }];
    expect(two.order(LONG, { ...ADAPTIVE, roll: 0.5, served: servedBy('dear') })[0]).toBe('dear');
    expect(two.order(LONG, { ...ADAPTIVE, roll: 0.5, served: servedBy('dearest') })[0]).toBe('cheap');
    const cold = [{ endpoint: 'dear#acme/one', at: NOW - 300_001, tokens: CACHED }];
    expect(two.order(LONG, { ...ADAPTIVE, roll: 0.5, served: cold })[0]).toBe('cheap');
  });

  it('moves back to where a session is cheaper in the long run, unless places there are scarce', () => {
    const two = serving({ cheap: cached(1), dear: cached(4) });
    const served = [{ endpoint: 'dear#acme/one', at: NOW - 60_000, tokens: CACHED }];
    const orderOf = (further: number, headroom: number) =>
      two.plan(LONG, {
        ...ADAPTIVE,
        roll: 0.5,
        adaptive: { ...POLICY, furtherRequests: further },
        served,
        admission: () => ({ ok: true, headroom }),
      }).steps;
    const [first, second] = orderOf(3, 1);
    expect(first?.endpoint.tag).toBe('cheap');
    expect(first?.figures?.laterCostUsd).toBeLessThan((second?.figures?.laterCostUsd ?? 0) / 3);
    expect(orderOf(3, 0.05)[0]?.endpoint.tag).toBe('dear');
    expect(orderOf(0, 1)[0]?.endpoint.tag).toBe('dear');
    expect(orderOf(0, 1)[0]?.figures).not.toHaveProperty('laterCostUsd');
    const cold = two.plan(LONG, { ...ADAPTIVE, roll: 0.5 }).steps;
    expect(cold[0]?.figures).not.toHaveProperty('laterCostUsd');
  });

  it('does not leave a warm endpoint by chance, nor for a failure that will be forgotten', () => {
    const two = serving({ here: cached(1), there: cached(0.97) });
    const served = [{ endpoint: 'here#acme/one', at: NOW, tokens: CACHED }];
    for (const roll of [0, 0.5, 0.999]) {
      expect(two.order(LONG, { ...ADAPTIVE, roll, served, records: { here: record(0.85) } })[0]).toBe('here');
    }
  });

  it('leaves a warm endpoint that fails or has become slow', () => {
    const two = serving({ cheap: cached(1), dear: cached(2) });
    const served = [{ endpoint: 'cheap#acme/one', at: NOW, tokens: CACHED }];
    const failing = (ms: number) => ({ cheap: record(0.4, 0, 0.6 * failureUsd(ms)) });
    // A failure at once costs less to try than the prompt at the other one.
    expect(two.order(LONG, { ...ADAPTIVE, roll: 0.5, served, records: failing(50) })[0]).toBe('cheap');
    expect(two.order(LONG, { ...ADAPTIVE, roll: 0.5, served, records: failing(20_000) })[0]).toBe('dear');
    expect(two.order(LONG, { ...ADAPTIVE, roll: 0.5, served, records: { cheap: record(1, Math.log(8)) } })[0]).toBe(
      'dear',
    );
    expect(two.order(LONG, { ...ADAPTIVE, roll: 0.5, served, records: { cheap: record(1, Math.log(1.9)) } })[0]).toBe(
      'cheap',
    );
  });

  it('keeps the requests of a session together, whatever the roll, and spreads sessions', () => {
    const equal = serving({ a: costing(1), b: costing(1), c: costing(1) });
    const orderOf = (session: string, roll: number) => equal.order({ session_id: session }, { ...ADAPTIVE, roll })[0];
    const counts: Record<string, number> = {};
    for (let index = 0; index < 3_000; index += 1) {
      const first = orderOf(`s${index}`, 0) ?? '';
      counts[first] = (counts[first] ?? 0) + 1;
      if (index < 100) expect(orderOf(`s${index}`, 0.9)).toBe(first);
    }
    for (const count of Object.values(counts)) expect(Math.abs(count - 1_000)).toBeLessThan(120);
  });

  it('asks others before one that has too many calls, and still moves sessions in the long run', () => {
    const two = serving({ cheap: cached(1), dear: cached(4) });
    const orderOf = (headroom: number, more: Circumstances = {}) =>
      two.plan(LONG, {
        ...ADAPTIVE,
        roll: 0.5,
        admission: ({ tag }) => (tag === 'cheap' ? { ok: true, headroom } : { ok: true }),
        ...more,
      }).steps;
    expect(orderOf(-0.1)[0]?.endpoint.tag).toBe('cheap');
    const [first, second] = orderOf(-1);
    expect([first?.endpoint.tag, second?.endpoint.tag]).toEqual(['dear', 'cheap']);
    expect(second?.figures).toMatchObject({ headroom: -1, health: 0.25 });
    // Where all have too many, the cheapest is asked again.
    expect(orderOf(-1, { admission: () => ({ ok: true, headroom: -1 }) })[0]?.endpoint.tag).toBe('cheap');
    const served = [{ endpoint: 'dear#acme/one', at: NOW - 60_000, tokens: CACHED }];
    expect(orderOf(-0.01, { served })[0]?.endpoint.tag).toBe('cheap');
  });

  it('puts endpoints that must not be called now last, and sends a request to one that can be tried again', () => {
    const out = (endpoint: { readonly tag: string }): Admission =>
      endpoint.tag === 'a' ? { ok: false, waitMs: 1_000, cause: 'breaker' } : { ok: true };
    const plan = scene.plan({}, { ...ADAPTIVE, admission: out });
    expect(plan.steps.map(({ endpoint }) => endpoint.tag)).toEqual(['b', 'c', 'a']);
    expect(plan.steps.at(-1)?.figures?.share).toBe(0);
    const probe = (endpoint: { readonly tag: string }): Admission =>
      endpoint.tag === 'a' ? { ok: true, probe: true } : { ok: true };
    const records = { a: record(0.3, Math.log(8)) };
    expect(scene.order({}, { ...ADAPTIVE, admission: probe, records })[0]).toBe('a');
  });

  it('is the same for the same world and roll, never brings back what is excluded, and shares out all of the chance', () => {
    const number = (min: number, max: number) => fc.double({ min, max, noNaN: true });
    const circumstances = fc.record({
      roll: number(0, 1 - Number.EPSILON),
      values: fc.array(number(0, 1), { minLength: 5, maxLength: 5 }),
      late: fc.array(number(-2, 4), { minLength: 5, maxLength: 5 }),
      prices: fc.array(fc.option(number(0, 20), { nil: undefined }), { minLength: 5, maxLength: 5 }),
      refused: fc.array(fc.boolean(), { minLength: 5, maxLength: 5 }),
      session: fc.option(
        fc.string({ minLength: 1, maxLength: 8 }).filter((text) => text.trim() !== ''),
        {
          nil: undefined,
        },
      ),
      ignored: fc.constantFrom('p0', 'p3'),
      sort: fc.constantFrom<ProviderPreferences['sort']>(undefined, 'price', 'latency'),
    });
    fc.assert(
      fc.property(circumstances, ({ roll, values, late, prices, refused, session, ignored, sort }) => {
        const random = serving(
          Object.fromEntries(prices.map((usd, index) => [`p${index}`, usd === undefined ? {} : costing(usd)])),
        );
        const world: Circumstances = {
          ...ADAPTIVE,
          roll,
          records: Object.fromEntries(values.map((value, index) => [`p${index}`, record(value, late[index])])),
          admission: ({ tag }) =>
            refused[Number(tag.slice(1))] === true ? { ok: false, waitMs: 5, cause: 'pace' } : { ok: true },
        };
        const body = {
          provider: { ignore: [ignored], sort },
          ...(session === undefined ? {} : { session_id: session }),
        };
        const plan = random.plan(body, world);
        expect(random.plan(body, world)).toEqual(plan);
        expect(plan.steps).toHaveLength(4);
        expect(plan.steps.map(({ endpoint }) => endpoint.tag)).not.toContain(ignored);
        if (sort !== undefined) return;
        const total = plan.steps.reduce((sum, { figures }) => sum + (figures?.share ?? 0), 0);
        const callable = plan.steps.filter(({ endpoint }) => refused[Number(endpoint.tag.slice(1))] !== true);
        expect(total).toBeCloseTo(callable.length === 0 ? 0 : 1, 9);
        if (callable.length > 0) expect(callable).toContain(plan.steps[0]);
      }),
      runs(500),
    );
  });
});

describe('a sort', () => {
  const scene = serving({ a: costing(1), b: costing(2) });
  const sort = { provider: { sort: 'price' as const } };

  it('keeps its meaning among endpoints that are well', () => {
    expect(scene.order(sort, { ...ADAPTIVE, records: { a: record(0.72) } })).toEqual(['a', 'b']);
  });

  it('does not leave in front what fails, is slow or must not be called', () => {
    expect(scene.order(sort, { ...ADAPTIVE, records: { a: record(0.69) } })).toEqual(['b', 'a']);
    expect(scene.order(sort, { ...ADAPTIVE, records: { a: record(1, Math.log(8)) } })).toEqual(['b', 'a']);
    const admission = ({ tag }: { readonly tag: string }): Admission =>
      tag === 'a' ? { ok: false, waitMs: 9, cause: 'breaker' } : { ok: true };
    expect(scene.order(sort, { ...ADAPTIVE, admission })).toEqual(['b', 'a']);
  });
});

describe('health', () => {
  it('falls to 85 % with a failure, rises by a tenth with a success, and forgets', () => {
    const failed = conditionAfter(FAULTLESS, POLICY, { ok: false, probe: false }, NOW);
    expect(failed.value).toBeCloseTo(0.85, 12);
    expect(conditionAfter(failed, POLICY, { ok: true, probe: false }, NOW).value).toBeCloseTo(0.865, 12);
    expect(conditionNow(failed, NOW + 20_000)).toBeCloseTo(1 - 0.15 / Math.E, 12);
    const low = { ...FAULTLESS, value: 0.2, lostUsd: 0.8, at: NOW };
    const probed = conditionAfter(low, POLICY, { ok: true, probe: true }, NOW);
    expect(probed.value).toBeCloseTo(0.95, 12);
    expect(probed.lostUsd).toBeCloseTo(0.05, 12);
  });

  it('knows what failures cost, and forgets that with them', () => {
    let known = FAULTLESS;
    for (let call = 0; call < 3; call += 1) {
      known = conditionAfter(known, POLICY, { ok: false, probe: false, lostUsd: 0.03 }, NOW);
    }
    expect(known.lostUsd).toBeCloseTo((1 - known.value) * 0.03, 12);
    const later = conditionAfter(known, POLICY, { ok: false, probe: false }, NOW + 20_000);
    expect(later.lostUsd).toBeCloseTo((known.lostUsd * 0.85) / Math.E, 12);
    const after = conditionAfter(known, POLICY, { ok: true, probe: false }, NOW);
    expect(after.lostUsd / known.lostUsd).toBeCloseTo(0.9, 12);
  });

  it('of an endpoint counts failures of its own only', () => {
    const after = (kind: 'server' | 'rate_limited' | 'superseded') =>
      observe(UNKNOWN_HEALTH, HEALTH_POLICY, { ok: false, failure: failure(kind, 'x'), generation: 0 }, NOW).condition
        .value;
    expect(after('server')).toBeCloseTo(0.85, 12);
    expect(after('rate_limited')).toBe(1);
    expect(after('superseded')).toBe(1);
  });
});

describe('speed', () => {
  const call = (ms: number) => ({ kind: 'streaming' as const, ms });
  const steady = Array.from({ length: 200 }).reduce<typeof UNKNOWN_SPEED>(
    (speed, _, index) => speedAfter(speed, POLICY.speed, call(500 * Math.exp(0.3 * Math.sin(index))), NOW),
    UNKNOWN_SPEED,
  );

  it('learns the usual median and 95th percentile', () => {
    expect(usualMedian(steady.streaming)).toBeGreaterThan(470);
    expect(usualMedian(steady.streaming)).toBeLessThan(530);
    expect(usualP95(steady.streaming)).toBeGreaterThan(600);
    expect(usualP95(steady.whole)).toBeUndefined();
  });

  it('notices within a few calls that an endpoint has slowed down, without taking that for usual', () => {
    let slow = steady;
    for (let index = 0; index < 10; index += 1) slow = speedAfter(slow, POLICY.speed, call(4_000), NOW);
    expect(slownessOf(slow, NOW)).toBeGreaterThan(5);
    expect(usualMedian(slow.streaming)).toBeLessThan(540);
    expect(slownessOf(slow, NOW + 60_000)).toBeLessThan(1.15);
  });

  it('takes what lasts for usual after a while, however few or many calls there were before and meanwhile', () => {
    for (const before of [3, 200]) {
      for (const everyMs of [500, 10_000]) {
        let speed = UNKNOWN_SPEED;
        for (let index = 0; index < before; index += 1) speed = speedAfter(speed, POLICY.speed, call(500), NOW);
        const slowFor = (fromMs: number, toMs: number): void => {
          for (let ms = fromMs; ms <= toMs; ms += everyMs) {
            speed = speedAfter(speed, POLICY.speed, call(4_000), NOW + ms);
          }
        };
        slowFor(0, 180_000);
        expect(usualMedian({ ...speed.streaming, calls: 100 })).toBeLessThan(1_000);
        slowFor(180_000 + everyMs, 6 * 3_600_000);
        expect(usualMedian(speed.streaming)).toBeGreaterThan(3_000);
      }
    }
  });

  it('does not seem to grow with tokens because who is slower has more calls waiting', () => {
    const ends = { one: UNKNOWN_SPEED, other: UNKNOWN_SPEED };
    let all = UNKNOWN_SPEED;
    for (let index = 0; index < 400; index += 1) {
      const name = index % 2 === 0 ? 'one' : 'other';
      const [usualMs, waiting] = name === 'one' ? [200, 600] : [800, 6_000];
      const timed = {
        kind: 'streaming' as const,
        ms: usualMs * Math.exp(0.3 * Math.sin(3 * index)),
        tokens: waiting * (1 + 0.3 * Math.cos(7 * index)),
      };
      const level = levelOf(ends[name], all, 'streaming');
      all = grownAfter(speedAfter(all, POLICY.speed, timed, NOW), timed, level);
      ends[name] = speedAfter(ends[name], POLICY.speed, timed, NOW);
    }
    expect(all.streaming.growth?.perTokenMs).toBe(0);
  });

  it('is learnt anew once it is clear how times grow with tokens, so that a short first prompt makes nobody late', () => {
    const perTokenMs = 0.15;
    let all = UNKNOWN_SPEED;
    let one = speedAfter(UNKNOWN_SPEED, POLICY.speed, { ...call(60), tokens: 400 }, NOW);
    for (let index = 0; index < 60; index += 1) {
      const tokens = 2_000 + 700 * (index % 20);
      const timed = { ...call(perTokenMs * tokens), tokens, growth: all.streaming.growth };
      all = grownAfter(speedAfter(all, POLICY.speed, timed, NOW), timed, 1);
      one = speedAfter(one, POLICY.speed, { ...timed, growth: all.streaming.growth }, NOW);
    }
    expect(all.streaming.growth?.perTokenMs).toBeCloseTo(perTokenMs, 2);
    expect(slownessOf(one, NOW)).toBeLessThan(1.1);
    expect(one.streaming.mean).toBeCloseTo(all.streaming.mean, 1);
  });

  it('expects of a new endpoint what is usual elsewhere, where its first call takes far longer', () => {
    const expected = { ...steady.streaming };
    const first = speedAfter(UNKNOWN_SPEED, POLICY.speed, { ...call(4_000), expected }, NOW);
    expect(first.streaming.mean).toBe(expected.mean);
    expect(slownessOf(first, NOW)).toBeGreaterThan(1.4);
    const ordinary = speedAfter(UNKNOWN_SPEED, POLICY.speed, { ...call(700), expected }, NOW);
    expect(Math.exp(ordinary.streaming.mean)).toBeCloseTo(700, 6);
  });

  it('does not take for usual what slowly gets worse at an endpoint that was hardly called before', () => {
    let speed = speedAfter(UNKNOWN_SPEED, POLICY.speed, call(500), NOW);
    for (const [index, ms] of [1_150, 2_000, 1_800, 2_500, 4_000, 3_500, 4_500, 4_000, 4_000, 4_000].entries()) {
      const expected = usualAmongPeers(speed, steady, 'streaming');
      speed = speedAfter(speed, POLICY.speed, { ...call(ms), expected }, NOW + index * 1_000);
    }
    expect(Math.exp(speed.streaming.mean)).toBeLessThan(1_000);
    expect(slownessOf(speed, NOW + 10_000)).toBeGreaterThan(2);
  });

  it('learns nothing of a new endpoint from a call that was given up before it was late', () => {
    const expected = { ...steady.streaming };
    expect(speedAfterGivingUp(UNKNOWN_SPEED, POLICY.speed, { ...call(3), expected }, NOW)).toBe(UNKNOWN_SPEED);
    expect(speedAfterGivingUp(UNKNOWN_SPEED, POLICY.speed, call(10_000), NOW)).toBe(UNKNOWN_SPEED);
    const late = speedAfterGivingUp(UNKNOWN_SPEED, POLICY.speed, { ...call(2_000), expected }, NOW);
    expect(slownessOf(late, NOW)).toBeGreaterThan(1.2);
    expect(late.streaming.mean).toBe(expected.mean);
  });

  it('learns from calls that were given up that it is at least so slow, and nothing from early ones', () => {
    expect(speedAfterGivingUp(steady, POLICY.speed, call(100), NOW)).toBe(steady);
    const late = speedAfterGivingUp(steady, POLICY.speed, call(5_000), NOW);
    expect(slownessOf(late, NOW)).toBeGreaterThan(slownessOf(steady, NOW));
    expect(late.streaming).toBe(steady.streaming);
  });
});

describe('what is usual at an endpoint that was hardly called', () => {
  const call = (ms: number, kind: 'streaming' | 'whole' = 'streaming') => ({ kind, ms });
  const after = (calls: number, ms: number, kind?: 'streaming' | 'whole') =>
    Array.from({ length: calls }).reduce<typeof UNKNOWN_SPEED>(
      (speed) => speedAfter(speed, POLICY.speed, call(ms, kind), NOW),
      UNKNOWN_SPEED,
    );
  const peers = speedAfter(after(200, 100), POLICY.speed, call(200, 'whole'), NOW);
  const median = (own: typeof UNKNOWN_SPEED | undefined, kind: 'streaming' | 'whole' = 'streaming') =>
    Math.exp(usualAmongPeers(own, peers, kind)?.mean ?? Number.NaN);

  it('is what is usual at its peers, with more variance, as long as it has not answered', () => {
    expect(median(undefined)).toBeCloseTo(100, 6);
    const usual = usualAmongPeers(undefined, peers, 'streaming');
    expect(usual?.variance).toBeCloseTo(2 * peers.streaming.variance, 9);
    expect(usualAmongPeers(undefined, undefined, 'streaming')).toBeUndefined();
  });

  it('moves with each of its calls to what it takes itself', () => {
    const medians = [0, 1, 3, 9, 10].map((calls) => median(after(calls, 1_000)));
    expect(medians).toEqual(medians.toSorted((left, right) => left - right));
    expect(medians[1]).toBeCloseTo(Math.sqrt(100 * 1_000), 6);
    expect(medians.at(-1)).toBeCloseTo(1_000, 6);
  });

  it('is learnt for calls of one kind from those of the other', () => {
    expect(median(after(9, 1_000), 'whole')).toBeGreaterThan(1_000);
    expect(median(after(9, 1_000), 'whole')).toBeLessThan(2_000);
  });
});

describe('a call', () => {
  it('is late sooner where its endpoint may hang', () => {
    const usual = { calls: 100, mean: Math.log(500), variance: 0.35 ** 2 };
    const delay = (isSuspect: boolean, isProbe = false) =>
      hedgeDelay(usual, DEFAULT_HEDGE_POLICY, { isProbe, isSuspect }) ?? 0;
    const p95 = 500 * Math.exp(1.645 * 0.35);
    expect(delay(true)).toBeCloseTo(1.1 * p95, 6);
    expect(delay(false)).toBeCloseTo(2 * p95, 6);
    expect(delay(true, true)).toBeCloseTo(600, 6);
  });
});

describe('hang detection', () => {
  const usual = { calls: 100, mean: Math.log(500), variance: 0.35 ** 2 };
  const calls = (...ages: readonly number[]) => ages.map((ageMs) => ({ ageMs, usual }));
  const test = (ages: readonly number[], since = Infinity) =>
    silenceLikelihood(calls(...ages), since, DEFAULT_HANG_DETECTION);

  it('takes three calls that are all long overdue for a sign, and two for chance', () => {
    const { threshold } = DEFAULT_HANG_DETECTION;
    expect(test([5_000, 5_000, 5_000])).toBeLessThan(threshold);
    expect(test([5_000, 5_000])).toBeGreaterThan(threshold);
    expect(test([300, 300, 300, 300, 300])).toBeGreaterThan(-1.5);
  });

  it('needs more of an endpoint of which few calls are known', () => {
    const ages = [1_200, 1_200, 1_200];
    const few = ages.map((ageMs) => ({ ageMs, usual: { ...usual, calls: MINIMUM_CALLS } }));
    expect(silenceLikelihood(few, Infinity, DEFAULT_HANG_DETECTION)).toBeGreaterThan(0.8 * test(ages));
  });

  it('suspects nothing while a machine may just have paused, however many calls wait', () => {
    const fast = { calls: 100, mean: Math.log(2), variance: 0.35 ** 2 };
    const waiting = Array.from({ length: 64 }, () => ({ ageMs: 900, usual: fast }));
    expect(silenceLikelihood(waiting, Infinity, DEFAULT_HANG_DETECTION)).toBe(0);
    const longer = waiting.map((call) => ({ ...call, ageMs: 1_200 }));
    expect(silenceLikelihood(longer, Infinity, DEFAULT_HANG_DETECTION)).toBeLessThan(-12);
    expect(silenceLikelihood(longer, 900, DEFAULT_HANG_DETECTION)).toBe(0);
  });

  it('takes nothing from thousands of calls that keep this process busy for some seconds', () => {
    const burst = calls(...Array.from({ length: 2_000 }, () => 4_000));
    expect(silenceLikelihood(burst, 4_000, DEFAULT_HANG_DETECTION)).toBe(0);
    const later = calls(...Array.from({ length: 2_000 }, () => 6_000));
    expect(silenceLikelihood(later, 6_000, DEFAULT_HANG_DETECTION)).toBeLessThan(-12);
  });

  it('counts only what has been silent since the last answer', () => {
    expect(test([5_000, 5_000, 5_000], 50)).toBeGreaterThan(-1);
  });

  it('knows the tail of the normal distribution', () => {
    for (const [z, tail] of [
      [0, 0.5],
      [1.6449, 0.05],
      [-1, 0.8413],
      [3, 0.00135],
    ] as const) {
      expect(normalTail(z)).toBeCloseTo(tail, 4);
    }
  });
});

describe('the pacer', () => {
  const policy = DEFAULT_PACER_POLICY;

  it('knows no limit before the first refusal, and then the rate at which it was refused', () => {
    let pace = FREE_PACE;
    for (let call = 0; call < 20; call += 1) pace = paceAfterSending(pace, NOW + call * 40);
    expect(slotIn(pace, policy, NOW + 800)).toEqual({ waitMs: 0, headroom: 1 });
    const refused = paceAfterRefusal(pace, policy, undefined, NOW + 800);
    expect(refused.rate).toBeCloseTo(19, 6);
    expect(paceAfterSuccess(refused, policy, NOW).rate).toBeCloseTo(19.015, 6);
    expect(paceAfterRefusal(FREE_PACE, policy, undefined, NOW).rate).toBe(1);
  });

  it('lowers the rate once for refusals that come together', () => {
    const pace = paceAfterRefusal(crowd(20), policy, undefined, NOW);
    expect(paceAfterRefusal(pace, policy, undefined, NOW + 100).rate).toBe(pace.rate);
    expect(paceAfterRefusal(crowd(20, pace), policy, undefined, NOW + 1_000).rate).toBeCloseTo(0.95 * pace.rate, 6);
  });

  it('never falls below what an endpoint has taken between two refusals, whatever the last second had', () => {
    let pace = paceAfterRefusal(crowd(5), policy, undefined, NOW);
    for (let call = 0; call < 50; call += 1) pace = paceAfterSending(pace, NOW + call * 200);
    // Chance has left the last two seconds empty.
    const refused = paceAfterRefusal(pace, policy, undefined, NOW + 12_000);
    expect(refused.rate).toBeCloseTo((0.95 * 48) / 12, 6);
    // What was not taken is no limit: nobody may have asked.
    const idle = paceAfterSending(paceAfterRefusal(crowd(5), policy, undefined, NOW), NOW + 60_000);
    expect(paceAfterRefusal(idle, policy, undefined, NOW + 60_000).rate).toBeCloseTo(0.95, 6);
  });

  it('leaves others their share of what an endpoint of few calls takes', () => {
    // Four instances call an endpoint of two calls a second, each more often than it may.
    const perSecond = 2;
    const paces = Array.from({ length: 4 }, () => FREE_PACE);
    let [left, refused, calls] = [4, 0, 0];
    for (let ms = 0; ms < 600_000; ms += 50) {
      left = Math.min(4, left + perSecond * 0.05);
      for (const [instance, pace] of paces.entries()) {
        if ((ms / 50 + instance) % 4 > 0 || slotIn(pace, policy, NOW + ms).waitMs > 0) continue;
        const sent = paceAfterSending(pace, NOW + ms);
        const isTaken = left >= 1;
        paces[instance] = isTaken
          ? paceAfterSuccess(sent, policy, NOW + ms)
          : paceAfterRefusal(sent, policy, undefined, NOW + ms);
        if (isTaken) left -= 1;
        calls += 1;
        refused += Number(!isTaken);
      }
    }
    expect(refused / calls).toBeLessThan(0.2);
  });

  it('regains soon what an endpoint takes that has refused everything for a while', () => {
    let pace = paceAfterRefusal(crowd(8), policy, undefined, NOW);
    let now = NOW;
    for (; now < NOW + 60_000; now += 100) {
      if (slotIn(pace, policy, now).waitMs === 0)
        pace = paceAfterRefusal(paceAfterSending(pace, now), policy, undefined, now);
    }
    expect(pace.rate).toBe(policy.slowestPerSecond);
    for (; now < NOW + 240_000; now += 100) {
      if (slotIn(pace, policy, now).waitMs === 0) pace = paceAfterSuccess(paceAfterSending(pace, now), policy, now);
    }
    expect(pace.rate).toBeGreaterThan(3);
  });

  it('counts a call whose place was promised when it goes out, and its place once', () => {
    const known = paceAfterRefusal(crowd(5), policy, undefined, NOW);
    const promised = paceAfterPromise(known, NOW + 1_000);
    expect([known.taken, promised.taken]).toEqual([0, 0]);
    const sent = paceAfterSending(promised, NOW + 2_000, 'promised');
    expect(sent.busyUntil).toBe(promised.busyUntil);
    expect(sent.taken).toBe(1);
  });

  it('gives a promised place that is not used to the others', () => {
    const known = paceAfterRefusal(crowd(5), policy, undefined, NOW);
    const promised = paceAfterPromise(paceAfterPromise(known, NOW), NOW);
    expect(paceAfterReturn(promised).busyUntil).toBeCloseTo(paceAfterPromise(known, NOW).busyUntil, 6);
    expect(paceAfterReturn(FREE_PACE)).toBe(FREE_PACE);
  });

  it('gives one place when a provider wants to be called again, and then one for each that the rate holds', () => {
    let pace = paceAfterRefusal(crowd(4), policy, NOW + 300, NOW);
    const places = Array.from({ length: 4 }, () => {
      const { waitMs } = slotIn(pace, policy, NOW);
      pace = paceAfterSending(pace, NOW);
      return Math.round(waitMs);
    });
    const each = 1_000 / pace.rate;
    expect(places).toEqual([300, 300 + each, 300 + 2 * each, 300 + 3 * each].map(Math.round));
  });

  it('never lets more through than the rate, however long it lasts', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 1, max: 30, noNaN: true }),
        fc.array(fc.nat(200), { maxLength: 80 }),
        (rate, list) => {
          let pace: EndpointPace = { ...FREE_PACE, rate };
          let now = NOW;
          const sent: number[] = [];
          for (const after of list) {
            now += after;
            const { waitMs } = slotIn(pace, policy, now);
            if (waitMs > 0) {
              // What it says is the truth: then there is a place, if nobody else takes it.
              expect(slotIn(pace, policy, now + waitMs).waitMs).toBe(0);
              continue;
            }
            pace = paceAfterSending(pace, now);
            sent.push(now);
            for (const [index, at] of sent.entries()) {
              // A burst holds eight calls, or two seconds' worth where those are more.
              const most = Math.max(8, rate * policy.burstSeconds) + (rate * (now - at)) / 1_000;
              expect(sent.length - index).toBeLessThanOrEqual(Math.max(1, most + 1e-3));
            }
          }
        },
      ),
      runs(500),
    );
  });

  /** So many calls within the last second. */
  function crowd(calls: number, pace: EndpointPace = FREE_PACE): EndpointPace {
    return Array.from({ length: calls }).reduce<EndpointPace>((before) => paceAfterSending(before, NOW), pace);
  }
});

describe('declared limits', () => {
  it('of requests and tokens per minute are held in every minute', () => {
    let use = useAfterSending([], 100, NOW);
    use = useAfterSending(use, 300, NOW + 2_000);
    const call = { tokens: 100, running: 0 };
    expect(waitForLimits({ rpm: 3 }, use, call, NOW + 3_000)).toBe(0);
    expect(waitForLimits({ rpm: 2 }, use, call, NOW + 3_000)).toBe(58_000);
    expect(waitForLimits({ tpm: 400 }, use, call, NOW + 3_000)).toBe(58_000);
    expect(waitForLimits({ tpm: 400 }, use, call, NOW + 62_000)).toBe(0);
    expect(waitForLimits({ tpm: 50 }, [], call, NOW)).toBe(0);
  });

  it('of calls at a time are looked at again soon', () => {
    expect(waitForLimits({ concurrency: 2 }, [], { tokens: 1, running: 1 }, NOW)).toBe(0);
    expect(waitForLimits({ concurrency: 2 }, [], { tokens: 1, running: 2 }, NOW)).toBe(50);
  });
});

describe('late calls of an endpoint', () => {
  it('answer where nothing is known of them, and as often as they lately did', () => {
    expect(lateAnswerShare(NO_LATE_ENDS)).toBe(1);
    const after = (failures: number, from = NO_LATE_ENDS): typeof NO_LATE_ENDS =>
      Array.from({ length: failures }).reduce<typeof NO_LATE_ENDS>((ends) => lateEndsAfter(ends, 'failed'), from);
    expect(lateAnswerShare(after(1))).toBeCloseTo(0.5, 1);
    expect(lateAnswerShare(after(50))).toBeLessThan(0.02);
    const recovered = Array.from({ length: 100 }).reduce<typeof NO_LATE_ENDS>(
      (ends) => lateEndsAfter(ends, 'answered'),
      after(50),
    );
    expect(lateAnswerShare(recovered)).toBeGreaterThan(0.85);
  });
});

describe('the purse of hedges', () => {
  it('never pays more than its share of what all answers cost, and puts back what a hedge did not need', () => {
    const cost = fc.double({ min: 1e-6, max: 10, noNaN: true });
    const step = fc.record({
      does: fc.constantFrom('answer', 'hedge', 'end'),
      usd: cost,
      share: fc.double({ min: 0, max: 1, noNaN: true }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 300 }), (list) => {
        let purse = EMPTY_HEDGE_BUDGET;
        let answers = 0;
        let lost = 0;
        const open: number[] = [];
        for (const { does, usd, share } of list) {
          if (does === 'answer') {
            purse = budgetAfterAnswer(purse, DEFAULT_HEDGE_POLICY, usd);
            answers += usd;
          } else if (does === 'hedge') {
            const paid = budgetAfterHedge(purse, usd / 100);
            if (paid === undefined) continue;
            purse = paid;
            open.push(usd / 100);
          } else {
            const setAside = open.pop();
            if (setAside === undefined) continue;
            purse = budgetAfterLoser(purse, setAside, share * setAside);
            lost += share * setAside;
          }
          const underWay = open.reduce((sum, one) => sum + one, 0);
          expect(lost + underWay).toBeLessThanOrEqual(DEFAULT_HEDGE_POLICY.share * answers * (1 + 1e-9));
        }
      }),
      runs(500),
    );
  });
});

describe('tools that a provider runs', () => {
  const scene = serving({ a: {} });

  it('are recognised, so that such a request is never sent twice', () => {
    const request = scene.request();
    const native = (tools: readonly object[]) => ({ apiFormat: 'responses' as const, body: { tools: tools as never } });
    expect(runsProviderTools(request)).toBe(false);
    expect(runsProviderTools({ ...request, native: native([{ type: 'function', name: 'mine' }]) })).toBe(false);
    expect(runsProviderTools({ ...request, native: native([{ type: 'code_interpreter' }]) })).toBe(true);
    expect(runsProviderTools({ ...request, extra: { mcp_servers: [] } })).toBe(true);
  });
});
