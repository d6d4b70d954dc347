/** Orders endpoints that cost the same by the time that they take. */
import type { Endpoint } from '../../../catalog/endpoint.ts';
import type { World } from '../world.ts';
import type { AdaptivePolicy } from './policy.ts';
import { expectedMs } from './speed.ts';

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
  /** The same if no endpoint were late, and the times by which being late makes this request dearer. */
  cost: number;
  late: number;
  /** Milliseconds to its first token; undefined where it was not requested, or is hardly measured. */
  ms: number | undefined;
  /** Of that, what it takes for the calls that wait there. */
  queueMs: number;
  isTimed: boolean;
  /** Times as long as the fastest of those that cost as little; 1 where there are none. */
  slower: number;
}

/** Tokens that are computed for a request, and how long that takes; of the prompt, each endpoint has something else in its cache. */
interface TimedWork {
  readonly prompt: number;
  readonly answer: number;
  readonly timing: NonNullable<World['timing']>;
}

/** Times as dear as the best from which on endpoints are hardly ever drawn, and up to which they cost the same. */
const COMPETES = 1.3;
const SAME_COST = 1.02;

/**
 * Times that counts what a call has to compute: those that come after it wait for that, too. So a call waits a little for
 * the endpoint that has most of its prompt rather than make another one compute all of it.
 */
const WORK_WEIGHT = 4;

/**
 * What comes first at endpoints that may be drawn is added to what they take: those of our calls that wait there. An
 * endpoint with a queue answers late as if it were slow. True if anything has become worse.
 */
export function addQueues(
  weighed: readonly Timed[],
  best: number,
  { prompt, answer, timing }: TimedWork,
  { toleratedSlowness }: AdaptivePolicy,
): boolean {
  const timed: Timed[] = [];
  let queues = 0;
  let usualMs = 0;
  for (const one of weighed) {
    if (one.isTimed || one.isRefused || one.value > best * COMPETES) continue;
    one.isTimed = true;
    const time = timing(one.endpoint);
    if (time === undefined) continue;
    one.ms = expectedMs(time, WORK_WEIGHT * (prompt * (1 - Math.max(one.figures.warmth, one.known)) + answer));
    one.queueMs = time.queueMs;
    usualMs += time.baseMs + time.perTokenMs * WORK_WEIGHT * (prompt + answer);
    queues += time.queueMs;
    timed.push(one);
  }
  if (queues === 0) return false;
  // One measure for all: that which is fast without a queue need not be left by those that wait longer elsewhere.
  const inTimeMs = (toleratedSlowness * Math.max(1, usualMs)) / timed.length;
  let isWorse = false;
  for (const { figures, ms = 0 } of timed) {
    if (ms <= inTimeMs) continue;
    figures.health *= inTimeMs / ms;
    isWorse = true;
  }
  return isWorse;
}

/** Times as slow as others from which on a session moves away from the endpoint that has its prompt for less. */
const MOVES = 2;

const ROUNDING = 1e-9;

/** Milliseconds by which another endpoint must answer sooner to be worth leaving the one that has the prompt. */
const WORTH_MOVING_MS = 100;

/**
 * How much more sharply than by cost endpoints are preferred by time where there are queues: whoever waits in the longer one
 * makes it longer still, and the other one runs empty.
 */
const SHARPER = 4;

/** Endpoints that cost as little as the cheapest, however late they are. */
export function cheapestOf(weighed: readonly Timed[]): readonly Timed[] {
  let least = Infinity;
  for (const { cost, isRefused } of weighed) if (!isRefused && cost < least) least = cost;
  return weighed.filter(({ cost, isRefused }) => !isRefused && cost <= least * SAME_COST);
}

/** Endpoints that are as good as the best. */
export function bestOf(weighed: readonly Timed[], best: number): readonly Timed[] {
  return weighed.filter(({ value, isRefused }) => !isRefused && value <= best * SAME_COST);
}

/**
 * Among endpoints that cost the same, the one is better that answers sooner, and all are as good as that. Those of which
 * nothing is known find out. A session stays where its prompt is cached for less, however little that is, unless others are
 * much faster.
 */
export function breakTie(tied: readonly Timed[]): void {
  if (tied.length <= 1) return;
  let leastMs = Infinity;
  let fastest = Infinity;
  let least = Infinity;
  let cheapest = Infinity;
  for (const { ms = Infinity, late, value, cost } of tied) {
    leastMs = Math.min(leastMs, ms);
    fastest = Math.min(fastest, ms * late);
    least = Math.min(least, value);
    cheapest = Math.min(cheapest, cost);
  }
  // Costs that differ by how they were added up are the same.
  const asLittle = cheapest * (1 + ROUNDING);
  const sharper = tied.some(({ queueMs }) => queueMs > 0) ? SHARPER : 1;
  const isKept = tied.some(({ cost, figures }) => cost <= asLittle && figures.warmth > 0);
  const stays = isKept && tied.some(({ cost }) => cost > asLittle);
  const isAtHome = tied.some(
    ({ ms = leastMs, late, figures }) => figures.warmth > 0 && ms * late - fastest < WORTH_MOVING_MS,
  );
  for (const one of tied) {
    const { ms = leastMs, late } = one;
    if (stays) one.slower = leastMs < Infinity ? Math.max(1, ms / leastMs / MOVES) : 1;
    else {
      one.slower =
        leastMs < Infinity ? Math.max(1, ((ms * late) / fastest) ** sharper) : Math.max(1, one.value / least);
      one.value = least;
    }
    if (isAtHome && one.figures.warmth === 0) one.slower = Math.max(one.slower, MOVES);
    const { headroom } = one.figures;
    if (headroom < 1 && headroom >= 0) one.slower *= 2 - headroom;
  }
}
