import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Attempt, failure, FAILURE_RULES } from '../../../src/core/fallback/failure.ts';
import { backoffMs } from '../../../src/core/fallback/retry-budget.ts';
import type { Admission } from '../../../src/core/fallback/health.ts';
import { type Move, type Situation, nextMove } from '../../../src/core/fallback/next-move.ts';
import type { PlanStep, RoutePlan } from '../../../src/core/selection/route-plan.ts';
import { FAILURE_KINDS, FALLBACK_POLICY, failedAt, planOver, situation } from '../../support/attempts.ts';
import { runs } from '../../support/properties.ts';
import { NOW } from '../../support/requests.ts';

const plan = planOver('alpha', 'beta', 'gamma');
const twoModels = planOver('alpha acme/one', 'beta acme/one', 'gamma acme/two');

/** A move in a few words. */
function inWords(move: Move): string {
  return move.type === 'stop' ? `stop: ${move.reason}` : `${move.step.endpoint.provider} after ${move.waitMs}`;
}

function next(attempts: readonly Attempt[], given?: Partial<Situation>, of: RoutePlan = plan): string {
  return inWords(nextMove(of, attempts, situation(given)));
}

/** Closes the named providers; they open after so many milliseconds. */
function closed(waits: Readonly<Record<string, number>>, cause: 'breaker' | 'rate_limited' = 'breaker') {
  return {
    admission: ({ endpoint: { provider } }: PlanStep): Admission => {
      const waitMs = waits[provider];
      return waitMs === undefined ? { ok: true } : { ok: false, waitMs, cause };
    },
  };
}

describe('the first round', () => {
  it('takes the endpoints of the plan in order and without waiting', () => {
    expect(next([])).toBe('alpha after 0');
    expect(next([failedAt(plan, 'alpha', 'server')])).toBe('beta after 0');
    expect(next([failedAt(plan, 'alpha', 'server'), failedAt(plan, 'beta', 'timeout')])).toBe('gamma after 0');
  });

  it('passes over whoever is cooling down', () => {
    expect(next([], closed({ alpha: 5_000 }))).toBe('beta after 0');
    expect(next([failedAt(plan, 'beta', 'server')], closed({ alpha: 5_000 }))).toBe('gamma after 0');
    expect(next([], closed({ alpha: 1, beta: 1, gamma: 1 }))).toBe('stop: exhausted');
  });

  it('comes back to an endpoint that has recovered meanwhile', () => {
    expect(next([failedAt(plan, 'beta', 'server'), failedAt(plan, 'gamma', 'server')])).toBe('alpha after 0');
  });

  it.each(FAILURE_KINDS)('goes on after "%s" as the rule of this kind says', (kind) => {
    const expected = {
      endpoint: 'beta after 0',
      longer: 'gamma after 0',
      model: 'gamma after 0',
      nothing: 'stop: refused',
    };
    expect(next([failedAt(twoModels, 'alpha', kind)], {}, twoModels)).toBe(expected[FAILURE_RULES[kind].next]);
  });

  it('stops when the only model was refused', () => {
    expect(next([failedAt(plan, 'alpha', 'invalid_request')])).toBe('stop: refused');
  });

  it('ends with the time of the request', () => {
    expect(next([], { deadlineAt: NOW })).toBe('stop: deadline');
    expect(next([], { deadlineAt: NOW + 1 })).toBe('alpha after 0');
  });

  it('ends with the number of attempts', () => {
    const policy = { ...FALLBACK_POLICY, maxAttempts: 2 };
    const attempts = [failedAt(plan, 'alpha', 'server'), failedAt(plan, 'beta', 'server')];
    expect(next(attempts, { policy })).toBe('stop: attempts');
  });
});

