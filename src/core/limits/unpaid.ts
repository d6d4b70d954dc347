/** Leaves the endpoints out of a plan that a budget cannot pay. */
import type { Endpoint } from '../../catalog/endpoint.ts';
import { usdFromNano } from '../../catalog/cost.ts';
import type { ShortBudget } from '../../contracts/account-limits.ts';
import type { RouterError } from '../../protocol/router-error.ts';
import type { Rejection, RoutePlan } from '../selection/route-plan.ts';

/** Is in `metadata.limit_source` of a 402 for an endpoint without a price. */
export const UNKNOWN_PRICE = 'unknown_price';

/** Why an endpoint without a price is left out. */
export const PRICE_UNKNOWN = 'its price is unknown';

/** Why a budget leaves an endpoint out, in words. */
export function unpaidDetail({ scope, remainingNanoUsd }: ShortBudget, neededNanoUsd: number): string {
  const left = usdFromNano(Math.max(0, remainingNanoUsd));
  return `may cost $${usdFromNano(neededNanoUsd)}, $${left} left of the ${scope} budget`;
}

/**
 * A plan without some of its endpoints.
 *
 * @param unpaid - Why an endpoint cannot be paid; undefined for one that can.
 */
export function withoutUnpaid(plan: RoutePlan, unpaid: (endpoint: Endpoint) => string | undefined): RoutePlan {
  const rejected: Rejection[] = [];
  const steps = plan.steps.filter(({ endpoint }) => {
    const detail = unpaid(endpoint);
    if (detail !== undefined) rejected.push({ endpoint, reason: 'budget', detail });
    return detail === undefined;
  });
  return rejected.length === 0 ? plan : { ...plan, steps, rejected: [...plan.rejected, ...rejected] };
}

/** What an endpoint that could not be paid would have needed, for the 402 of a request for which none is left. */
export interface Unpaid {
  readonly error: RouterError;
  readonly detail: string;
  /** Infinity where its price is unknown. */
  readonly neededNanoUsd: number;
}

/** The cheaper of two, which is what the request would have needed at least. */
export function cheaperOf(one: Unpaid | undefined, other: Unpaid): Unpaid {
  return one !== undefined && one.neededNanoUsd <= other.neededNanoUsd ? one : other;
}
