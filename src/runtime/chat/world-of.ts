import type { RoutedRequest } from '../../core/normalize/normalized-request.ts';
import { planSeen } from '../../core/ledger/plan-seen.ts';
import type { ServedBy } from '../../core/selection/adaptive/expected-cost.ts';
import type { World } from '../../core/selection/performance.ts';
import { planRoute } from '../../core/selection/plan-route.ts';
import type { RoutePlan } from '../../core/selection/route-plan.ts';
import type { RuntimeServices } from './services.ts';

/** What is known of a request besides itself when it is planned. */
export interface KnownOfRequest {
  readonly request?: RoutedRequest | undefined;
  readonly served?: ServedBy | undefined;
  readonly roll?: number | undefined;
}

/** The world as it is now, for planning. */
export function worldOf(services: RuntimeServices, { request, served, roll }: KnownOfRequest = {}): World {
  const { environment, records, selection, strategy, adaptive, answerLengths } = services;
  return {
    record: records.record,
    sticky: served?.[0]?.endpoint,
    served,
    admission: records.admission,
    usualAnswerTokens: request && answerLengths.usual(request.account.id, request.targets[0]?.model),
    now: environment.now(),
    roll: roll ?? environment.random(),
    policy: selection,
    strategy,
    adaptive,
  };
}

/** Plans a request on a world, and keeps what the plan depended on where a ledger wants it. */
export function planOn({ ledger }: RuntimeServices, request: RoutedRequest, world: World): RoutePlan {
  return ledger === undefined ? planRoute(request, world) : planSeen(request, world);
}
