/** Orders endpoints that cost the same by the time that they take. */
import type { Endpoint } from '../../../catalog/endpoint.ts';
import type { World } from '../world.ts';
import type { AdaptivePolicy } from './policy.ts';
import { expectedMs, queueFactor } from './timing.ts';

/** An endpoint, as far as it is compared by time with those that cost the same. */
export interface Timed {
  readonly endpoint: Endpoint;
  readonly figures: { readonly warmth: number; readonly headroom: number; health: number };
  /** True for one that must not be called now. */
  readonly isRefused: boolean;
  /** Share of the prompt that it has computed before, however long ago. */
  readonly known: number;
  /** What endpoints are compared by. */
  value: number;
  /** Milliseconds to its first token; undefined where it was not requested, or is hardly measured. */
  ms: number | undefined;
  isTimed: boolean;
  /** Times as long as the fastest of those that cost as little; 1 where there are none. */
  slower: number;
}

/** Tokens that are computed for a request; of the prompt, each endpoint has something else in its cache. */
interface Work {
  readonly prompt: number;
  readonly answer: number;
}

/** Times as dear as the best from which on endpoints are hardly ever drawn, and up to which they cost the same. */
const COMPETES = 1.3;
const SAME_COST = 1.02;

/**
 * What comes first at endpoints that may be drawn is added to what they take: those of our calls that wait there. An
 * endpoint with a queue answers late as if it were slow. True if anything has become worse.
 */
export function addQueues(
  weighed: readonly Timed[],
  best: number,
  { prompt, answer }: Work,
  timing: NonNullable<World['timing']>,
  { toleratedSlowness }: AdaptivePolicy,
): boolean {
  let isWorse = false;
  for (const one of weighed) {
    if (one.isTimed || one.isRefused || one.value > best * COMPETES) continue;
    one.isTimed = true;
    const time = timing(one.endpoint);
    if (time === undefined) continue;
    const tokens = prompt * (1 - Math.max(one.figures.warmth, one.known)) + answer;
    one.ms = expectedMs(time, tokens);
    const left = toleratedSlowness / queueFactor(time, tokens);
    if (left >= 1) continue;
    one.figures.health *= left;
    isWorse = true;
  }
  return isWorse;
}

/** Times as slow as others from which on a session moves away from the endpoint that has its prompt for less. */
const MOVES = 2;

/**
 * Among endpoints that cost the same, the one is better that answers sooner. Those of which nothing is known find out. A
 * session stays where its prompt is cached for less, however little that is, unless others are much faster.
 */
export function breakTies(weighed: readonly Timed[], best: number): void {
  const tied = weighed.filter(({ value, isRefused }) => !isRefused && value <= best * SAME_COST);
  if (tied.length <= 1) return;
  let fastest = Infinity;
  for (const { ms = Infinity } of tied) fastest = Math.min(fastest, ms);
  const isKept = tied.some(({ value, figures }) => value === best && figures.warmth > 0);
  const stays = isKept && tied.some(({ value }) => value > best);
  for (const one of tied) {
    if (!stays) one.value = best;
    const times = fastest < Infinity ? (one.ms ?? fastest) / fastest : 1;
    one.slower = stays ? Math.max(1, times / MOVES) : times;
    const { headroom } = one.figures;
    if (headroom < 1 && headroom >= 0) one.slower *= 2 - headroom;
  }
}
