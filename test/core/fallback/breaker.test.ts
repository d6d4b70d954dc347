import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Breaker,
  type BreakerPolicy,
  CLOSED_BREAKER,
  DEFAULT_BREAKER_POLICY,
  admits,
  ended,
  tripped,
} from '../../../src/core/fallback/breaker.ts';
import { failure } from '../../../src/core/fallback/failure.ts';
import {
  type EndpointHealth,
  UNKNOWN_HEALTH,
  admission,
  observe,
  observeStart,
  stabilityOf,
} from '../../../src/core/fallback/health.ts';
import { UNMEASURED } from '../../../src/core/selection/performance.ts';
import { FAILURE_KINDS } from '../../support/attempts.ts';
import {
  type Check,
  SMALL_POLICY,
  breakerCommands,
  countsOf,
  freshPair,
  land,
  launch,
} from '../../support/breaker-model.ts';
import { stormOfRuns } from '../../support/properties.ts';
import { HEALTH_POLICY } from '../../support/records.ts';
import { NOW, costing, serving } from '../../support/requests.ts';
import { storm } from '../../support/storms.ts';

/** Runs random commands a thousand times and asks the check after every single one. */
function always(check: Check, policy: Partial<BreakerPolicy> = {}, options: { readonly jumps?: boolean } = {}): void {
  fc.assert(
    fc.property(breakerCommands(check, options), (commands) => {
      fc.modelRun(() => freshPair(policy), commands);
    }),
    stormOfRuns(1_000),
  );
}

/** How often the commands of a property reached what it is about. */
function counter(): { hits: number } {
  return { hits: 0 };
}

/** Everything about a breaker but how many probes are under way. */
function withoutProbes({ probes: _probes, probedAt: _probedAt, ...rest }: Breaker): object {
  return rest;
}

