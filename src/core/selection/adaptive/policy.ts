/** The constants of adaptive selection. */
import { ADAPTIVE, type AdaptivePolicy } from '../../../options/selection.ts';
import { fill } from '../../../options/option.ts';

export type { AdaptivePolicy, ConcurrencyLimitPolicy, SpeedPolicy } from '../../../options/selection.ts';

/**
 * Milliseconds that each call at a time may take of this process: of thousands that begin at once, the last ones wait for
 * us and not for their endpoint.
 */
export const OWN_MS = 2;

/** Milliseconds after which about two thirds of what went wrong at an endpoint is forgotten. */
export const FORGET_MS = 20_000;

/** Milliseconds for which providers are taken to keep a prompt in their cache. */
export const CACHE_MS = 300_000;

/** Times that must be known before anything is concluded from them. */
export const MINIMUM_CALLS = 10;

/** Default {@link AdaptivePolicy}. */
export const DEFAULT_ADAPTIVE_POLICY: AdaptivePolicy = fill(ADAPTIVE);