describe('a repetition', () => {
  const single = planOver('alpha');
  const repeatable = FAILURE_KINDS.filter(
    (kind) => FAILURE_RULES[kind].sameEndpoint && FAILURE_RULES[kind].next === 'endpoint',
  );

  it.each(repeatable)('follows "%s" after a random part of the bound', (kind) => {
    const attempt = failedAt(single, 'alpha', kind);
    expect(next([attempt], { roll: 0 }, single)).toBe('alpha after 0');
    expect(next([attempt], { roll: 0.5 }, single)).toBe('alpha after 125');
    expect(next([attempt], { roll: 0.999 }, single)).toBe('alpha after 249');
  });

  it.each(FAILURE_KINDS.filter((kind) => !repeatable.includes(kind)))('never follows "%s"', (kind) => {
    expect(next([failedAt(single, 'alpha', kind)], {}, single)).toMatch(/^stop/);
  });

  it('comes only when nothing else is left', () => {
    expect(next([failedAt(plan, 'alpha', 'server')], closed({ beta: 9_000, gamma: 9_000 }))).toBe('alpha after 125');
    expect(next([failedAt(plan, 'alpha', 'server')])).toBe('beta after 0');
  });

  it('needs room in the budget', () => {
    expect(next([failedAt(single, 'alpha', 'server')], { mayRepeat: false }, single)).toBe('stop: exhausted');
  });

  it('happens as often as the policy says', () => {
    const attempts = [failedAt(single, 'alpha', 'server'), failedAt(single, 'alpha', 'server')];
    expect(next(attempts, {}, single)).toBe('stop: exhausted');
    const policy = { ...FALLBACK_POLICY, triesPerEndpoint: 3 };
    expect(next(attempts, { policy }, single)).toBe('alpha after 250');
  });

  it('waits as long as the provider asked', () => {
    const asked = failedAt(single, 'alpha', 'rate_limited', { retryAfterMs: 1_500 });
    expect(next([asked], {}, single)).toBe('alpha after 1500');
    expect(next([asked], { now: NOW + 1_000 }, single)).toBe('alpha after 500');
  });

  it('does not come when the provider asks for too much', () => {
    const asked = failedAt(single, 'alpha', 'rate_limited', { retryAfterMs: 2_001 });
    expect(next([asked], {}, single)).toBe('stop: exhausted');
    const exact = failedAt(single, 'alpha', 'rate_limited', { retryAfterMs: 2_000 });
    expect(next([exact], {}, single)).toBe('alpha after 2000');
  });

  it('does not come when the time of the request ends before', () => {
    const asked = failedAt(single, 'alpha', 'rate_limited', { retryAfterMs: 1_000 });
    expect(next([asked], { deadlineAt: NOW + 1_000 }, single)).toBe('stop: exhausted');
    expect(next([asked], { deadlineAt: NOW + 1_001 }, single)).toBe('alpha after 1000');
  });

  it('waits for the end of a cooldown, but not for a breaker', () => {
    const attempt = failedAt(single, 'alpha', 'server');
    expect(next([attempt], closed({ alpha: 900 }, 'rate_limited'), single)).toBe('alpha after 900');
    expect(next([attempt], closed({ alpha: 900 }, 'breaker'), single)).toBe('stop: exhausted');
  });

  it('takes whoever is ready soonest', () => {
    const two = planOver('alpha', 'beta');
    const attempts = [
      failedAt(two, 'alpha', 'rate_limited', { retryAfterMs: 1_900 }),
      failedAt(two, 'beta', 'rate_limited', { retryAfterMs: 300 }),
    ];
    expect(next(attempts, {}, two)).toBe('beta after 300');
  });

  it('after the wait never takes an endpoint that asked for longer', () => {
    const two = planOver('alpha', 'beta');
    const attempts = [
      failedAt(two, 'alpha', 'rate_limited', { retryAfterMs: 1_900 }),
      failedAt(two, 'beta', 'rate_limited', { retryAfterMs: 300 }),
    ];
    expect(next(attempts, { waited: true, now: NOW + 300 }, two)).toBe('beta after 0');
  });

  it('after the wait goes to an endpoint that was never tried, if one has recovered', () => {
    const two = planOver('alpha', 'beta');
    const attempts = [failedAt(two, 'beta', 'server')];
    expect(next(attempts, { waited: true }, two)).toBe('alpha after 0');
  });

  it('is given up when the endpoint is closed again after the wait', () => {
    const attempt = failedAt(single, 'alpha', 'server');
    expect(next([attempt], { waited: true, ...closed({ alpha: 500 }, 'rate_limited') }, single)).toBe(
      'stop: exhausted',
    );
  });
});

describe('any sequence of moves', () => {
  const kinds = fc.array(fc.constantFrom(...FAILURE_KINDS), { minLength: 1, maxLength: 40 });
  const names = fc
    .uniqueArray(
      fc.constantFrom('a acme/one', 'b acme/one', 'c acme/one', 'd acme/two', 'e acme/two', 'f acme/three'),
      {
        minLength: 1,
      },
    )
    .map((list) => list.sort((left, right) => left.slice(2).localeCompare(right.slice(2))));

  it('ends, tries each endpoint in plan order once before any twice, and keeps its bounds', () => {
    const bounds = fc.record({
      maxAttempts: fc.integer({ min: 1, max: 12 }),
      triesPerEndpoint: fc.integer({ min: 1, max: 4 }),
    });
    fc.assert(
      fc.property(
        names,
        kinds,
        bounds,
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        (list, faults, limits, roll) => {
          const of = planOver(...list);
          const attempts: Attempt[] = [];
          let now = NOW;
          for (;;) {
            const policy = { ...FALLBACK_POLICY, ...limits };
            const move = nextMove(of, attempts, situation({ policy, now, roll, deadlineAt: Infinity }));
            if (move.type === 'stop') break;
            expect(move.waitMs).toBeGreaterThanOrEqual(0);
            expect(move.waitMs).toBeLessThanOrEqual(policy.maxWaitMs);
            now += move.waitMs;
            const fault = faults[attempts.length % faults.length] ?? 'server';
            attempts.push({
              step: move.step,
              startedAt: now,
              endedAt: now,
              outcome: { ok: false, failure: failure(fault, 'for a test') },
            });
          }
          const tried = attempts.map(({ step }) => of.steps.indexOf(step));
          const firsts = tried.filter((step, index) => tried.indexOf(step) === index);
          expect(attempts.length).toBeLessThanOrEqual(
            Math.min(limits.maxAttempts, list.length * limits.triesPerEndpoint),
          );
          expect(firsts).toEqual([...firsts].sort((left, right) => left - right));
          expect(tried.slice(0, firsts.length)).toEqual(firsts);
          for (const step of firsts) {
            expect(tried.filter((one) => one === step).length).toBeLessThanOrEqual(limits.triesPerEndpoint);
          }
        },
      ),
      runs(1_000),
    );
  });
});

