/** The constants of adaptive selection. */
import { fill } from '../../../options/option.ts';
import { TUNING, type Tuning } from '../../../options/selection.ts';

/**
 * Milliseconds that each call at a time may take of this process: of thousands that begin at once, the last ones wait for
 * us and not for their endpoint.
 */
export const OWN_MS = 2;

/** Milliseconds after which about two thirds of what went wrong at an endpoint is forgotten. */
export const FORGET_MS = 20_000;

/** Milliseconds for which providers are taken to keep a prompt in their cache. */
export const PROMPT_CACHE_MS = 300_000;

/** Times that must be known before anything is concluded from them. */
export const MINIMUM_CALLS = 10;

/** How the times to the first token of an endpoint are followed. */
export interface SpeedPolicy {
  /** Weight of a new time in the fast mean, which notices that an endpoint slows down. */
  readonly fastGain: number;
  /** Milliseconds after which about two thirds of a slowdown that lasts counts as usual. */
  readonly settleMs: number;
}

/** How many calls at a time an endpoint gets before it is slow by them. */
export interface ConcurrencyLimitPolicy {
  /** Calls at a time that an endpoint gets until it has answered among so many in time; then twice as many. */
  readonly firstLimit: number;
  /** Share of the calls at a time that remains when they make an endpoint slow. */
  readonly afterOverload: number;
  /** Calls at a time by which that grows again with each answer in time. */
  readonly perSuccess: number;
  /** Power by which calls beyond the limit cost health: at twice as many, 2 leaves a quarter. 0: none. */
  readonly weight: number;
  /**
   * Times as many calls as the limit beyond which no further one is sent, once it is known, unless the endpoint gets at
   * least as much done with them.
   */
  readonly mostOver: number;
}

/** Constants of the strategy `adaptive`, and of the health that every strategy looks at. */
export interface AdaptivePolicy extends Pick<Tuning, 'sharpness' | 'furtherRequests'> {
  /** Share by which a success moves health towards 1. */
  readonly afterSuccess: number;
  /** Health that an endpoint has at least after a probe that succeeded. */
  readonly afterProbe: number;
  /** First tokens may come this many times as late as usual before it costs health. */
  readonly toleratedSlowness: number;
  /** Health below which a `sort` puts an endpoint behind the others. */
  readonly degradedBelow: number;
  /** How the times to the first token are followed. */
  readonly speed: SpeedPolicy;
  /** How many calls at a time an endpoint gets. */
  readonly concurrencyLimit: ConcurrencyLimitPolicy;
}

/** The usual {@link AdaptivePolicy}. */
export const DEFAULT_ADAPTIVE_POLICY: AdaptivePolicy = adaptivePolicy(fill(TUNING));

/** The policy with what a program has tuned. */
export function adaptivePolicy({ sharpness, furtherRequests }: Tuning): AdaptivePolicy {
  return {
    sharpness,
    furtherRequests,
    // Less than a failure takes (0.15), so that an endpoint sinks which fails every second call.
    afterSuccess: 0.1,
    // A probe shows that it is up, and nothing about how often it fails: a little is left to chance.
    afterProbe: 0.95,
    // Times vary as much without anything being wrong.
    toleratedSlowness: 2,
    // Three failures in a row (0.61), or calls three times as slow as usual (0.67).
    degradedBelow: 0.7,
    // The mean of about five calls: soon, and not by one of them. What lasts for a quarter of an hour is no incident any more.
    speed: { fastGain: 0.2, settleMs: 900_000 },
    // As other limiters: grow by a constant, shrink by a share, refuse only far beyond what is known to be too much.
    concurrencyLimit: { firstLimit: 3, afterOverload: 0.7, perSuccess: 0.02, weight: 2, mostOver: 2 },
  };
}
