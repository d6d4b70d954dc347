/** What the tasks of batches work with. */
import type { Account } from '../../contracts/account.ts';
import type { LeaseLength } from '../../core/batch/lease.ts';
import type { Provider } from '../../contracts/provider.ts';
import type { BatchStore } from '../../contracts/batch-store.ts';
import type { MaybePromise } from '../../platform/wait.ts';
import type { Environment } from '../../platform/environment.ts';
import type { EventHub } from '../events/events.ts';
import type { RequestLedger } from '../ledger/request-ledger.ts';
import type { Spending } from '../limits/spending.ts';
import type { ItemCalls } from './item-calls.ts';
import type { ResolvedBatchLimits } from '../../options/limits.ts';
import type { BatchPlaces } from './slots.ts';
import type { BatchRecord } from '../../contracts/batch-record.ts';
import type { RouterFacts } from '../../core/normalize/context.ts';
import type { Brand } from '../../options/http.ts';
import type { Secret } from '../../platform/secret.ts';
import type { Outbound } from '../../net/outbound-request.ts';

/** A batch, and the account that it belongs to. */
export interface OwnedBatch {
  readonly batch: BatchRecord;
  readonly account: Account;
}

/** Running requests of batches whose task is in another process. */
export interface RunSharing {
  start(ports: BatchPorts): void;
  /** Ends helping; requests under way have so many milliseconds. */
  stop(graceMs: number): Promise<void>;
  /** Does what has the task of a batch in place of helping with it. */
  instead<Value>(batchId: string, work: () => Promise<Value>): Promise<Value>;
}

/** Everything that the tasks of batches work with. */
export interface BatchPorts {
  readonly store: BatchStore;
  readonly environment: Environment;
  readonly events: EventHub;
  readonly limits: ResolvedBatchLimits;
  /** How long the leases of requests are. */
  readonly itemLease: LeaseLength;
  readonly calls: ItemCalls;
  readonly slots: BatchPlaces;
  readonly watchers: BatchWatchers;
  readonly sharedRuns: RunSharing;
  readonly webhooks: WebhookPorts;
  readonly spending: Spending;
  /** Where the outcomes of requests are noted that a provider ran as a batch of its own. Undefined: nowhere. */
  readonly ledger: RequestLedger | undefined;
  /** What the router has of models and rules. */
  readonly facts: RouterFacts;
  readonly providers: ReadonlyMap<string, Provider>;
  /** Who a batch runs for. */
  readonly accountOf: (record: BatchRecord) => MaybePromise<Account>;
  /** There may be a new task. */
  readonly wake: () => void;
  readonly failPoint: ReachFailPoint;
}

/**
 * Places in the life of a batch at which a process may die or be paused, by name. A crash test stops here; nobody else
 * does anything at them.
 */
export const FAIL_POINTS = [
  /** Part of the requests is in the draft, the rest is still coming. */
  'create.reading',
  /** All requests are in the draft, which is no batch yet. */
  'create.written',
  /** The batch is there, and no task was announced. */
  'create.published',
  /** In the middle of the validation. */
  'validate.reading',
  /** All requests were found good, and that is not written yet. */
  'validate.done',
  /** The batch is in progress, and no request was claimed. */
  'run.started',
  /** Requests are claimed, none was sent. */
  'run.claimed',
  /** A request is about to be sent. */
  'run.sending',
  /** An answer is there, and not stored. */
  'run.answered',
  /** Outcomes are stored. */
  'run.stored',
  /** Every request has its outcome, and the batch does not know. */
  'run.drained',
  /** The batch's time is over, and what is left is about to be marked. */
  'run.expiring',
  /** A provider has the batch, and that is not written yet. */
  'run.submitted',
  /** In the middle of adding up. */
  'finalize.reading',
  /** Everything is added up, and not written. */
  'finalize.done',
  /** A batch is being cancelled, and its requests are not marked yet. */
  'stop.started',
  /** Its requests are marked, and the batch is not cancelled yet. */
  'stop.marked',
  /** A batch has ended, and no webhook was sent. */
  'notify.started',
  /** The webhook was received, and that is not written yet. */
  'notify.sent',
  /** Another try is planned. */
  'notify.deferred',
] as const;

/** Name of a fail point. */
export type FailPoint = (typeof FAIL_POINTS)[number];

/** Called at every fail point; may wait, throw, or end the process. */
export type ReachFailPoint = (name: FailPoint) => Promise<void> | void;

/** What happens at fail points outside of crash tests. */
export const NO_FAIL_POINT: ReachFailPoint = () => {};

/** Tells those in this process who work on a batch when it changes, so that they need not find out by asking. */
export class BatchWatchers {
  readonly #watchers = new Map<string, Set<(record: BatchRecord) => void>>();

  /** Watches one batch; gives the function that ends it. */
  watch(batchId: string, watcher: (record: BatchRecord) => void): () => void {
    const known = this.#watchers.get(batchId) ?? new Set();
    this.#watchers.set(batchId, known.add(watcher));
    return () => {
      known.delete(watcher);
      if (known.size === 0) this.#watchers.delete(batchId);
    };
  }

  changed(record: BatchRecord): void {
    for (const watcher of this.#watchers.get(record.id) ?? []) watcher(record);
  }
}

/** What a delivery needs. */
export interface WebhookPorts {
  readonly outbound: Outbound;
  readonly environment: Environment;
  readonly secrets: readonly Secret[];
  /** Spelling of our own headers. */
  readonly brand: Brand;
}
