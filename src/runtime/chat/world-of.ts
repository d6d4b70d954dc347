import type { ReasoningOrigins } from '../../core/normalize/reasoning-origin.ts';
import type { RoutedRequest } from '../../core/normalize/normalized-request.ts';
import type { ServedBy } from '../../core/selection/adaptive/expected-cost.ts';
import type { World } from '../../core/selection/performance.ts';
import type { RuntimeServices } from './services.ts';

/** What is known of a request besides itself when it is planned. */
export interface KnownOfRequest {
  readonly request?: RoutedRequest | undefined;
  readonly served?: ServedBy | undefined;
  readonly roll?: number | undefined;
  readonly origins?: ReasoningOrigins | undefined;
}

/** The world as it is now, for planning. */
export function worldOf(services: RuntimeServices, { request, served, roll, origins }: KnownOfRequest = {}): World {
  const { environment, records, selection, strategy, adaptive, answerLengths } = services;
  return {
    record: records.record,
    sticky: served?.[0]?.endpoint,
    served,
    origins,
    admission: records.admission,
    usualAnswerTokens: request && answerLengths.usual(request.account.id, request.targets[0]?.model),
    now: environment.now(),
    roll: roll ?? environment.random(),
    policy: selection,
    strategy,
    adaptive,
  };
}
