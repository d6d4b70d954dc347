/** How an endpoint's counts of tokens compare with the likely estimate, learned from the usage that it reports. */
export interface TokenCalibration {
  /** Tokens that it reports for one that was estimated. */
  readonly factor: number;
  /** Reports that this was learned from. */
  readonly reports: number;
  /** When the last one came, monotonic milliseconds. */
  readonly at: number;
  /** True when the last one taught nothing, as with short prompts: the next is looked at after a while. */
  readonly isUnusable?: boolean | undefined;
}

/** What is known of an endpoint that has reported nothing yet. */
export const UNCALIBRATED: TokenCalibration = { factor: 1, reports: 0, at: 0 };

/** Shorter prompts say more about what a provider adds to them than about its vocabulary. */
const LEAST = 64;
/** The least that a report counts for, so that the latest twenty matter most. */
const LEAST_WEIGHT = 0.05;
/** A report further off than this is about something else, such as a prompt that the provider wrote itself. */
const FARTHEST = 3;

/** Once so many reports are known, one is enough every so many milliseconds. */
const ENOUGH = 20;
const PAUSE = 10_000;

/** Whether another report would teach anything: estimating a prompt takes time. */
export function wantsReport(known: TokenCalibration, now: number): boolean {
  return (known.reports < ENOUGH && known.isUnusable !== true) || now - known.at >= PAUSE;
}

/** Learns from a report: a mean of ratios in which a ratio and its inverse weigh the same. */
export function calibrate(known: TokenCalibration, estimated: number, reported: number, now: number): TokenCalibration {
  const unusable = { ...known, at: now, isUnusable: true };
  if (estimated < LEAST || !(reported > 0)) return unusable;
  const ratio = reported / estimated;
  if (ratio > FARTHEST || ratio < 1 / FARTHEST) return unusable;
  const weight = Math.max(LEAST_WEIGHT, 1 / (known.reports + 1));
  const factor = Math.exp((1 - weight) * Math.log(known.factor) + weight * Math.log(ratio));
  return { factor, reports: known.reports + 1, at: now };
}

/** An estimate in the tokens of an endpoint. */
export function calibrated(estimated: number, known: TokenCalibration | undefined): number {
  return Math.round(estimated * (known ?? UNCALIBRATED).factor);
}
