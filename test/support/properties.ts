import { storm, STORMS_ARE_FULL } from './storms.ts';

/** What fast-check is told. */
export interface PropertySettings {
  readonly numRuns: number;
  readonly seed: number;
}

/** Set this to look for failures that one seed does not find. */
const SEED = Number(process.env['PROPERTY_SEED'] ?? 20_261_120);

/** Fewer runs than this find too little. */
const LEAST = 50;

/**
 * So many runs of a property, the same ones every time; a quarter of them where storms are not full, at least 50 (or all,
 * where that is less).
 */
export function runs(count: number): PropertySettings {
  return { numRuns: STORMS_ARE_FULL ? count : Math.min(count, Math.max(LEAST, Math.ceil(count / 4))), seed: SEED };
}

/** How often something must have happened in all runs of a property, in proportion to their number. */
export function inProportion(full: number): number {
  return STORMS_ARE_FULL ? full : full / 4;
}

/** The runs of a property that is a storm, the same ones every time. */
export function stormOfRuns(count: number): PropertySettings {
  return { numRuns: storm(count), seed: SEED };
}
