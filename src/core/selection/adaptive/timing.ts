import type { UsualTime } from './speed.ts';

/**
 * What the first token of a call takes at an endpoint at the moment, in milliseconds. Endpoints of about the same cost are
 * compared by it.
 */
export interface Timing {
  /** Of a call without any tokens. */
  readonly baseMs: number;
  /** Of each token of its prompt that is in no cache. */
  readonly perTokenMs: number;
  /** For the calls that wait there already. */
  readonly queueMs: number;
}

/** Calls after which an endpoint is known well enough to be compared; those before find out. */
export const FIRST_CALLS = 3;
/** Milliseconds without a call after which it is not known any more. */
const KNOWN_MS = 7_200_000;

/** Whether an endpoint that was called last at a time is still as it was then. */
export function isKnownStill(calledAt: number, now: number): boolean {
  return now - calledAt <= KNOWN_MS;
}

/** By how much each call under way makes the others slower. */
const PER_CALL = 0.01;

/**
 * What a call takes at an endpoint.
 *
 * @param usual - What is usual there, or until that is known at all endpoints of the model.
 * @param calls - Calls under way.
 * @param waitingTokens - Tokens that are to be computed for those that wait for their answer.
 */
export function timingOf(usual: UsualTime | undefined, calls: number, waitingTokens: number): Timing {
  const crowding = 1 + PER_CALL * calls;
  const usualMs = usual === undefined || usual.calls === 0 ? UNKNOWN_MS : Math.exp(usual.mean);
  const growth = usual?.growth;
  if (growth === undefined || growth.perTokenMs === 0) return { baseMs: usualMs * crowding, perTokenMs: 0, queueMs: 0 };
  const { baseMs, perTokenMs, tokens } = growth;
  // As long as a call of the usual length usually takes there.
  const scale = (usualMs / (baseMs + perTokenMs * tokens)) * crowding;
  return {
    baseMs: baseMs * scale,
    perTokenMs: perTokenMs * scale,
    queueMs: perTokenMs * scale * waitingTokens,
  };
}

/** Where nothing is known of any endpoint, they are alike. */
const UNKNOWN_MS = 1_000;

/** Milliseconds until the first token of a call of so many tokens. */
export function expectedMs({ baseMs, perTokenMs, queueMs }: Timing, tokens: number): number {
  return Math.max(1, baseMs + perTokenMs * tokens + queueMs);
}

/**
 * How many times as long a call takes as without the calls that wait there already, were nothing of it in the cache: what
 * the cache saves may be spent on waiting.
 *
 * @param all - Its tokens with those that are in the cache. Default none of them are.
 */
export function queueFactor({ baseMs, perTokenMs, queueMs }: Timing, tokens: number, all = tokens): number {
  return queueMs === 0 ? 1 : (baseMs + perTokenMs * tokens + queueMs) / Math.max(1, baseMs + perTokenMs * all);
}
