/** The type of a configuration in which nothing is missing. */
import type { CatalogFacts } from '../catalog/facts.ts';
import type { ResolvedBatches, ResolvedWebhooks } from './batches.ts';
import type { ResolvedLimits } from './limits.ts';
import type { ResolvedLedger } from './ledger.ts';
import type { RequestLimits } from '../options/limits.ts';
import type { ResolvedOf } from '../options/option.ts';
import type { ROUTER } from './router.ts';
import type { HangDetectionPolicy } from '../core/selection/adaptive/hang-detection.ts';
import type { HedgePolicy } from '../core/selection/adaptive/hedge.ts';
import type { PacerPolicy } from '../core/selection/adaptive/pacer.ts';
import type { AdaptivePolicy } from '../core/selection/adaptive/policy.ts';
import type { HealthPolicy } from '../core/fallback/health.ts';
import type { Secret } from '../platform/secret.ts';
import type { AnonymousCallers } from '../contracts/authenticate.ts';

/** Options that the router keeps in another form than they are given in. */
type Reshaped =
  | 'catalog'
  | 'breaker'
  | 'pacer'
  | 'hangDetection'
  | 'hedge'
  | 'tuning'
  | 'rateLimits'
  | 'limits'
  | 'budgets'
  | 'responseCache'
  | 'ledger'
  | 'batches'
  | 'webhooks'
  | 'identitySecret'
  | 'allowAnonymous';

/** A configuration in which nothing is missing. */
export interface ResolvedConfig extends Omit<ResolvedOf<typeof ROUTER>, Reshaped> {
  /** True when answers are simulated because no provider is configured. */
  readonly simulatedByDefault: boolean;
  readonly catalog: CatalogFacts;
  readonly docsUrl: string;
  readonly anonymous: AnonymousCallers;
  /** True when a program in production has not said who may call over HTTP. */
  readonly callersUnsaid: boolean;
  readonly health: HealthPolicy;
  readonly limits: RequestLimits;
  readonly adaptive: AdaptivePolicy;
  readonly pacer: PacerPolicy | false;
  readonly hangDetection: HangDetectionPolicy | false;
  readonly hedge: HedgePolicy | false;
  /** True when the program said where state lives: others may share it. */
  readonly sharesState: boolean;
  readonly usage: ResolvedLimits;
  /** Undefined where nothing is kept of requests. */
  readonly ledger: ResolvedLedger | undefined;
  readonly batches: ResolvedBatches;
  readonly webhooks: ResolvedWebhooks;
  readonly identitySecret: Secret;
}
