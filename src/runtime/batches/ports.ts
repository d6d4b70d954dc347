import type { Account } from '../../core/account.ts';
import type { BatchRecord } from '../../core/batch/batch-record.ts';
import type { Provider } from '../../providers/provider.ts';
import type { BatchStore } from '../../storage/batch-store.ts';
import type { MaybePromise } from '../../storage/state-store.ts';
import type { Environment } from '../environment.ts';
import type { EventHub } from '../events.ts';
import type { Spending } from '../limits/spending.ts';
import type { WebhookPorts } from '../webhooks/deliver-webhook.ts';
import type { ReachFailPoint } from './fail-point.ts';
import type { ItemCalls } from './item-calls.ts';
import type { BatchLimits } from './limits.ts';
import type { BatchPlaces } from './places.ts';
import type { BatchWatchers } from './watchers.ts';

/** Everything that the tasks of batches work with. */
export interface BatchPorts {
  readonly store: BatchStore;
  readonly environment: Environment;
  readonly events: EventHub;
  readonly limits: BatchLimits;
  readonly calls: ItemCalls;
  readonly places: BatchPlaces;
  readonly watchers: BatchWatchers;
  readonly webhooks: WebhookPorts;
  readonly spending: Spending;
  readonly providers: ReadonlyMap<string, Provider>;
  /** Who a batch runs for. */
  readonly accountOf: (record: BatchRecord) => MaybePromise<Account>;
  /** There may be a new task. */
  readonly wake: () => void;
  readonly failPoint: ReachFailPoint;
}
