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
import { cheapestOnce, cheapestRetried, oracle, roundRobin } from './clients.ts';

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
  /** (d) knows which endpoints answer. */
  readonly oracle: TimedReport;
}

type MakeClient = (setup: SimulatedSetup, wire: SimulatedWire) => TrafficClient;

/** The router in one world, in its default configuration. */
export function throughRouter(world: TrafficWorld): Promise<TimedReport> {
  return timed(world, (setup) => createRouter({ ...setup }));
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

/** All of them in one world. */
export async function compare(world: TrafficWorld): Promise<Compared> {
  return {
    router: await throughRouter(world),
    direct: await timed(world, cheapestOnce(world)),
    retried: await timed(world, cheapestRetried(world)),
    roundRobin: await timed(world, roundRobin(world)),
    oracle: await timed(world, oracle(world)),
  };
}

/** By how many points, as a share, the router answers fewer requests than the best of (a), (b) and (c); 0 when it does not. */
export function shortfall({ router, direct, retried, roundRobin: turns }: Compared): number {
  return Math.max(0, Math.max(direct.success, retried.success, turns.success) - router.success);
}

/** Beyond what a world counts as one in which the router is worse: 0.2 points. */
export const MARGIN = 0.002;
