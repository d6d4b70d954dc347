import * as fc from 'fast-check';
import {
  type Breaker,
  type BreakerPolicy,
  CLOSED_BREAKER,
  admits,
  ended,
  started,
} from '../../src/core/fallback/breaker.ts';

/** How a call can end. `refused` stands for everything that is not the endpoint's fault. */
export type Ending = 'ok' | 'failed' | 'refused';

/** A call under way. */
export interface Flight {
  readonly generation: number;
  readonly startedAt: number;
  /** Whether it went out through an open breaker. */
  readonly isProbe: boolean;
}

/** The breaker that is tested, with its clock and the calls it has let through. */
export interface Guarded {
  breaker: Breaker;
  readonly policy: BreakerPolicy;
  now: number;
  flights: readonly Flight[];
}

/** What the breaker should be, kept in the simplest way: as a list of everything that happened. */
export interface Reference {
  /** Ends of calls while it was closed. Those that an outage explains take no part in what is usual. */
  outcomes: readonly { readonly ok: boolean; readonly isExplained: boolean }[];
  /** How many of the latest ones are those that raise the suspicion: those since the last success. */
  suspected: number;
  suspicion: number;
  openUntil: number | undefined;
  openings: number;
}

/** Asked after every command, with the breaker as it was before. */
export type Check = (guarded: Guarded, before: Breaker, reference: Reference) => void;

type BreakerCommand = fc.Command<Reference, Guarded>;

/** Two failures are enough, also of an endpoint that was never called, so that everything happens within a few commands. */
export const SMALL_POLICY: BreakerPolicy = {
  odds: 250,
  openMs: 30_000,
  maxOpenMs: 300_000,
  probes: 1,
  growth: 2,
  jitter: 0,
};

/** A breaker that has seen nothing, and what it should be. */
export function freshPair(policy: Partial<BreakerPolicy> = {}): { readonly model: Reference; readonly real: Guarded } {
  return {
    model: { outcomes: [], suspected: 0, suspicion: 0, openUntil: undefined, openings: 0 },
    real: { breaker: CLOSED_BREAKER, policy: { ...SMALL_POLICY, ...policy }, now: 1_000_000, flights: [] },
  };
}

/** Sends a call if the breaker lets it through. */
export function launch(real: Guarded): Flight | undefined {
  if (!admits(real.breaker, real.policy, real.now).ok) return undefined;
  const isProbe = real.breaker.state === 'open';
  real.breaker = started(real.breaker, real.policy, real.now);
  const flight = { generation: real.breaker.generation, startedAt: real.now, isProbe };
  real.flights = [...real.flights, flight];
  return flight;
}

/** Ends a call. */
export function land(real: Guarded, flight: Flight, ending: Ending): void {
  real.flights = real.flights.filter((one) => one !== flight);
  const outcome = { ok: 'succeeded', failed: 'failed', refused: 'neutral' } as const;
  const call = { outcome: outcome[ending], generation: flight.generation };
  real.breaker = ended(real.breaker, real.policy, call, real.now);
}

/** Calls that failed and succeeded, as far as they are not forgotten: each makes those before it count 0.5 % less. */
export function countsOf({ outcomes }: Pick<Reference, 'outcomes'>): {
  readonly succeeded: number;
  readonly failed: number;
} {
  const weights = outcomes.map((_, index) => 0.995 ** (outcomes.length - 1 - index));
  const sum = (counts: (one: Reference['outcomes'][number]) => boolean): number =>
    outcomes.reduce((total, one, index) => total + (counts(one) ? (weights[index] ?? 0) : 0), 0);
  return {
    succeeded: 1.88 * 0.995 ** outcomes.length + sum(({ ok }) => ok),
    failed: 0.12 * 0.995 ** outcomes.length + sum(({ ok, isExplained }) => !ok && !isExplained),
  };
}

function learn(reference: Reference, { policy, now }: Guarded, ending: Ending): void {
  if (ending === 'refused') return;
  const ok = ending === 'ok';
  const latest = reference.outcomes.length - reference.suspected;
  if (reference.openUntil !== undefined) {
    if (!ok) return open(reference, policy, now);
    const outcomes = reference.outcomes.map((one, index) => (index < latest ? one : { ...one, isExplained: true }));
    Object.assign(reference, { outcomes, suspected: 0, suspicion: 0, openUntil: undefined, openings: 0 });
    reference.outcomes = [...reference.outcomes, { ok, isExplained: false }];
    return;
  }
  const usual = countsOf({
    outcomes: reference.outcomes.map((one, index) => (index < latest ? one : { ...one, isExplained: true })),
  });
  const failures = Math.max(0.009, usual.failed / (usual.failed + usual.succeeded));
  const more = ok ? Math.min(0, Math.log(0.02 / (1 - failures))) : Math.max(0, Math.log(0.98 / failures));
  reference.suspicion = Math.max(0, reference.suspicion + more);
  reference.suspected = ok || reference.suspicion === 0 ? 0 : reference.suspected + 1;
  reference.outcomes = [...reference.outcomes, { ok, isExplained: false }];
  if (reference.suspicion >= Math.log(policy.odds)) open(reference, policy, now);
}

function open(reference: Reference, policy: BreakerPolicy, now: number): void {
  const openMs = Math.min(policy.maxOpenMs, policy.openMs * 2 ** reference.openings);
  Object.assign(reference, { openUntil: now + openMs, openings: reference.openings + 1 });
}

function command(name: string, check: Check, run: (model: Reference, real: Guarded) => void): BreakerCommand {
  return {
    check: () => true,
    run(model, real) {
      const before = real.breaker;
      run(model, real);
      check(real, before, model);
    },
    toString: () => name,
  };
}

/** What may happen to a breaker. Every command is followed by the check. */
export function breakerCommands(
  check: Check,
  { jumps = false }: { readonly jumps?: boolean } = {},
): fc.Arbitrary<Iterable<BreakerCommand>> {
  const ending = fc.constantFrom<Ending>('ok', 'failed', 'failed', 'refused');
  const call = ending.map((how) =>
    command(`call: ${how}`, check, (model, real) => {
      const flight = launch(real);
      if (flight === undefined) return;
      land(real, flight, how);
      learn(model, real, how);
    }),
  );
  const begin = fc.constant(command('begin', check, (_model, real) => void launch(real)));
  const finish = fc.tuple(fc.nat(9), ending).map(([which, how]) =>
    command(`finish ${which}: ${how}`, check, (model, real) => {
      const flight = real.flights[which % Math.max(1, real.flights.length)];
      if (flight === undefined) return;
      const counts = flight.generation === real.breaker.generation;
      land(real, flight, how);
      if (counts) learn(model, real, how);
    }),
  );
  const steps = fc.oneof(
    fc.integer({ min: 1, max: 8_000 }),
    fc.integer({ min: 1, max: 90_000 }),
    fc.constantFrom(30_000, 60_000, 300_000),
  );
  const advance = steps.map((ms) => command(`advance ${ms}`, check, (_model, real) => void (real.now += ms)));
  const jump = fc
    .constantFrom(-3_600_000, -60_000, -1, 3_600_000)
    .map((ms) => command(`jump ${ms}`, check, (_model, real) => void (real.now += ms)));
  return fc.commands([call, begin, begin, finish, advance, ...(jumps ? [jump] : [])], {
    maxCommands: 60,
    size: 'max',
  });
}
