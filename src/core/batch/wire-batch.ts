import type { Batch, BatchResultItem } from '../../protocol/batch.ts';
import type { BatchRecord } from './batch-record.ts';
import { isTerminal } from './machine.ts';

/** An outcome as it is stored, as far as it is shown. */
interface ShownOutcome {
  readonly customId: string;
  readonly resultId: string;
  readonly response?:
    | {
        readonly statusCode: number;
        readonly requestId: string;
        readonly body: NonNullable<BatchResultItem['response']>['body'];
      }
    | undefined;
  readonly error?: BatchResultItem['error'] | undefined;
}

/** A batch as callers see it, without its results (contract: batch resource; gaps 8.3). */
export function wireBatch(record: BatchRecord): Batch {
  const { id, endpoint, model, status, counts, expiresAt, finalizedAt } = record;
  return {
    id,
    object: 'batch',
    endpoint,
    model,
    completion_window: '24h',
    status,
    created_at: seconds(record.createdAt),
    finalized_at: finalizedAt === undefined || !isTerminal(status) ? null : seconds(finalizedAt),
    expires_at: expiresAt === undefined ? null : seconds(expiresAt),
    provider: record.provider ?? null,
    request_counts: { total: counts.total, completed: counts.completed, failed: counts.failed },
    usage: record.usage ?? null,
    results: null,
    error: record.error ?? null,
  };
}

/** One outcome as callers see it (contract: batch result item; gaps 8.5). */
export function wireResult({ customId, resultId, response, error }: ShownOutcome): BatchResultItem {
  return {
    id: resultId,
    custom_id: customId,
    response:
      response === undefined
        ? null
        : { status_code: response.statusCode, request_id: response.requestId, body: response.body },
    error: error ?? null,
  };
}

function seconds(milliseconds: number): number {
  return Math.floor(milliseconds / 1_000);
}
