import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Admission } from '../../../src/core/fallback/health.ts';
import { firstMove, type Move, nextMove } from '../../../src/core/fallback/next-move.ts';
import type { Situation } from '../../../src/core/fallback/situation.ts';
import type { PlanStep, RoutePlan } from '../../../src/core/selection/route-plan.ts';
import { FAILURE_KINDS, FALLBACK_POLICY, failedAt, planOver, situation } from '../../support/attempts.ts';
import { runs } from '../../support/properties.ts';
import { NOW } from '../../support/requests.ts';
import { failure, FAILURE_RULES } from '../../../src/contracts/failure.ts';
import type { Attempt } from '../../../src/core/fallback/attempt.ts';

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

describe('an endpoint that had fallen silent', () => {
  const alone = planOver('alpha');
  const silent = [failedAt(alone, 'alpha', failure('timeout', 'for a test', { silent: true }))];

  it('is tried again at once when it has answered a call that began later', () => {
    expect(next(silent, { answeredSince: (_, at) => at === NOW }, alone)).toBe('alpha after 0');
    expect(next(silent, { answeredSince: () => false }, alone)).toBe('stop: exhausted');
    expect(next(silent, {}, alone)).toBe('stop: exhausted');
  });

  it('is tried again as well where the call ran out of our time, which is no queue then', () => {
    const timedOut = [failedAt(alone, 'alpha', 'timeout')];
    expect(next(timedOut, { answeredSince: (_, at) => at === NOW }, alone)).toBe('alpha after 0');
    expect(next(timedOut, { answeredSince: () => false }, alone)).toBe('stop: exhausted');
  });

  it('is not when its tries are over', () => {
    const answeredSince = (): boolean => true;
    expect(next([...silent, ...silent, ...silent], { answeredSince }, alone)).toBe('stop: exhausted');
  });
});

describe('a place after a refusal', () => {
  const alone = planOver('alpha');
  const refused = [failedAt(alone, 'alpha', 'rate_limited', { retryAfterMs: 1_000 })];
  const full = { ...closed({ alpha: 300 }, 'rate_limited'), now: NOW + 1_000, waited: true };

  it('is waited for where others were first when the provider could be called again', () => {
    expect(next(refused, { ...full, slotWaitMs: 500 }, alone)).toBe('alpha after 300');
    expect(next(refused, { ...full, slotWaitMs: 200 }, alone)).toBe('stop: exhausted');
    expect(next([...refused, ...refused, ...refused], { ...full, slotWaitMs: 500 }, alone)).toBe('stop: exhausted');
  });
});

