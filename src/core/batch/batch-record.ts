import type { BatchEndpoint, BatchRequestCounts, BatchStatus, BatchWebhookEvent } from '../../protocol/batch.ts';
import type { JsonObject } from '../../protocol/json.ts';
import type { Usage } from '../../protocol/chunk.ts';
import type { Account } from '../account.ts';
import { type BatchFault, type OutputKind, wireBatch } from './wire-batch.ts';
import { isTerminal } from './machine.ts';
import type { WebhookState } from './webhook-schedule.ts';

/** Routing of a whole batch (contract: create a batch, `provider`). */
export interface BatchPreferences {
  readonly only?: readonly string[] | undefined;
  readonly allowFallbacks?: boolean | undefined;
}

/** A batch as it is stored. Times are epoch milliseconds of the store's own clock. */
export interface BatchRecord {
  readonly id: string;
  /** Account that owns it. */
  readonly account: string;
  readonly endpoint: BatchEndpoint;
  /** As it was sent. */
  readonly model: string;
  readonly status: BatchStatus;
  readonly createdAt: number;
  readonly finalizedAt?: number | undefined;
  /** When unfinished requests are given up. */
  readonly expiresAt?: number | undefined;
  /** When the batch and everything in it is deleted. */
  readonly deleteAt: number;
  /** Milliseconds after its end at which it is deleted, where that comes before. */
  readonly outputKeptMs?: number | undefined;
  /** True once its requests are run one by one: then any worker may take some that nobody has claimed. */
  readonly shared?: boolean | undefined;
  /** Display name of the provider that runs all of it. */
  readonly provider?: string | undefined;
  readonly preferences?: BatchPreferences | undefined;
  /** Rules of the account when it created the batch: the batch runs long after its client disconnected. */
  readonly rules?:
    | Pick<
        Account,
        'policy' | 'defaultModel' | 'pluginDefaults' | 'rateLimits' | 'budget' | 'batchWeight' | 'keyId' | 'keyBudget'
      >
    | undefined;
  /** Where the end is told. */
  readonly callbackUrl?: string | undefined;
  /** How telling it went so far. */
  readonly webhook?: WebhookState | undefined;
  readonly counts: BatchRequestCounts;
  readonly usage?: Usage | undefined;
  /** Why it failed. Already there while it is validated, when it was found before. */
  readonly error?: BatchFault | undefined;
  /** File that its requests came in. */
  readonly inputFileId?: string | undefined;
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /** Bytes of its files, once it is completed. */
  readonly fileBytes?: Readonly<Record<OutputKind, number>> | undefined;
  /** What must be remembered of the job at a provider's own batch API. */
  readonly upstream?: JsonObject | undefined;
  /** Grows by one with every change of this record, so that two writers notice each other. */
  readonly revision: number;
}

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
