import type { BatchRecord } from '../../core/batch/batch-record.ts';
import { wireBatch } from '../../core/batch/wire-batch.ts';
import type { BatchStatus } from '../../protocol/batch.ts';
import type { EventHub } from '../events.ts';

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
