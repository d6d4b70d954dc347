/** Runs a world through the router and through what it is held beside. */
import { createRouter } from '../../src/index.ts';
import {
  simulateTraffic,
  type SimulatedSetup,
  type SimulatedWire,
  type TrafficClient,
  type TrafficReport,
  type TrafficWorld,
} from '../../src/entries/testing.ts';
import { cheapestOnce, cheapestRetried, oracle, retriedRouter, retriesOf, roundRobin } from './clients.ts';
import type { KnownWorld } from './worlds.ts';

/** A report, and what it leaves out. */
export interface TimedReport extends TrafficReport {
  /** Milliseconds to the first token, or to a non-streaming answer, of each answered request; the shortest first. */
  readonly timesMs: readonly number[];
}

/** One report for each contestant. */
export interface Compared {
  readonly router: TimedReport;
  /** (a) the cheapest endpoint called directly. */
  readonly direct: TimedReport;
  /** (b) the same with two retries. */
  readonly retried: TimedReport;
  /** (c) each call at the next endpoint, with two retries. */
  readonly roundRobin: TimedReport;
  /** The router behind a client library with its own retries. */
  readonly retriedRouter: TimedReport;
  /** (b) and (c) with the retries of that library. */
  readonly retriedByLibrary: TimedReport;
  readonly roundRobinByLibrary: TimedReport;
  /** (d) knows which endpoints answer. */
  readonly oracle: TimedReport;
}

type MakeClient = (setup: SimulatedSetup, wire: SimulatedWire) => TrafficClient;

/** The router in one world, in its default configuration. */
export function throughRouter(world: TrafficWorld): Promise<TimedReport> {
  return timed(world, CONTESTANTS.router());
}

async function timed(world: TrafficWorld, make: MakeClient): Promise<TimedReport> {
  const timesMs: number[] = [];
  const report = await simulateTraffic(world, (setup, wire) => {
    const client = make(setup, wire);
    const { now } = setup.environment;
    return {
      async chat(...call) {
        const startedMs = now();
        await client.chat(...call);
        timesMs.push(now() - startedMs);
      },
      async *stream(...call) {
        const startedMs = now();
        let firstMs: number | undefined;
        for await (const part of client.stream(...call)) {
          firstMs ??= now() - startedMs;
          yield part;
        }
        if (firstMs !== undefined) timesMs.push(firstMs);
      },
    };
  });
  return { ...report, timesMs: timesMs.toSorted((left, right) => left - right) };
}

/**
 * The times in which two contestants answered as many of all requests: 99 %, or as many as the one that answered fewer. So
 * whoever gives up sooner is not the faster one for it.
 */
export function timesOfAsMany(one: TimedReport, other: TimedReport): readonly [number, number] {
  const answered = Math.min(0.99 * one.requests, one.timesMs.length, other.timesMs.length);
  const last = Math.max(0, Math.floor(answered) - 1);
  return [one.timesMs[last] ?? 0, other.timesMs[last] ?? 0];
}

/** Warnings of thousands of endpoints that fail as drawn are no news. */
const QUIET = { warning: () => {} };

/** Who is compared, each with what makes it in a known world. */
const CONTESTANTS = {
  router: () => (setup) => createRouter({ ...setup, on: QUIET }),
  direct: ({ world }) => cheapestOnce(world),
  retried: ({ world }) => cheapestRetried(world),
  roundRobin: ({ world }) => roundRobin(world),
  retriedRouter: ({ world, library }) =>
    retriedRouter((setup) => createRouter({ ...setup, on: QUIET }), retriesOf(library, world.seed ?? 1)),
  retriedByLibrary: ({ world, library }) => cheapestRetried(world, retriesOf(library, world.seed ?? 1)),
  roundRobinByLibrary: ({ world, library }) => roundRobin(world, retriesOf(library, world.seed ?? 1)),
  oracle: ({ world }) => oracle(world),
} as const satisfies Readonly<Record<string, (known: Known) => MakeClient>>;

/** A world, and whose retries its clients have. */
type Known = Pick<KnownWorld, 'world' | 'library'>;

type Contestant = keyof typeof CONTESTANTS;

