import type { ErrorEvent } from 'signalbox';
import { expect } from 'vitest';
import { UNKNOWN_HEALTH } from '../../src/core/fallback/health.ts';
import { BACKED, type FaultCell, type FaultCellOptions, recordOf, startFaultCell } from './fault-cell.ts';
import { until } from './until.ts';

/** A cell that keeps what the router tells of its requests. */
export interface Watched extends FaultCell {
  readonly errors: ErrorEvent[];
  readonly results: unknown[];
}

/** Starts a cell and listens to its router. */
export async function startWatched(mount: string, options: FaultCellOptions): Promise<Watched> {
  const errors: ErrorEvent[] = [];
  const results: unknown[] = [];
  const on = { error: (event: ErrorEvent) => errors.push(event), result: (event: unknown) => results.push(event) };
  const cell = await startFaultCell({ ...options, mount, config: { ...options.config, on } });
  return Object.assign(cell, { errors, results });
}

/** Waits until a number has not changed for a while. */
export async function standsStill(read: () => number): Promise<void> {
  for (let last = -1; last !== read();) {
    last = read();
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Longest time between two looks that counts; what is beyond it, the machine has given to somebody else. */
const LONGEST_TURN_MS = 10;

/** Milliseconds until something happens, without those in which a busy machine does not let this process run. */
export async function timeUntil(condition: () => boolean): Promise<number> {
  let passed = 0;
  for (let last = performance.now(); !condition() && passed < 5_000;) {
    await new Promise((resolve) => setTimeout(resolve, 1));
    const now = performance.now();
    passed += Math.min(now - last, LONGEST_TURN_MS);
    last = now;
  }
  return passed;
}

/** No place, no further attempt, and no blame for anybody. */
export async function checkNothingStays(cell: Watched): Promise<void> {
  await until(() => cell.router.internals.admission.inside === 0 && cell.errors.length > 0);
  expect(cell.healthy.requests).toEqual([]);
  expect(cell.results).toEqual([]);
  expect(recordOf(cell, BACKED)?.health ?? UNKNOWN_HEALTH).toEqual(UNKNOWN_HEALTH);
}
