/**
 * Second calls for requests whose first one may not answer any more. Where everything is slow, each of them makes it
 * slower for the others, so there is a limit to them: a tenth of the calls of about the last minute.
 */
export interface Rescues {
  /** Requests and second calls, of which older ones weigh less. */
  readonly requests: number;
  readonly rescues: number;
  /** Monotonic milliseconds of the last change. */
  readonly at: number;
}

/** Nothing was sent yet. */
export const NO_RESCUES: Rescues = { requests: 0, rescues: 0, at: 0 };

const FORGET_MS = 60_000;
const SHARE = 0.1;
/** Second calls that there may be however few requests there are. */
const LEAST = 8;

/** The same at a later time, with further requests. */
export function rescuesNow({ requests, rescues, at }: Rescues, now: number, more = 0): Rescues {
  const left = now <= at ? 1 : Math.exp((at - now) / FORGET_MS);
  return { requests: requests * left + more, rescues: rescues * left, at: Math.max(now, at) };
}

/** Whether there may be one more. */
export function mayRescue({ requests, rescues }: Rescues): boolean {
  return rescues < LEAST + SHARE * requests;
}
