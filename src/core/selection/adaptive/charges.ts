/**
 * How many times as much as its declared price an endpoint charges, as far as its answers say what they cost. A price
 * changes without notice, and what was declared is then of no use for comparing it with others.
 */
export interface Charges {
  readonly times: number;
  /** Monotonic milliseconds of the last answer. */
  readonly at: number;
}

/** Milliseconds after the last answer after which it may be as declared again: somebody has to look. */
const KEPT_MS = 3_600_000;
/** Weight of a new answer. */
const GAIN = 0.5;
/** Differences as small as this come from rounding. */
const SAME = 0.02;
/** Differences as large as this come from something else than a price. */
const MOST_TIMES = 50;

/** Folds in an answer that cost so many times as much as declared. */
export function chargesAfter(charges: Charges | undefined, times: number, now: number): Charges | undefined {
  if (!(times > 1 / MOST_TIMES && times < MOST_TIMES)) return charges;
  const known = chargedNow(charges, now);
  const next = known + GAIN * (times - known);
  return Math.abs(next - 1) < SAME ? undefined : { times: next, at: now };
}

/** How many times as much as declared it charges; 1 where nothing else is known. */
export function chargedNow(charges: Charges | undefined, now: number): number {
  return charges === undefined || now - charges.at > KEPT_MS ? 1 : charges.times;
}