describe('backoff', () => {
  it('lies between nothing and a bound that doubles up to its cap', () => {
    const policy = { baseMs: 250, capMs: 8_000 };
    expect([0, 1, 2, 5, 6, 1_000].map((repetition) => backoffMs(policy, repetition, 0.9999))).toEqual([
      249, 499, 999, 7_999, 7_999, 7_999,
    ]);
    expect(backoffMs(policy, 3, 0)).toBe(0);
  });

  it('lies in [0, cap] and never below what the provider asked for (P15)', () => {
    const policy = fc.record({ baseMs: fc.nat(10_000), capMs: fc.nat(60_000) });
    const roll = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    fc.assert(
      fc.property(
        policy,
        fc.nat(100),
        roll,
        fc.option(fc.nat(3_600_000), { nil: undefined }),
        (given, times, chance, asked) => {
          const waitMs = backoffMs(given, times, chance, asked);
          expect(waitMs).toBeGreaterThanOrEqual(asked ?? 0);
          expect(waitMs).toBeLessThanOrEqual(Math.max(given.capMs, asked ?? 0));
          expect(Number.isInteger(waitMs)).toBe(true);
        },
      ),
      runs(1_000),
    );
  });
});

describe('a place where the prompt is cached', () => {
  /** What it costs at each endpoint, and where the prompt is cached. */
  const priced = (usd: Readonly<Record<string, number>>, warm: string, of: RoutePlan = plan): RoutePlan => ({
    ...of,
    steps: of.steps.map((step) => ({
      ...step,
      figures: {
        expectedCostUsd: usd[step.endpoint.provider],
        warmth: step.endpoint.provider === warm ? 1 : 0,
        health: 1,
        slowness: 1,
        headroom: 1,
        share: 0,
      },
    })),
  });
  const cached = priced({ alpha: 4, beta: 1, gamma: 4 }, 'beta');
  const busy = (waitMs: number): Partial<Situation> => ({
    ...closed({ beta: waitMs }, 'rate_limited'),
    warmWaitMs: 800,
  });

  it('is waited for as long as it is worth', () => {
    expect(next([], busy(600), cached)).toBe('beta after 600');
    expect(next([], busy(601), cached)).toBe('alpha after 0');
    expect(next([], busy(100), priced({ alpha: 4, beta: 3.6, gamma: 4 }, 'beta'))).toBe('alpha after 0');
    expect(next([], { ...busy(100), warmWaitMs: 0 }, cached)).toBe('alpha after 0');
  });

  it('is not waited for where it is cold, serves another model, fails or saves nothing', () => {
    expect(next([], busy(100), priced({ alpha: 4, beta: 1, gamma: 4 }, 'gamma'))).toBe('alpha after 0');
    expect(next([], busy(100), priced({ alpha: 1, beta: 1, gamma: 4 }, 'beta'))).toBe('alpha after 0');
    expect(next([], { ...busy(100), ...closed({ beta: 100 }) }, cached)).toBe('alpha after 0');
    const others = priced({ alpha: 4, beta: 4, gamma: 1 }, 'gamma', twoModels);
    expect(next([], { ...closed({ gamma: 100 }, 'rate_limited'), warmWaitMs: 800 }, others)).toBe('alpha after 0');
  });

  it('is waited for less where the free endpoint has few places left', () => {
    const admission = ({ endpoint: { provider } }: PlanStep): Admission =>
      provider === 'beta' ? { ok: false, waitMs: 400, cause: 'pace' } : { ok: true, headroom: 0.5 };
    expect(next([], { admission, warmWaitMs: 800 }, cached)).toBe('alpha after 0');
    expect(next([], { admission, warmWaitMs: 1_200 }, cached)).toBe('beta after 400');
  });

  it('is waited for once after it has refused this request, where retries are left', () => {
    const refused = failedAt(cached, 'beta', 'rate_limited');
    expect(next([refused], busy(100), cached)).toBe('beta after 100');
    expect(next([refused], { ...busy(100), mayRepeat: false }, cached)).toBe('alpha after 0');
    expect(next([refused], { ...busy(100), mayRetryRefusal: false }, cached)).toBe('stop: exhausted');
    expect(next([refused, refused], busy(100), cached)).toBe('alpha after 0');
  });

  it('is taken when it has come, and otherwise another', () => {
    const come = { waited: true, promised: 'beta', warmWaitMs: 200 };
    const { id } = cached.steps.find(({ endpoint }) => endpoint.provider === 'beta')?.endpoint ?? { id: '' };
    expect(next([failedAt(cached, 'beta', 'rate_limited')], { ...come, promised: id }, cached)).toBe('beta after 0');
    expect(next([], { ...busy(300), ...come, promised: id }, cached)).toBe('alpha after 0');
  });
});