describe('the first move', () => {
  it('is decided by less than others, as they are', () => {
    const admission = fc.constantFrom<Admission>(
      { ok: true },
      { ok: true, probe: true },
      { ok: true, headroom: -0.5 },
      {
        ok: false,
        waitMs: 5,
        cause: 'pace',
      },
    );
    const step = fc.record({ admission, warmth: fc.constantFrom(undefined, 0, 0.9), usd: fc.constantFrom(1, 5) });
    const world = fc.record({
      steps: fc.array(step, { minLength: 1, maxLength: 3 }),
      warmWaitMs: fc.constantFrom(0, 1_000),
      leftMs: fc.constantFrom(0, 1_000),
    });
    let decided = 0;
    fc.assert(
      fc.property(world, ({ steps, warmWaitMs, leftMs }) => {
        const of = planOver(...steps.map((_, index) => `${['alpha', 'beta', 'gamma'][index]} acme/one`));
        const figured = of.steps.map((one, index) => {
          const { warmth, usd = 1 } = steps[index] ?? {};
          if (warmth === undefined) return one;
          return { ...one, figures: { warmth, expectedCostUsd: usd, health: 1 } as PlanStep['figures'] };
        });
        const admissionOf = ({ endpoint }: PlanStep): Admission =>
          steps[of.steps.findIndex((one) => one.endpoint.id === endpoint.id)]?.admission ?? { ok: true };
        const plain = { ...of, steps: figured };
        const given = situation({ admission: admissionOf, warmWaitMs, deadlineAt: NOW + leftMs });
        const first = firstMove(plain, given);
        if (first === undefined) return;
        decided += 1;
        expect(nextMove(plain, [], given)).toEqual(first);
      }),
      runs(500),
    );
    expect(decided).toBeGreaterThan(20);
  });
});

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

  it.each(repeatable)('follows "%s" after the bound, or a little more', (kind) => {
    const attempt = failedAt(single, 'alpha', kind);
    expect(next([attempt], { roll: 0 }, single)).toBe('alpha after 500');
    expect(next([attempt], { roll: 0.5 }, single)).toBe('alpha after 502');
    expect(next([attempt], { roll: 0.5, now: NOW + 100 }, single)).toBe('alpha after 402');
    expect(next([attempt], { roll: 0.999 }, single)).toBe('alpha after 504');
  });

  it.each(FAILURE_KINDS.filter((kind) => !repeatable.includes(kind)))('never follows "%s"', (kind) => {
    expect(next([failedAt(single, 'alpha', kind)], {}, single)).toMatch(/^stop/);
  });

  it('comes only when nothing else is left', () => {
    expect(next([failedAt(plan, 'alpha', 'server')], closed({ beta: 9_000, gamma: 9_000 }))).toBe('alpha after 502');
    expect(next([failedAt(plan, 'alpha', 'server')])).toBe('beta after 0');
  });

  it('is held back for a while where too few calls succeed', () => {
    const due = { now: NOW + 510, mayRepeat: () => false };
    const attempts = [failedAt(single, 'alpha', 'server')];
    expect(next(attempts, { ...due, holdMs: 1_000 }, single)).toBe('alpha after 100');
    expect(nextMove(single, attempts, situation({ ...due, holdMs: 1_000 }))).toMatchObject({ isHeld: true });
    expect(next(attempts, { ...due, holdMs: 0 }, single)).toBe('stop: exhausted');
    expect(next(attempts, { ...due, mayRepeat: () => true }, single)).toBe('alpha after 0');
  });

  it('happens as often as the policy says', () => {
    const attempts = [failedAt(single, 'alpha', 'server'), failedAt(single, 'alpha', 'server')];
    expect(next(attempts, {}, single)).toBe('alpha after 1004');
    const policy = { ...FALLBACK_POLICY, triesPerEndpoint: 2 };
    expect(next(attempts, { policy }, single)).toBe('stop: exhausted');
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

describe('the same model once more before another', () => {
  const models = planOver('alpha acme/one', 'beta acme/two');
  const passing = ['connection', 'server', 'overloaded'] as const;

  it.each(passing)('is tried after "%s" and the back-off', (kind) => {
    const attempts = [failedAt(models, 'alpha', kind)];
    expect(next(attempts, {}, models)).toBe('alpha after 502');
    expect(next(attempts, { waited: true, now: NOW + 502 }, models)).toBe('alpha after 0');
    expect(next([...attempts, failedAt(models, 'alpha', kind)], {}, models)).toBe('beta after 0');
  });

  it.each(FAILURE_KINDS.filter((kind) => !passing.some((one) => one === kind)))('is not tried after "%s"', (kind) => {
    expect(next([failedAt(models, 'alpha', kind)], {}, models)).not.toMatch(/^alpha/);
  });

  it('is tried after a time of at most two seconds that the provider named', () => {
    const refused = (retryAfterMs: number): Attempt[] => [failedAt(models, 'alpha', 'rate_limited', { retryAfterMs })];
    expect(next(refused(2_000), {}, models)).toBe('alpha after 2000');
    expect(next(refused(2_001), {}, models)).toBe('beta after 0');
    const unavailable = [failedAt(models, 'alpha', 'overloaded', { retryAfterMs: 5_000 })];
    expect(next(unavailable, {}, models)).toBe('beta after 0');
    // Instances lengthen such a time so that they do not return together.
    const longer = { admission: closed({ alpha: 2_900 }, 'rate_limited').admission };
    expect(next(refused(2_000), longer, models)).toBe('alpha after 2900');
  });

  it('comes after the other providers of the same model', () => {
    const providers = planOver('alpha acme/one', 'beta acme/one', 'gamma acme/two');
    const first = [failedAt(providers, 'alpha', 'server')];
    expect(next(first, {}, providers)).toBe('beta after 0');
    expect(next([...first, failedAt(providers, 'beta', 'server')], {}, providers)).toBe('alpha after 502');
  });

  it('is not waited for where it is held back, is out, or the time is over', () => {
    const attempts = [failedAt(models, 'alpha', 'server')];
    const due = { now: NOW + 510 };
    expect(next(attempts, { ...due, mayRepeat: () => false, holdMs: 2_000 }, models)).toBe('beta after 0');
    expect(next(attempts, closed({ alpha: 2_000 }), models)).toBe('beta after 0');
    expect(next(attempts, { deadlineAt: NOW + 400 }, models)).toBe('beta after 0');
    expect(next(attempts, { isGone: () => true }, models)).toBe('beta after 0');
  });
});

describe('a last resort', () => {
  const single = planOver('alpha');
  const out = (lastResortMs: number, isTried = false): Partial<Situation> => ({
    admission: () => ({ ok: false, waitMs: 2_500, cause: 'breaker', lastResortMs, isTried }),
    holdMs: 2_000,
  });

  it('is called when it is let through, and waited for otherwise', () => {
    expect(nextMove(single, [], situation(out(0)))).toMatchObject({ waitMs: 0, isProbe: true, isLastResort: true });
    expect(nextMove(single, [], situation(out(300)))).toMatchObject({ waitMs: 150, isHeld: true });
    expect(next([], out(80), single)).toBe('alpha after 80');
    expect(next([], { ...out(300), holdMs: 0 }, single)).toBe('stop: exhausted');
  });

  it('is neither waited for nor tried again where no server has listened for a while', () => {
    const isGone = (): boolean => true;
    expect(next([], { ...out(300), isGone }, single)).toBe('stop: exhausted');
    // It is still looked at as often as calls are let through.
    expect(next([], { ...out(0), isGone }, single)).toBe('alpha after 0');
    expect(next([failedAt(single, 'alpha', 'connection')], { isGone }, single)).toBe('stop: exhausted');
  });

  it('is waited for longer while a call shows whether it is back', () => {
    expect(next([], { ...out(300, true), holdMs: -7_999 }, single)).toBe('alpha after 150');
    expect(next([], { ...out(300, true), holdMs: -8_000 }, single)).toBe('stop: exhausted');
  });

  it('is tried again, and that does not count as one of its tries', () => {
    const resort = { ...failedAt(single, 'alpha', 'server'), lastResort: true };
    const four = [resort, resort, resort, resort];
    expect(next(four, { ...out(0), now: NOW + 510 }, single)).toBe('alpha after 0');
    const ordinary = failedAt(single, 'alpha', 'server');
    const three = [ordinary, ordinary, ordinary];
    expect(next(three, { ...out(0), now: NOW + 9_000 }, single)).toBe('stop: exhausted');
  });

  it('comes after a repetition at an endpoint that is not out', () => {
    const two = planOver('alpha', 'beta');
    const admission = ({ endpoint: { provider } }: PlanStep): Admission =>
      provider === 'beta' ? { ok: false, waitMs: 2_500, cause: 'breaker', lastResortMs: 0 } : { ok: true };
    expect(next([failedAt(two, 'alpha', 'server')], { admission }, two)).toBe('alpha after 502');
    expect(next([failedAt(two, 'alpha', 'timeout')], { admission }, two)).toBe('beta after 0');
  });

  it('is not waited for where our account was refused', () => {
    const admission = (): Admission => ({ ok: false, waitMs: 600_000, cause: 'quota', lastResortMs: 500 });
    expect(next([], { admission, holdMs: 2_000 }, single)).toBe('stop: exhausted');
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

  it('ends, tries each endpoint in plan order once before any twice of its model, and keeps its bounds', () => {
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
            expect(move.isHeld).toBeUndefined();
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
          const models = attempts.map(({ step }) => step.endpoint.model);
          for (const [index, step] of tried.entries()) {
            if (tried.indexOf(step) === index) continue;
            // By then its model was tried everywhere, and only once is any tried again before another model.
            const model = models[index];
            const laterOnes = firsts.slice(firsts.indexOf(step)).filter((one) => tried.indexOf(one) > index);
            for (const later of laterOnes) expect(of.steps[later]?.endpoint.model).not.toBe(model);
            const again = models.slice(0, index + 1).filter((one) => one === model).length;
            const endpoints = new Set(tried.slice(0, index + 1).filter((_, at) => models[at] === model)).size;
            if (laterOnes.length > 0) expect(again - endpoints).toBeLessThanOrEqual(1);
          }
          for (const step of firsts) {
            expect(tried.filter((one) => one === step).length).toBeLessThanOrEqual(limits.triesPerEndpoint);
          }
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
    expect(next([refused], { ...busy(100), mayRepeat: () => false }, cached)).toBe('alpha after 0');
    expect(next([refused], { ...busy(100), mayRetryRefusal: false }, cached)).toBe('stop: exhausted');
    expect(next([refused, refused, refused], busy(100), cached)).toBe('alpha after 0');
  });

  it('is taken when it has come, and otherwise another', () => {
    const come = { waited: true, promised: 'beta', warmWaitMs: 200 };
    const { id } = cached.steps.find(({ endpoint }) => endpoint.provider === 'beta')?.endpoint ?? { id: '' };
    expect(next([failedAt(cached, 'beta', 'rate_limited')], { ...come, promised: id }, cached)).toBe('beta after 0');
    expect(next([], { ...busy(300), ...come, promised: id }, cached)).toBe('alpha after 0');
  });
});
