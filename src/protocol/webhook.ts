import type { Batch, BatchStatus } from './batch.ts';

/** States in which a batch ends, each with an event of its own. */
export type BatchEnd = Extract<BatchStatus, 'completed' | 'failed' | 'expired' | 'cancelled'>;

/** What is sent to `callback_url` when a batch has ended (contract: events; gaps 8.8). */
export interface BatchWebhookEvent {
  /** The same for every delivery of the event; also in the header `webhook-id`. */
  readonly id: string;
  readonly object: 'event';
  readonly type: `batch.${BatchEnd}`;
  /** Unix seconds at which the batch ended. */
  readonly created_at: number;
  /** The batch without its results: those are to be fetched. */
  readonly data: Pick<
    Batch,
    'id' | 'status' | 'endpoint' | 'model' | 'provider' | 'request_counts' | 'usage' | 'error'
  >;
}
