import type { Endpoint } from '../../catalog/endpoint.ts';
import type { CounterChange } from '../../contracts/state-store.ts';

/** What a call takes of the declared limits of an endpoint, as counters that all instances share. Plain data. */
export interface EndpointClaim {
  readonly endpoint: Endpoint;
  readonly tokens: number;
  /** Epoch milliseconds of the call. */
  readonly at: number;
  readonly changes: readonly CounterChange[];
}

const MINUTE_MS = 60_000;
/** A minute is counted in slices, so that it slides. */
const SLICE_MS = 5_000;
/** Slices before the current one that lie within the last minute, one of them in part. */
const SLICES = MINUTE_MS / SLICE_MS;
const OF_MINUTE: SlidingWindow = { sliceMs: SLICE_MS, slices: SLICES };
/** Calls under way are counted by the minute in which they began, so that those of a process that died are forgotten. */
const OF_RUNNING: SlidingWindow = { sliceMs: MINUTE_MS, slices: 10 };
/** How soon to look again at an endpoint that has as many calls as it takes. */
const LOOK_AGAIN_MS = 50;

/** What a call takes. One with more tokens than the limit takes all of it, so that it has its turn in a quiet minute. */
export function claimOf(endpoint: Endpoint, tokens: number, at: number): EndpointClaim {
  const { rpm, tpm, concurrency } = endpoint;
  const change = (name: string, by: number, max: number | undefined, window: SlidingWindow) =>
    max === undefined ? [] : [slidingChange(keyOf(endpoint, name), { by, max, at, window })];
  const taken = Math.ceil(Math.min(Math.max(tokens, 1), tpm ?? Infinity));
  return {
    endpoint,
    tokens: taken,
    at,
    changes: [
      ...change('running', 1, concurrency, OF_RUNNING),
      ...change('requests', 1, rpm, OF_MINUTE),
      ...change('tokens', taken, tpm, OF_MINUTE),
    ],
  };
}

/**
 * What to change when a call is over.
 *
 * @param used - Tokens that it had; undefined where they are unknown, `nothing` for a call that was never made.
 */
export function changesAfter(
  { endpoint, changes, tokens }: EndpointClaim,
  used: number | undefined | 'nothing',
): readonly CounterChange[] {
  return changes.flatMap(({ key, ttlMs }) => {
    const by = differenceOf(key, endpoint, tokens, used);
    return by === 0 ? [] : [{ key, by, ttlMs }];
  });
}

function differenceOf(key: string, endpoint: Endpoint, tokens: number, used: number | undefined | 'nothing'): number {
  if (key.startsWith(keyOf(endpoint, 'running'))) return -1;
  if (key.startsWith(keyOf(endpoint, 'requests'))) return used === 'nothing' ? -1 : 0;
  return used === undefined ? 0 : Math.ceil(used === 'nothing' ? 0 : used) - tokens;
}

/** Keys of the counters that say when there will be room in a minute that is full, the oldest first. */
export function minuteCounters({ key, beside = [] }: CounterChange): readonly string[] {
  return beside.length === SLICES ? [...beside.toReversed(), key] : [];
}

/**
 * Milliseconds until there is room for a change that was refused.
 *
 * @param sum - Of all its counters.
 * @param slices - Values of its counters, as {@link minuteCounters} names them.
 */
export function waitForRoom(
  { by, max = Infinity }: CounterChange,
  sum: number,
  slices: readonly number[],
  now: number,
): number {
  let over = sum + by - max;
  if (over <= 0) return 0;
  if (slices.length === 0) return LOOK_AGAIN_MS;
  const leaving = slices.findIndex((value) => (over -= value) <= 0);
  return ((leaving < 0 ? SLICES : leaving) + 1) * SLICE_MS - (now % SLICE_MS);
}

/** A time that slides, in the slices that are counted: the current one, and so many before it. */
interface SlidingWindow {
  readonly sliceMs: number;
  readonly slices: number;
}

interface Sliding {
  readonly by: number;
  readonly max: number;
  readonly at: number;
  readonly window: SlidingWindow;
}

function slidingChange(key: string, { by, max, at, window: { sliceMs, slices } }: Sliding): CounterChange {
  const slice = Math.floor(at / sliceMs);
  return {
    key: `${key}\n${slice}`,
    by,
    max,
    ttlMs: (slices + 2) * sliceMs,
    beside: Array.from({ length: slices }, (_, index) => `${key}\n${slice - 1 - index}`),
  };
}

/** The braces keep all counters of an endpoint in one place of a cluster. */
function keyOf({ id }: Endpoint, name: string): string {
  return `endpoint-limit\n{${encodeURIComponent(id)}}\n${name}`;
}
