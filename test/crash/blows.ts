/** Something that was done to processes, or happened to them. Times are epoch milliseconds. */
export interface Blow {
  /** `stall`: the machine gave a process no time by itself. `restart`: of the database. */
  readonly kind: 'kill' | 'pause' | 'stall' | 'restart';
  /**
   * The process; undefined where all that work on the store may feel it: one that is paused or stalls at any moment may
   * hold a lock of the database.
   */
  readonly process: number | undefined;
  readonly from: number;
  /** Infinity while it lasts. */
  to: number;
}

/** True when the blow, or what followed from it in the time of one lease, lay in a span of time. */
export function wasFelt({ from, to }: Blow, begin: number, end: number, leaseMs: number): boolean {
  return from <= end && to + leaseMs >= begin;
}
