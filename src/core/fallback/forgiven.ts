/** Takes failures back that turn out to be the fault of their request. */
import { takenBack } from './breaker.ts';
import type { EndpointHealth, HealthPolicy } from './health.ts';
import { conditionWithout, uncounted } from './outcomes.ts';

/** A failure as it was counted: what it met, and what it left. */
export interface CountedHealth {
  /** Monotonic milliseconds. */
  readonly at: number;
  readonly account: string | undefined;
  readonly before: EndpointHealth;
  readonly after: EndpointHealth;
}

/**
 * Whether failures of a request that was answered nowhere are its own: they followed it to another endpoint, or to its
 * second try, while the requests of others succeeded where it failed.
 *
 * @param endpoints - How often it has failed at each endpoint, and whether another request has succeeded there since.
 */
export function isOfItsRequest(
  endpoints: readonly { readonly failures: number; readonly succeededSince: boolean }[],
): boolean {
  const failures = endpoints.reduce((sum, one) => sum + one.failures, 0);
  return failures >= 2 && endpoints.some(({ succeededSince }) => succeededSince);
}

/**
 * Takes a failure back that turned out to be the fault of its request. The time for which the endpoint must not be
 * called stays.
 */
export function forgiven(
  health: EndpointHealth,
  policy: HealthPolicy,
  failure: CountedHealth,
  now: number,
): EndpointHealth {
  const { before, after, account, at } = failure;
  const breakers = { before: before.breaker, after: after.breaker, account };
  const breaker = takenBack(health.breaker, breakers, policy.breaker, now);
  if (after.lastFailureAt === before.lastFailureAt && after.consecutiveFailures === before.consecutiveFailures) {
    return { ...health, breaker };
  }
  const hasSucceeded = health.breaker.succeededAt > at;
  return {
    ...health,
    breaker,
    condition: conditionWithout(health.condition, { before: before.condition, after: after.condition }),
    ...uncounted(health, after.latest?.start),
    consecutiveFailures: hasSucceeded ? health.consecutiveFailures : Math.max(0, health.consecutiveFailures - 1),
    lastFailureAt: health.lastFailureAt === after.lastFailureAt ? before.lastFailureAt : health.lastFailureAt,
  };
}
