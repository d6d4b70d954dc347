import type { EndpointRecord } from '../performance.ts';
import { conditionNow } from './condition.ts';
import type { AdaptivePolicy } from './policy.ts';
import { slownessOf } from './speed.ts';

/** How well an endpoint does now. */
export interface Wellness {
  /** From 0 to 1: what is left after failures and slowness. */
  readonly health: number;
  /** How many times as long as usual calls take; 1 is as usual. */
  readonly slowness: number;
}

const WELL: Wellness = { health: 1, slowness: 1 };

/** Health of an endpoint: the share of failures that is not forgotten yet, and slowness beyond what is tolerated. */
export function wellnessOf(record: EndpointRecord | undefined, policy: AdaptivePolicy, now: number): Wellness {
  if (record === undefined) return WELL;
  const condition = conditionNow(record.health.condition, policy.forgetMs, now);
  const slowness = record.speed === undefined ? 1 : slownessOf(record.speed, policy.forgetMs, now);
  return { health: condition * Math.min(1, policy.toleratedSlowness / slowness), slowness };
}
