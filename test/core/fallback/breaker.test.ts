import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Breaker,
  type BreakerPolicy,
  CLOSED_BREAKER,
  DEFAULT_BREAKER_POLICY,
  admits,
  ended,
  takenBack,
  tripped,
} from '../../../src/core/fallback/breaker.ts';
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
import { seededRandom } from '../../../src/providers/simulated/chance.ts';
import { runs, stormOfRuns } from '../../support/properties.ts';
import { HEALTH_POLICY } from '../../support/records.ts';
import { NOW, costing, serving } from '../../support/requests.ts';
import { storm } from '../../support/storms.ts';
import { failure } from '../../../src/contracts/failure.ts';

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
    always(({ breaker }, _before, reference) => {
      expect(breaker.state === 'open').toBe(reference.openUntil !== undefined);
      expect(breaker.openings).toBe(reference.openings);
      if (reference.openUntil !== undefined) expect(breaker.openUntil).toBe(reference.openUntil);
      expect(breaker.probes).toBeGreaterThanOrEqual(0);
      seen.hits += 1;
      const { succeeded, failed } = countsOf(reference);
      expect(breaker.succeeded).toBeCloseTo(succeeded, 8);
      expect(breaker.failed).toBeCloseTo(failed, 8);
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
    for (let call = 0; call < 2; call += 1) {
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

/** Folds outcomes, one after the other, all of one account unless they say otherwise. */
function folded(
  outcomes: readonly ('ok' | 'failed' | { readonly failed: string } | { readonly ok: string })[],
  begun: Breaker = CLOSED_BREAKER,
  now = NOW,
): Breaker {
  return outcomes.reduce<Breaker>((breaker, one) => {
    const account = typeof one === 'string' ? undefined : 'ok' in one ? one.ok : one.failed;
    const isOk = one === 'ok' || (typeof one === 'object' && 'ok' in one);
    const outcome = isOk ? ('succeeded' as const) : ('failed' as const);
    return ended(breaker, DEFAULT_BREAKER_POLICY, { outcome, generation: breaker.generation, account }, now);
  }, begun);
}

const times = <Value>(count: number, value: Value): readonly Value[] => Array.from({ length: count }, () => value);

/** A breaker of an endpoint that has failed this share of its calls for long. */
function usually(share: number): Breaker {
  return { ...CLOSED_BREAKER, failed: 200 * share, succeeded: 200 * (1 - share), counted: 1_000 };
}

describe('the default breaker', () => {
  it.each([
    ['has answered ten calls', folded(times(10, 'ok'))],
    ['has always succeeded', usually(0)],
    ['fails one call in a hundred', usually(0.0095)],
  ])('opens after three failures of an endpoint that %s, for 2.5 seconds', (_name, begun) => {
    expect(folded(['failed', 'failed'], begun).state).toBe('closed');
    const open = folded(['failed', 'failed', 'failed'], begun);
    expect(open.state).toBe('open');
    expect(open.openUntil - open.openedAt).toBe(2_500);
  });

  it('opens after five failures of an endpoint that was never called: little says that it does not often fail', () => {
    expect(folded(times(4, 'failed')).state).toBe('closed');
    expect(folded(times(5, 'failed')).state).toBe('open');
  });

  it('hardly ever opens for one that fails three calls in ten, from its first call on', () => {
    let opened = 0;
    for (let run = 0; run < 1_000; run += 1) {
      const chance = seededRandom(run);
      let breaker = CLOSED_BREAKER;
      // What is known after a few hundred calls does not change any more.
      for (let call = 0; call < 300 && breaker.state === 'closed'; call += 1) {
        breaker = folded([chance() < 0.3 ? 'failed' : 'ok'], breaker);
      }
      if (breaker.state === 'open') opened += 1;
    }
    expect(opened).toBeLessThanOrEqual(20);
  });

  it('needs more failures in a row, the more the endpoint usually has', () => {
    const needed = (share: number): number => {
      let count = 0;
      for (let breaker = usually(share); breaker.state === 'closed'; breaker = folded(['failed'], breaker)) count += 1;
      return count;
    };
    expect([0, 0.05, 0.1, 0.3, 0.5].map(needed)).toEqual([3, 5, 7, 12, 21]);
  });

  it('does not open for an endpoint that fails as usual, half of its calls or less', () => {
    const shares = fc.double({ min: 0, max: 0.5, noNaN: true });
    let opened = 0;
    fc.assert(
      fc.property(shares, fc.integer(), (share, seed) => {
        const chance = seededRandom(seed);
        let breaker = usually(share);
        for (let call = 0; call < 10_000; call += 1) {
          breaker = folded([chance() < share ? 'failed' : 'ok'], breaker);
          if (breaker.state === 'closed') continue;
          opened += 1;
          break;
        }
      }),
      runs(40),
    );
    expect(opened).toBeLessThanOrEqual(1);
  });

  it('opens within a few calls when an endpoint that often fails fails always', () => {
    const shares = fc.double({ min: 0, max: 0.5, noNaN: true });
    fc.assert(
      fc.property(shares, (share) => {
        expect(folded(times(21, 'failed'), usually(share)).state).toBe('open');
      }),
      runs(100),
    );
  });

  it('is less suspicious after each success', () => {
    const twice = folded(['failed', 'failed']);
    const less = folded(['ok'], twice);
    expect(less.suspicion).toBeLessThan(twice.suspicion);
    expect(folded(['ok', 'ok'], less)).toMatchObject({ state: 'closed', suspicion: 0, suspected: 0, blames: [] });
  });

  it('learns what is usual from failures that were no outage, and not from an outage', () => {
    const open = folded(['failed', 'failed', 'failed'], usually(0));
    const early = folded(['ok'], open, open.openUntil - 1);
    expect(early).toMatchObject({ state: 'closed', suspicion: 0 });
    expect(early.failed).toBeGreaterThan(2.9);
    const late = folded(['ok'], open, open.openUntil);
    expect(late.state).toBe('closed');
    expect(late.failed).toBeCloseTo(0, 8);
  });

  it('is not opened by one account alone while others succeed', () => {
    const others = folded([{ ok: 'a' }, { ok: 'b' }, { ok: 'one' }], usually(0));
    expect(folded(times(100, { failed: 'one' }), others).state).toBe('closed');
    const joined = folded(times(2, { failed: 'a' }), folded(times(100, { failed: 'one' }), others));
    expect(joined.state).toBe('open');
    // Nobody else has succeeded for a while.
    expect(folded(times(3, { failed: 'one' }), others, NOW + 10_000).state).toBe('open');
    // Nobody else was ever there.
    expect(folded(times(3, { failed: 'one' }), folded([{ ok: 'one' }], usually(0))).state).toBe('open');
  });
});

describe('a failure that was the fault of its request', () => {
  const outcome = fc.constantFrom('ok' as const, 'ok' as const, 'failed' as const);
  const history = fc.array(outcome, { maxLength: 30 });

  /** Counts a failure, then what follows, then takes the failure back. */
  function poisoned(before: Breaker, later: readonly ('ok' | 'failed')[]): Breaker {
    const failed = folded(['failed'], before);
    const counted = { before, after: failed, account: undefined };
    return takenBack(folded(later, failed), counted, DEFAULT_BREAKER_POLICY, NOW);
  }

  it('leaves the same breaker as if it had never been', () => {
    fc.assert(
      fc.property(history, history, (earlier, later) => {
        const before = folded(earlier);
        // Where it opens, with the failure or without, what comes later goes other ways.
        const isNeverOpen = (all: readonly ('ok' | 'failed')[]): boolean =>
          all.every((_, count) => folded(all.slice(0, count + 1)).state === 'closed');
        fc.pre(isNeverOpen([...earlier, 'failed', ...later]) && isNeverOpen([...earlier, ...later]));
        const clean = folded(later, before);
        const left = poisoned(before, later);
        expect(left.state).toBe(clean.state);
        expect(left.failed).toBeCloseTo(clean.failed, 6);
        expect(left.succeeded).toBeCloseTo(clean.succeeded, 6);
      }),
      runs(1_000),
    );
  });

  it('leaves no suspicion behind that only it has raised', () => {
    expect(poisoned(usually(0), []).suspicion).toBe(0);
    expect(poisoned(usually(0), ['ok', 'ok'])).toMatchObject({ suspicion: 0, suspected: 0, blames: [] });
    const twice = folded(['failed', 'failed'], usually(0));
    const third = folded(['failed'], twice);
    expect(third.state).toBe('open');
    const back = takenBack(third, { before: twice, after: third, account: undefined }, DEFAULT_BREAKER_POLICY, NOW);
    expect(back).toMatchObject({ state: 'closed', openings: 0 });
    expect(back.suspicion).toBeCloseTo(twice.suspicion, 8);
    expect(back.generation).toBeGreaterThan(third.generation);
  });

  it('leaves a breaker open that others have opened, or that fell silent', () => {
    const first = folded(['failed'], usually(0));
    const counted = { before: usually(0), after: first, account: undefined };
    const four = folded(['failed', 'failed'], first);
    const probed = folded(['failed'], four, four.openUntil);
    expect(takenBack(probed, counted, DEFAULT_BREAKER_POLICY, NOW).state).toBe('open');
    const silent = tripped(first, DEFAULT_BREAKER_POLICY, NOW);
    expect(takenBack(silent, counted, DEFAULT_BREAKER_POLICY, NOW).state).toBe('open');
  });

  it('never leaves less than nothing, however often and late it is taken back', () => {
    fc.assert(
      fc.property(history, history, fc.integer({ min: 1, max: 4 }), (earlier, later, count) => {
        const before = folded(earlier);
        const failed = folded(['failed'], before);
        const counted = { before, after: failed, account: undefined };
        let left = folded(later, failed);
        for (let time = 0; time < count; time += 1) left = takenBack(left, counted, DEFAULT_BREAKER_POLICY, NOW);
        expect(left.failed).toBeGreaterThanOrEqual(0);
        expect(left.succeeded).toBeGreaterThanOrEqual(0);
        expect(left.suspicion).toBeGreaterThanOrEqual(0);
        expect(left.blames.every(({ suspicion }) => suspicion >= 0)).toBe(true);
      }),
      runs(1_000),
    );
  });
});

describe('an opening', () => {
  it('stays open 1.2 times as long each time, up to half a minute, and a fifth more or less', () => {
    let breaker = tripped(CLOSED_BREAKER, DEFAULT_BREAKER_POLICY, NOW);
    const lengths: number[] = [];
    for (let opening = 0; opening < 16; opening += 1) {
      lengths.push(Math.round(breaker.openUntil - breaker.openedAt));
      const { generation } = breaker;
      breaker = ended(breaker, DEFAULT_BREAKER_POLICY, { outcome: 'failed', generation }, breaker.openUntil);
    }
    expect(lengths.slice(0, 6)).toEqual([2_500, 3_000, 3_600, 4_320, 5_184, 6_221]);
    expect(lengths.slice(-3)).toEqual([26_748, 30_000, 30_000]);
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
