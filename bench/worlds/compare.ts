/** Runs a world through the router and through what it is held beside. */
import { createRouter } from '../../src/index.ts';
import { simulateTraffic, type TrafficReport, type TrafficWorld } from '../../src/entries/testing.ts';
import { cheapestOnce, cheapestRetried, oracle, roundRobin } from './clients.ts';

/** One report for each contestant. */
export interface Compared {
  readonly router: TrafficReport;
  /** (a) the cheapest endpoint called directly. */
  readonly direct: TrafficReport;
  /** (b) the same with two retries. */
  readonly retried: TrafficReport;
  /** (c) each call at the next endpoint, with two retries. */
  readonly roundRobin: TrafficReport;
  /** (d) knows which endpoints answer. */
  readonly oracle: TrafficReport;
}

/** The router in one world, in its default configuration. */
export function throughRouter(world: TrafficWorld): Promise<TrafficReport> {
  return simulateTraffic(world, (setup) => createRouter({ ...setup }));
}

/** All of them in one world. */
export async function compare(world: TrafficWorld): Promise<Compared> {
  return {
    router: await throughRouter(world),
    direct: await simulateTraffic(world, cheapestOnce(world)),
    retried: await simulateTraffic(world, cheapestRetried(world)),
    roundRobin: await simulateTraffic(world, roundRobin(world)),
    oracle: await simulateTraffic(world, oracle(world)),
  };
}

/** By how many points, as a share, the router answers fewer requests than the best of (a), (b) and (c); 0 when it does not. */
export function shortfall({ router, direct, retried, roundRobin: turns }: Compared): number {
  return Math.max(0, Math.max(direct.success, retried.success, turns.success) - router.success);
}

/** Beyond what a world counts as one in which the router is worse: 0.2 points. */
export const MARGIN = 0.002;
