/** Writes batches and their results as the API shows them. */
import type {
  Batch,
  BatchErrors,
  BatchResultItem,
  BatchStatus,
  BatchWarning,
  BatchWebhook,
} from '../../protocol/batch.ts';
import { isTerminal } from './machine.ts';
import type { BatchRecord, WebhookState, OutputKind, BatchFault } from '../../contracts/batch-record.ts';

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

/**
 * A batch as callers see it, without its results (contract: batch resource; gaps 8.3).
 *
 * @param unclaimedMs - Milliseconds for which batches have waited without a worker; undefined where one works.
 */
export function wireBatch(record: BatchRecord, unclaimedMs?: number): Batch {
  const { id, endpoint, model, status, counts, expiresAt, finalizedAt, error } = record;
  const finalized = finalizedAt === undefined || !isTerminal(status) ? null : unixSeconds(finalizedAt);
  const endedAs = (end: BatchStatus): number | null => (status === end ? finalized : null);
  // It may be known before the batch has failed of it.
  const fault = status === 'failed' ? error : undefined;
  return {
    id,
    object: 'batch',
    endpoint,
    model,
    completion_window: '24h',
    status,
    created_at: unixSeconds(record.createdAt),
    finalized_at: finalized,
    expires_at: expiresAt === undefined ? null : unixSeconds(expiresAt),
    provider: record.provider ?? null,
    request_counts: { total: counts.total, completed: counts.completed, failed: counts.failed },
    usage: record.usage ?? null,
    results: null,
    error: fault === undefined ? null : { message: fault.message },
    errors: fault === undefined ? null : errorsOf(fault),
    input_file_id: record.inputFileId ?? null,
    output_file_id: outputFileId(record, 'output') ?? null,
    error_file_id: outputFileId(record, 'errors') ?? null,
    completed_at: endedAs('completed'),
    failed_at: endedAs('failed'),
    expired_at: endedAs('expired'),
    cancelled_at: endedAs('cancelled'),
    webhook: record.webhook === undefined ? null : wireWebhook(record.webhook),
    metadata: record.metadata ?? null,
    warnings: unclaimedMs === undefined || status !== 'validating' ? null : [unclaimed(unclaimedMs)],
  };
}

function unclaimed(ms: number): BatchWarning {
  const message = `No process has begun to run batches for ${Math.floor(ms / 1_000)} seconds; this one runs when a worker is there`;
  return { code: 'batch_unclaimed', message };
}

function wireWebhook({ status, tries, attempts, nextAt }: WebhookState): BatchWebhook {
  return {
    status,
    tries,
    attempts: attempts.map(({ at, status: code }) => ({ at: unixSeconds(at), status_code: code ?? null })),
    next_attempt_at: nextAt === undefined ? null : unixSeconds(nextAt),
  };
}

/** One outcome as callers see it (contract: batch result item; gaps 8.5). */
export function wireResult({ customId, resultId, response, error }: ShownOutcome): BatchResultItem {
  return {
    id: resultId,
    custom_id: customId,
    response: response
      ? { status_code: response.statusCode, request_id: response.requestId, body: response.body }
      : null,
    error: error ?? null,
  };
}

/** One line of a file of a batch (upstreams 5.1), with what `results` says besides. */
export function outputLine(outcome: ShownOutcome): string {
  const { error, ...result } = wireResult(outcome);
  const code = error?.error_type ?? error?.type ?? 'error';
  return `${JSON.stringify({ ...result, error: error === null ? null : { code, ...error } })}\n`;
}

function errorsOf({ message, param, line }: BatchFault): BatchErrors {
  const one = { code: 'invalid_request', message, param: param ?? null, line: line ?? null };
  return { object: 'list', data: [one] };
}

/** Unix seconds, as the wire has them. */
export function unixSeconds(milliseconds: number): number {
  return Math.floor(milliseconds / 1_000);
}

const PREFIX = 'batch_';

/**
 * Id of a file of a batch; undefined where nothing is in it. Such a file is not stored: it is written from the outcomes
 * of the batch whenever somebody reads it.
 */
export function outputFileId({ id, status, counts }: BatchRecord, kind: OutputKind): string | undefined {
  const lines = kind === 'output' ? counts.completed : counts.failed;
  return isTerminal(status) && lines > 0 ? `file-${kind}-${id.slice(PREFIX.length)}` : undefined;
}

/** The batch whose file this is; undefined for an id of another kind. */
export function batchOfFile(fileId: string): { readonly batchId: string; readonly kind: OutputKind } | undefined {
  const [, kind, name] = /^file-(output|errors)-(.*)$/s.exec(fileId) ?? [];
  return kind === undefined ? undefined : { batchId: `${PREFIX}${name}`, kind: kind as OutputKind };
}

/** A fault of a request as one of the line that it came in; requests are lines, from the first on. */
export function faultOfLine(message: string): BatchFault {
  const found = /^requests\[(\d+)\](?:\.([^\s:]+))?/.exec(message);
  if (found === null) return { message };
  const [whole, index, param] = found;
  const line = Number(index) + 1;
  const rest = message
    .slice(whole.length)
    .replaceAll(/requests\[(\d+)\]/g, (_, other: string) => `line ${Number(other) + 1}`);
  return { message: param === undefined ? `Line ${line}${rest}` : `Line ${line}: ${param}${rest}`, line, param };
}
