/** What fast-check is told. */
export interface PropertySettings {
  readonly numRuns: number;
  readonly seed: number;
}

/** Set this to look for failures that one seed does not find. */
const SEED = Number(process.env['PROPERTY_SEED'] ?? 20_261_120);

/** So many runs of a property, the same ones every time. */
export function runs(count: number): PropertySettings {
  return { numRuns: count, seed: SEED };
}
