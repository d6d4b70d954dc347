import type { FallbackPolicy } from '../core/fallback/next-move.ts';
import type { RouterFacts } from '../core/normalize/normalize.ts';
import type { SelectionPolicy } from '../core/selection/world.ts';
import type { RequestLimits } from '../protocol/limits.ts';
import type { Provider } from '../providers/provider.ts';
import type { EndUsers } from './end-users.ts';
import type { EndpointRecords } from './endpoint-records.ts';
import type { Environment } from './environment.ts';
import type { EventHub } from './events.ts';
import type { RetryBudgetKeeper } from './retry-budget.ts';
import type { StickySessions } from './sticky-sessions.ts';
import type { Timeouts } from './timeouts.ts';

/** Everything the runtime works with, put together once from the configuration. */
export interface RuntimeServices {
  readonly environment: Environment;
  readonly facts: RouterFacts;
  readonly limits: RequestLimits;
  readonly timeouts: Timeouts;
  readonly fallback: FallbackPolicy;
  readonly selection: SelectionPolicy;
  readonly providers: ReadonlyMap<string, Provider>;
  readonly records: EndpointRecords;
  readonly sticky: StickySessions;
  readonly budget: RetryBudgetKeeper;
  readonly endUsers: EndUsers;
  readonly events: EventHub;
  readonly docsUrl: string;
}