describe('a breaker', () => {
  it('that has seen nothing lets everything through at once', () => {
    const { real } = freshPair();
    expect(admits(real.breaker, real.policy, real.now)).toEqual({ ok: true, waitMs: 0 });
  });

  it('B1 lets nothing through before its opening is over', () => {
    const seen = counter();
    always(({ breaker, policy, now }) => {
      if (breaker.state !== 'open' || now >= breaker.openUntil) return;
      seen.hits += 1;
      expect(admits(breaker, policy, now)).toEqual({ ok: false, waitMs: breaker.openUntil - now });
    });
    expect(seen.hits).toBeGreaterThan(storm(1_000));
  });

  it.each([1, 2])('B2 lets at most %d probes through at a time when half open', (probes) => {
    const seen = counter();
    always(
      ({ breaker, flights, now, policy }) => {
        if (breaker.state !== 'open') return;
        const young = flights.filter(({ isProbe, generation, startedAt }) => {
          return isProbe && generation === breaker.generation && now - startedAt < policy.maxOpenMs;
        });
        if (young.length === probes) seen.hits += 1;
        expect(young.length).toBeLessThanOrEqual(probes);
      },
      { probes },
    );
    expect(seen.hits).toBeGreaterThan(storm(100));
  });

  it('B3 is not moved by a refusal, a rate limit or a caller who left', () => {
    const seen = counter();
    always((real) => {
      const [flight] = real.flights;
      if (flight === undefined) return;
      seen.hits += 1;
      const call = { outcome: 'neutral' as const, generation: flight.generation };
      expect(withoutProbes(ended(real.breaker, real.policy, call, real.now))).toEqual(withoutProbes(real.breaker));
    });
    expect(seen.hits).toBeGreaterThan(storm(1_000));
  });

  it('B4 is not closed by a success from before its opening', () => {
    const seen = counter();
    always((real) => {
      for (const flight of real.flights) {
        if (flight.generation === real.breaker.generation) continue;
        seen.hits += 1;
        for (const outcome of ['succeeded', 'failed', 'neutral'] as const) {
          const call = { outcome, generation: flight.generation };
          expect(ended(real.breaker, real.policy, call, real.now)).toBe(real.breaker);
        }
      }
    });
    expect(seen.hits).toBeGreaterThan(storm(1_000));
  });

  it('B5 always recovers: once faults stop it is closed within its current opening', () => {
    const seen = counter();
    fc.assert(
      fc.property(
        breakerCommands(() => {}),
        (commands) => {
          const { model, real } = freshPair();
          fc.modelRun(() => ({ model, real }), commands);
          for (const flight of real.flights) land(real, flight, 'refused');
          const bound = Math.min(
            SMALL_POLICY.maxOpenMs,
            SMALL_POLICY.openMs * 2 ** Math.max(0, real.breaker.openings - 1),
          );
          const stoppedAt = real.now;
          if (real.breaker.state === 'open') seen.hits += 1;
          while (real.breaker.state === 'open' && real.now - stoppedAt <= bound) {
            const flight = launch(real);
            if (flight !== undefined) land(real, flight, 'ok');
            else real.now += 1_000;
          }
          expect(real.breaker.state).toBe('closed');
          expect(real.now - stoppedAt).toBeLessThanOrEqual(bound + 1_000);
        },
      ),
      stormOfRuns(1_000),
    );
    expect(seen.hits).toBeGreaterThan(storm(100));
  });

  it('B5 opens for twice as long each time, up to five minutes', () => {
    const { real } = freshPair();
    const lengths: number[] = [];
    for (let opening = 0; opening < 8; opening += 1) {
      while (real.breaker.state === 'closed' || real.breaker.openUntil <= real.now) {
        const flight = launch(real);
        if (flight !== undefined) land(real, flight, 'failed');
      }
      lengths.push(real.breaker.openUntil - real.now);
      real.now = real.breaker.openUntil;
    }
    expect(lengths).toEqual([30_000, 60_000, 120_000, 240_000, 300_000, 300_000, 300_000, 300_000]);
  });

  it('B6 is not helped by the ordering: however bad all endpoints are, all stay in the plan', () => {
    const history = fc.array(fc.constantFrom('ok' as const, ...FAILURE_KINDS), { maxLength: 12 });
    const scene = serving({ a: costing(1), b: costing(2), c: costing(3) });
    const seen = counter();
    fc.assert(
      fc.property(fc.tuple(history, history, history), fc.nat(59_000), (histories, agoMs) => {
        const healths = histories.map((list) =>
          list.reduce<EndpointHealth>((health, how) => {
            const { generation } = health.breaker;
            const call =
              how === 'ok' ? { ok: true as const } : { ok: false as const, failure: failure(how, 'for a test') };
            return observe(health, HEALTH_POLICY, { ...call, generation }, NOW - agoMs);
          }, UNKNOWN_HEALTH),
        );
        if (healths.every((health) => stabilityOf(health, NOW) === 2)) seen.hits += 1;
        const record = (health: EndpointHealth | undefined) => ({
          health: health ?? UNKNOWN_HEALTH,
          performance: UNMEASURED,
        });
        const [a, b, c] = healths.map(record);
        const order = scene.order(
          {},
          { records: { a: a ?? record(undefined), b: b ?? record(undefined), c: c ?? record(undefined) } },
        );
        expect([...order].sort()).toEqual(['a', 'b', 'c']);
      }),
      stormOfRuns(1_000),
    );
    expect(seen.hits).toBeGreaterThan(storm(20));
  });

  it('B7 counts exactly what happened and opens exactly when the reference says so', () => {
    const seen = counter();
    always(({ breaker, now }, _before, reference) => {
      expect(breaker.state === 'open').toBe(reference.openUntil !== undefined);
      expect(breaker.openings).toBe(reference.openings);
      if (reference.openUntil !== undefined) expect(breaker.openUntil).toBe(reference.openUntil);
      expect(breaker.probes).toBeGreaterThanOrEqual(0);
      const last = breaker.window.at(-1);
      if (last === undefined || now - last.start >= 5_000) return;
      seen.hits += 1;
      const sums = breaker.window.reduce(
        (sum, slice) => ({ succeeded: sum.succeeded + slice.succeeded, failed: sum.failed + slice.failed }),
        { succeeded: 0, failed: 0 },
      );
      expect(sums).toEqual(countsOf(reference, now));
    });
    expect(seen.hits).toBeGreaterThan(storm(1_000));
  });

  it('B8 decides the same after it was stored and restored', () => {
    always((real) => {
      const restored = JSON.parse(JSON.stringify(real.breaker)) as Breaker;
      expect(restored).toEqual(real.breaker);
      real.breaker = restored;
    });
  });

  it('B9 never stays open beyond its cap when the clock jumps', () => {
    const seen = counter();
    always(
      ({ breaker, policy, now, flights }) => {
        const { ok, waitMs } = admits(breaker, policy, now);
        expect(waitMs).toBeLessThanOrEqual(policy.maxOpenMs);
        if (ok || flights.length > 0) return;
        seen.hits += 1;
        expect(admits(breaker, policy, now + policy.maxOpenMs).ok).toBe(true);
      },
      {},
      { jumps: true },
    );
    expect(seen.hits).toBeGreaterThan(storm(100));
  });

  it('gives up a probe whose end is never told, and does not take it for another one later', () => {
    const { real } = freshPair();
    for (let call = 0; call < SMALL_POLICY.minimumCalls; call += 1) {
      const flight = launch(real);
      if (flight !== undefined) land(real, flight, 'failed');
    }
    real.now = real.breaker.openUntil;
    const lost = launch(real);
    expect(launch(real)).toBeUndefined();
    real.now += SMALL_POLICY.maxOpenMs;
    const probe = launch(real);
    expect(probe).toBeDefined();
    if (lost !== undefined) land(real, lost, 'refused');
    expect(launch(real)).toBeUndefined();
    if (probe !== undefined) land(real, probe, 'ok');
    expect(real.breaker.state).toBe('closed');
  });
});

