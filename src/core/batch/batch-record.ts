import type { BatchWebhookEvent } from '../../protocol/batch.ts';
import { wireBatch } from './wire-batch.ts';
import { isTerminal } from './machine.ts';
import type { BatchRecord } from '../../contracts/batch-record.ts';

/**
 * The event that tells of the end of a batch (contract: events; gaps 8.8). The same batch always makes the same event,
 * with the same id, so that a receiver can tell a repetition from news.
 *
 * @param timestampOf - Writes epoch milliseconds as ISO 8601 with milliseconds and `Z`.
 */
export function webhookEvent(record: BatchRecord, timestampOf: (milliseconds: number) => string): BatchWebhookEvent {
  const { status, finalizedAt = record.createdAt } = record;
  if (!isTerminal(status)) throw new RangeError(`a batch that is ${status} has not ended`);
  const { id, endpoint, model, provider, request_counts, usage, error } = wireBatch(record);
  return {
    id: `evt_${id}_${status}`,
    object: 'event',
    type: `batch.${status}` as BatchWebhookEvent['type'],
    created_at: timestampOf(finalizedAt),
    data: { id, status, endpoint, model, provider, request_counts, usage, error },
  };
}
