import { ADAPTIVE, type AdaptivePolicy } from '../../../config/tables/selection.ts';
import { fill } from '../../../config/option.ts';

export type { AdaptivePolicy, CrowdPolicy, SpeedPolicy } from '../../../config/tables/selection.ts';

/** Default {@link AdaptivePolicy}. */
export const DEFAULT_ADAPTIVE_POLICY: AdaptivePolicy = fill(ADAPTIVE);