/** The defaults without the rule about failures in a row, which would come first. */
const BY_RATIO: BreakerPolicy = { ...DEFAULT_BREAKER_POLICY, inARow: undefined, inARowUnwell: undefined };

describe('the default breaker', () => {
  it.each([
    ['all of four calls failed', 0, 4, 'closed'],
    ['three of five calls failed', 2, 3, 'open'],
    ['half of six calls failed', 3, 3, 'closed'],
    ['five of nine calls failed', 4, 5, 'open'],
  ] as const)('after %s: is %s succeeded, %d failed, %s', (_name, succeeded, failed, state) => {
    const { real } = freshPair(BY_RATIO);
    for (let call = 0; call < succeeded; call += 1) {
      const flight = launch(real);
      if (flight !== undefined) land(real, flight, 'ok');
    }
    for (let call = 0; call < failed; call += 1) {
      const flight = launch(real);
      if (flight !== undefined) land(real, flight, 'failed');
    }
    expect(real.breaker.state).toBe(state);
    expect(real.breaker.openUntil - real.breaker.openedAt).toBe(state === 'open' ? 2_500 : 0);
  });

  it('forgets what is more than a minute old', () => {
    const { real } = freshPair(BY_RATIO);
    for (let call = 0; call < 40; call += 1) {
      const flight = launch(real);
      if (flight !== undefined) land(real, flight, 'failed');
      real.now += 16_000;
    }
    expect(real.breaker.state).toBe('closed');
  });

  it('opens after three failures in a row, and after two where the endpoint was not well', () => {
    const fail = (breaker: Breaker, health: number): Breaker =>
      ended(breaker, DEFAULT_BREAKER_POLICY, { outcome: 'failed', generation: breaker.generation, health }, NOW);
    const twice = (health: number): Breaker => fail(fail(CLOSED_BREAKER, health), health);
    expect(twice(0.75).state).toBe('closed');
    expect(twice(0.74).state).toBe('open');
    expect(fail(twice(1), 1).state).toBe('open');
  });

  it('counts failures in a row from the last success on', () => {
    let breaker = CLOSED_BREAKER;
    for (const outcome of ['succeeded', 'succeeded', 'failed', 'failed', 'succeeded', 'succeeded', 'failed'] as const) {
      breaker = ended(breaker, DEFAULT_BREAKER_POLICY, { outcome, generation: 0 }, NOW);
    }
    expect(breaker).toMatchObject({ state: 'closed', inARow: 1 });
  });

  it('stays open 1.7 times as long each time, up to half a minute, and a fifth more or less', () => {
    let breaker = tripped(CLOSED_BREAKER, DEFAULT_BREAKER_POLICY, NOW);
    const lengths: number[] = [];
    for (let opening = 0; opening < 8; opening += 1) {
      lengths.push(Math.round(breaker.openUntil - breaker.openedAt));
      const { generation } = breaker;
      breaker = ended(breaker, DEFAULT_BREAKER_POLICY, { outcome: 'failed', generation }, breaker.openUntil);
    }
    expect(lengths).toEqual([2_500, 4_250, 7_225, 12_283, 20_880, 30_000, 30_000, 30_000]);
    const [least, most] = [0, 1].map(
      (roll) => tripped(CLOSED_BREAKER, DEFAULT_BREAKER_POLICY, NOW, roll).openUntil - NOW,
    );
    expect([least, most]).toEqual([2_000, 3_000]);
  });
});

