/** Counts of one stretch of time. Plain data, so that it can be stored and shared. */
export interface OutcomeSlice {
  /** Monotonic milliseconds. */
  readonly start: number;
  readonly succeeded: number;
  readonly failed: number;
}

/** Slices in order of time; only those in which something happened. */
export type OutcomeWindow = readonly OutcomeSlice[];

/** How a window is cut. */
export interface WindowShape {
  readonly sliceMs: number;
  readonly slices: number;
}

/** Sums over a window. */
export interface Totals {
  readonly succeeded: number;
  readonly failed: number;
}

/** Adds one outcome and drops what is too old. A clock that goes back counts into the newest slice. */
export function addOutcome(window: OutcomeWindow, shape: WindowShape, now: number, succeeded: boolean): OutcomeWindow {
  const start = Math.floor(now / shape.sliceMs) * shape.sliceMs;
  const last = window.at(-1);
  if (last !== undefined && last.start >= start) return window.with(-1, counted(last, succeeded));
  const kept = window.filter((slice) => slice.start > start - shape.slices * shape.sliceMs);
  return [...kept, counted({ start, succeeded: 0, failed: 0 }, succeeded)];
}

/** Sums the slices that reach into the last `spanMs` milliseconds. */
export function totalsOf(window: OutcomeWindow, shape: WindowShape, now: number, spanMs: number): Totals {
  let succeeded = 0;
  let failed = 0;
  for (const slice of window) {
    if (slice.start + shape.sliceMs <= now - spanMs) continue;
    succeeded += slice.succeeded;
    failed += slice.failed;
  }
  return { succeeded, failed };
}

function counted(slice: OutcomeSlice, succeeded: boolean): OutcomeSlice {
  return succeeded ? { ...slice, succeeded: slice.succeeded + 1 } : { ...slice, failed: slice.failed + 1 };
}
