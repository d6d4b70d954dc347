import { ADAPTIVE, type AdaptivePolicy } from '../../../config/tables/selection.ts';
import { fill } from '../../../config/option.ts';

export type { AdaptivePolicy, CrowdPolicy, SpeedPolicy } from '../../../config/tables/selection.ts';

/**
 * Milliseconds that each call at a time may take of this process: of thousands that begin at once, the last ones wait for
 * us and not for their endpoint.
 */
export const OWN_MS = 2;

/** Default {@link AdaptivePolicy}. */
export const DEFAULT_ADAPTIVE_POLICY: AdaptivePolicy = fill(ADAPTIVE);