describe('health', () => {
  it('lets one probe through when its breaker is half open', () => {
    const failing = { ok: false as const, failure: failure('server', 'for a test'), generation: 0 };
    let health = UNKNOWN_HEALTH;
    for (let call = 0; call < 5; call += 1) health = observe(health, HEALTH_POLICY, failing, NOW);
    expect(admission(health, HEALTH_POLICY, NOW)).toMatchObject({ ok: false, waitMs: 2_500, cause: 'breaker' });
    expect(admission(health, HEALTH_POLICY, NOW + 2_500)).toEqual({ ok: true, probe: true });
    const probing = observeStart(health, HEALTH_POLICY, NOW + 2_500);
    expect(admission(probing, HEALTH_POLICY, NOW + 2_500)).toMatchObject({ ok: false, cause: 'breaker' });
    const { generation } = probing.breaker;
    const closed = observe(probing, HEALTH_POLICY, { ok: true, generation }, NOW + 2_501);
    expect(admission(closed, HEALTH_POLICY, NOW + 2_501).ok).toBe(true);
    expect(observeStart(UNKNOWN_HEALTH, HEALTH_POLICY, NOW)).toBe(UNKNOWN_HEALTH);
  });

  it('B8 decides the same after it was stored and restored', () => {
    const history = fc.array(
      fc.tuple(
        fc.nat(40_000),
        fc.constantFrom('ok' as const, ...FAILURE_KINDS),
        fc.option(fc.nat(5_000_000), { nil: undefined }),
      ),
      { maxLength: 40 },
    );
    fc.assert(
      fc.property(history, (list) => {
        let health = UNKNOWN_HEALTH;
        let restored = UNKNOWN_HEALTH;
        let now = NOW;
        for (const [after, how, retryAfterMs] of list) {
          now += after;
          restored = JSON.parse(JSON.stringify(restored)) as EndpointHealth;
          expect(admission(restored, HEALTH_POLICY, now)).toEqual(admission(health, HEALTH_POLICY, now));
          expect(stabilityOf(restored, now)).toBe(stabilityOf(health, now));
          const { generation } = health.breaker;
          const outcome =
            how === 'ok'
              ? ({ ok: true, generation } as const)
              : ({ ok: false, failure: failure(how, 'for a test', { retryAfterMs }), generation } as const);
          health = observe(health, HEALTH_POLICY, outcome, now);
          restored = observe(restored, HEALTH_POLICY, outcome, now);
        }
        expect(restored).toEqual(health);
      }),
      stormOfRuns(1_000),
    );
  });

  it.each([
    ['rate_limited', undefined, 1_000, 'rate_limited'],
    ['rate_limited', 42_000, 42_000, 'rate_limited'],
    ['rate_limited', 9_999_999, 3_600_000, 'rate_limited'],
    ['credentials', undefined, 600_000, 'credentials'],
    ['quota', undefined, 600_000, 'quota'],
    ['model_not_found', undefined, 600_000, 'model_not_found'],
    ['unreachable', undefined, 60_000, 'unreachable'],
    ['overloaded', 7_000, 7_000, 'overloaded'],
  ] as const)('leaves an endpoint alone after "%s" (Retry-After %s) for %d ms', (kind, retryAfterMs, waitMs, cause) => {
    const outcome = { ok: false as const, failure: failure(kind, 'for a test', { retryAfterMs }), generation: 0 };
    const health = observe(UNKNOWN_HEALTH, HEALTH_POLICY, outcome, NOW);
    const asked = retryAfterMs === undefined ? {} : { asked: true };
    expect(admission(health, HEALTH_POLICY, NOW)).toMatchObject({ ok: false, waitMs, cause, ...asked });
    expect(admission(health, HEALTH_POLICY, NOW + waitMs - 1).ok).toBe(false);
    expect(admission(health, HEALTH_POLICY, NOW + waitMs).ok).toBe(true);
  });

  it.each([
    ['rate_limited', 0],
    ['server', undefined],
    ['invalid_request', 60_000],
    ['aborted', 60_000],
  ] as const)('does not leave it alone after "%s" (Retry-After %s)', (kind, retryAfterMs) => {
    const outcome = { ok: false as const, failure: failure(kind, 'for a test', { retryAfterMs }), generation: 0 };
    expect(admission(observe(UNKNOWN_HEALTH, HEALTH_POLICY, outcome, NOW), HEALTH_POLICY, NOW).ok).toBe(true);
  });

  it('keeps the longer of two cooldowns', () => {
    const limited = (retryAfterMs: number) =>
      ({ ok: false, failure: failure('rate_limited', 'for a test', { retryAfterMs }), generation: 0 }) as const;
    const health = observe(
      observe(UNKNOWN_HEALTH, HEALTH_POLICY, limited(9_000), NOW),
      HEALTH_POLICY,
      limited(2_000),
      NOW,
    );
    expect(admission(health, HEALTH_POLICY, NOW)).toMatchObject({ waitMs: 9_000 });
  });

  it('ends a cooldown when the clock goes back behind its beginning', () => {
    const outcome = { ok: false as const, failure: failure('quota', 'for a test'), generation: 0 };
    const health = observe(UNKNOWN_HEALTH, HEALTH_POLICY, outcome, NOW);
    expect(admission(health, HEALTH_POLICY, NOW - 1).ok).toBe(true);
  });
});
