/**
 * Whether storms run at all of their size. Storms are tests that repeat one thing thousands of times: schedules of
 * faults, clients that disconnect, random configurations. Elsewhere they run at a tenth of it. `STORMS=full`, as in
 * `.ci/run`, runs them at all of it.
 */
export const STORMS_ARE_FULL = process.env['STORMS'] === 'full';

/** How often a storm repeats, and in proportion how often something must have happened in it. */
export function storm(full: number): number {
  return STORMS_ARE_FULL ? full : Math.ceil(full / 10);
}

/** All of a list in a full storm; elsewhere one of so many, beginning at a place that callers choose. */
export function someOf<Item>(list: readonly Item[], { every, from = 0 }: { every: number; from?: number }): Item[] {
  return list.filter((_, index) => STORMS_ARE_FULL || index % every === from % every);
}