/** Those that the router by itself is held beside, and those that it is beside clients with retries of their own. */
const RIVALS = {
  router: ['direct', 'retried', 'roundRobin'],
  retriedRouter: ['retriedByLibrary', 'roundRobinByLibrary'],
} as const;

/** All of them in one world. */
export async function compare(known: Known): Promise<Compared> {
  const reports: Partial<Record<Contestant, TimedReport>> = {};
  for (const name of Object.keys(CONTESTANTS) as Contestant[]) {
    reports[name] = await timed(known.world, CONTESTANTS[name](known));
  }
  return reports as Compared;
}

/** By how many points, as a share, the router answers fewer requests than the best of (a), (b) and (c); 0 when it does not. */
export function shortfall(reports: Compared): number {
  return Math.max(0, ...RIVALS.router.map((rival) => reports[rival].success - reports.router.success));
}

/** The same with retries of the client library in front of the router, and for (b) and (c) in place of their own. */
export function shortfallWithRetries(reports: Compared): number {
  const rivals = RIVALS.retriedRouter;
  return Math.max(0, ...rivals.map((rival) => reports[rival].success - reports.retriedRouter.success));
}

/** Beyond what a world counts as one in which the router is worse: 0.2 points. */
export const MARGIN = 0.002;

/**
 * Whether nothing of a world gives the router a reason to refuse: no limit, and no time in which all calls of an endpoint
 * fail, of which it can only know a moment later that it is over.
 */
export function isAlwaysOpen({ world, isLimited }: Pick<KnownWorld, 'world' | 'isLimited'>): boolean {
  const outages = world.endpoints.flatMap((endpoint) => endpoint.outages ?? []);
  const isOut = outages.some(
    (one) =>
      one.kind === 'fail' ||
      one.kind === 'hang' ||
      one.kind === 'flap' ||
      ('burstMs' in one && one.burstMs !== undefined),
  );
  return isLimited !== true && !isOut;
}

/** Share of the requests that a router may refuse by itself in such a world while an endpoint would have answered. */
export const MOST_REFUSED = 0.001;

/**
 * How often a world that looks worse is run again, with other luck each time. A router that is no worse than its rival is
 * as likely to be ahead as behind in each of them, so that it is behind in all twelve with a chance of 1 in 4,096; and the
 * first run, which chose world and rival, does not count. Of 1,000 worlds, of which 200 at most look worse, one is then
 * listed by chance with a probability of 5 % at most.
 */
const REPETITIONS = 12;

/** A contestant that answers more than the router, beyond chance. */
export interface Better {
  /** Whether the router is by itself, or behind a client library with its retries. */
  readonly own: keyof typeof RIVALS;
  readonly rival: Contestant;
  /** Mean of the differences, as a share of the requests. */
  readonly by: number;
}

/**
 * Who of a world answers more requests than the router: by more than the margin in the world itself and in the mean of
 * its repetitions, and by something in each of those. The repetitions end with the first in which the router is as good.
 */
export async function betterThanRouter(known: Known, reports: Partial<Compared>): Promise<readonly Better[]> {
  const found: Better[] = [];
  for (const own of ['router', 'retriedRouter'] as const) {
    const success = reports[own]?.success ?? 1;
    const [best] = RIVALS[own]
      .map((rival) => ({ rival, ahead: (reports[rival]?.success ?? 0) - success }))
      .toSorted((left, right) => right.ahead - left.ahead);
    if (best === undefined || best.ahead <= MARGIN) continue;
    const by = await aheadAgain(known, own, best.rival);
    if (by > MARGIN) found.push({ own, rival: best.rival, by });
  }
  return found;
}

/** Mean by which a rival is ahead in the repetitions of a world; 0 where it is not in one of them. */
async function aheadAgain(known: Known, own: keyof typeof RIVALS, rival: Contestant): Promise<number> {
  const { world } = known;
  let total = 0;
  for (let again = 1; again <= REPETITIONS; again += 1) {
    const other = { ...known, world: { ...world, seed: (world.seed ?? 1) + again * 1_000_003 } };
    const ownReport = await simulateTraffic(other.world, CONTESTANTS[own](other));
    const rivalReport = await simulateTraffic(other.world, CONTESTANTS[rival](other));
    const ahead = rivalReport.success - ownReport.success;
    if (ahead <= 0) return 0;
    total += ahead;
  }
  return total / REPETITIONS;
}
