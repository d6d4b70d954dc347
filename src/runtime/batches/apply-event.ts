/** Applies events to batches, saves them, and notifies listeners. */
import type { Environment } from '../../platform/environment.ts';
import type { EventHub } from '../events/events.ts';
import { wireBatch } from '../../core/batch/wire-batch.ts';
import type { BatchStatus } from '../../protocol/batch.ts';
import { type BatchEvent, transition } from '../../core/batch/machine.ts';
import type { TaskResult } from '../../contracts/task-queue.ts';
import type { BatchRecord } from '../../contracts/batch-record.ts';
import type { BatchPorts } from './ports.ts';

/** Tells listeners of the router that a batch has another status. */
export function notifyStatus(
  { events }: { readonly events: EventHub },
  record: BatchRecord,
  previous: BatchStatus | undefined,
): void {
  if (!events.heard('batch')) return;
  events.emit('batch', { type: 'status', account: record.account, batch: wireBatch(record), previous });
}

/** Tells listeners of the router that requests of a batch have their outcomes. */
export function notifyProgress({ events }: { readonly events: EventHub }, record: BatchRecord): void {
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
    if (batch.status !== record.status) notifyStatus(ports, batch, record.status);
    watchers.changed(batch);
    if (tasks.length > 0) wake();
    return { batch, applied };
  }
  throw new RangeError(`batch ${id} changes too often to be changed`);
}

/** Nothing is left to do. */
export const DONE: TaskResult = { type: 'done' };

/** Makes ids of results. */
export function resultIds({ environment }: { readonly environment: Environment }): () => string {
  return () => `batch_req_${environment.randomText(24)}`;
}
