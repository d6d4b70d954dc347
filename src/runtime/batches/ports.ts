import type { Account } from '../../core/account.ts';
import type { BatchRecord } from '../../core/batch/batch-record.ts';
import type { LeaseLength } from '../../core/batch/lease.ts';
import type { Provider } from '../../contracts/provider.ts';
import type { BatchStore } from '../../contracts/batch-store.ts';
import type { MaybePromise } from '../../platform/wait.ts';
import type { Environment } from '../../platform/environment.ts';
import type { EventHub } from '../chat/events.ts';
import type { RequestLedger } from '../ledger/request-ledger.ts';
import type { RouterFacts } from '../../core/normalize/normalize.ts';
import type { Spending } from '../limits/spending.ts';
import type { WebhookPorts } from './deliver-webhook.ts';
import type { ItemCalls } from './item-calls.ts';
import type { BatchLimits } from '../../config/tables/limits.ts';
import type { BatchPlaces } from './places.ts';
import type { SharedRuns } from './shared-runs.ts';
import { wireBatch } from '../../core/batch/wire-batch.ts';
import type { BatchStatus } from '../../protocol/batch.ts';
import { type BatchEvent, transition } from '../../core/batch/machine.ts';
import type { TaskResult } from '../../contracts/task-queue.ts';

/** Everything that the tasks of batches work with. */
export interface BatchPorts {
  readonly store: BatchStore;
  readonly environment: Environment;
  readonly events: EventHub;
  readonly limits: BatchLimits;
  /** How long the leases of requests are. */
  readonly itemLease: LeaseLength;
  readonly calls: ItemCalls;
  readonly places: BatchPlaces;
  readonly watchers: BatchWatchers;
  readonly sharedRuns: SharedRuns;
  readonly webhooks: WebhookPorts;
  readonly spending: Spending;
  /** Where the outcomes of requests are noted that a provider ran as a batch of its own. Undefined: nowhere. */
  readonly ledger: RequestLedger | undefined;
  /** What the router knows of models and rules. */
  readonly facts: RouterFacts;
  readonly providers: ReadonlyMap<string, Provider>;
  /** Who a batch runs for. */
  readonly accountOf: (record: BatchRecord) => MaybePromise<Account>;
  /** There may be a new task. */
  readonly wake: () => void;
  readonly failPoint: ReachFailPoint;
}

/** Tells listeners of the router that a batch has another status. */
export function tellStatus(
  { events }: { readonly events: EventHub },
  record: BatchRecord,
  previous: BatchStatus | undefined,
): void {
  if (!events.heard('batch')) return;
  events.emit('batch', { type: 'status', account: record.account, batch: wireBatch(record), previous });
}

/** Tells listeners of the router that requests of a batch have their outcomes. */
export function tellProgress({ events }: { readonly events: EventHub }, record: BatchRecord): void {
  if (!events.heard('batch')) return;
  events.emit('batch', { type: 'progress', account: record.account, batch: wireBatch(record) });
}

/** Changes in a row by others after which something is wrong with the store. */
const MAX_COLLISIONS = 100;

/**
 * Applies an event to a batch and saves it together with the tasks that follow. When somebody else changed the batch
 * meanwhile, the event is judged again on what it is now.
 *
 * @returns The batch as it is now, and whether the event meant anything; undefined when there is no such batch.
 */
export async function applyEvent(
  ports: Pick<BatchPorts, 'store' | 'events' | 'watchers' | 'wake'>,
  { account, id }: Pick<BatchRecord, 'account' | 'id'>,
  event: BatchEvent,
): Promise<{ readonly batch: BatchRecord; readonly applied: boolean } | undefined> {
  const { store, watchers, wake } = ports;
  for (let collisions = 0; collisions < MAX_COLLISIONS; collisions += 1) {
    const record = await store.find(account, id);
    if (record === undefined) return undefined;
    const now = await store.now();
    const { batch, effects, applied } = transition(record, event, now);
    if (!applied) return { batch, applied };
    const tasks = effects.map((effect) => ({ account, batchId: id, effect, runAt: now }));
    if (!(await store.save(batch, tasks))) continue;
    if (batch.status !== record.status) tellStatus(ports, batch, record.status);
    watchers.changed(batch);
    if (tasks.length > 0) wake();
    return { batch, applied };
  }
  throw new RangeError(`batch ${id} changes too often to be changed`);
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
  /** The batch is there, and nobody has been told. */
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
  /** A batch has ended, and nobody was told. */
  'notify.started',
  /** The receiver was told, and that is not written yet. */
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

/** Nothing is left to do. */
export const DONE: TaskResult = { type: 'done' };

/** Makes ids of results. */
export function resultIds({ environment }: { readonly environment: Environment }): () => string {
  return () => `batch_req_${environment.randomText(24)}`;
}
