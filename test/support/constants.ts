/** Gives a router other constants than every router has, for tests of what follows from them. */
import type { Router } from 'signalbox';
import type { ResolvedBatches, ResolvedWebhooks } from '../../src/config/batches.ts';
import type { ResolvedLimits } from '../../src/config/limits.ts';
import type { HealthPolicy } from '../../src/core/fallback/health.ts';
import type { RequestLimits, ResolvedBatchLimits } from '../../src/options/limits.ts';

/** Constants of a router that no option sets. */
export interface Constants {
  readonly limits?: Partial<RequestLimits>;
  readonly health?: Partial<HealthPolicy>;
  readonly batches?: Partial<ResolvedBatchLimits>;
  readonly failPoint?: ResolvedBatches['failPoint'] | undefined;
  readonly webhooks?: Pick<ResolvedWebhooks, 'createTransport'>;
  readonly responses?: Partial<Pick<ResolvedLimits['responses'], 'maxEntryBytes'>>;
  readonly maxPluginDepth?: number;
}

/** Sets constants of a router that has not been used yet, until its next update. */
export function withConstants<Made extends Pick<Router, 'internals'>>(router: Made, constants: Constants): Made {
  const { config, services } = router.internals;
  const { limits, health, batches, failPoint, webhooks, responses, maxPluginDepth } = constants;
  Object.assign(config.limits, limits);
  Object.assign(config.health, health);
  Object.assign(config.batches.limits, batches);
  if (failPoint !== undefined) Object.assign(config.batches, { failPoint });
  Object.assign(config.webhooks, webhooks);
  Object.assign(config.usage.responses, responses);
  if (maxPluginDepth !== undefined) Object.assign(services, { maxPluginDepth });
  return router;
}
