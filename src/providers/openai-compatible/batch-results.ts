import { type AttemptFailure, failure } from '../../core/fallback/failure.ts';
import { isJsonObject, type JsonObject } from '../../protocol/json.ts';
import { isError } from '../error-shape.ts';
import type { NativeResult } from '../native-batches.ts';
import { type ErrorContext, failureInBand, failureOfResponse } from '../upstream-failure.ts';

/** Codes of requests that a batch ended without. */
const ENDED_WITHOUT = { batch_expired: 'expired', batch_cancelled: 'cancelled' } as const;

/** Reads a line of a file of results (upstreams 5.6); undefined for one that names no request. */
export function resultOfLine(line: JsonObject, context: ErrorContext): NativeResult | undefined {
  const { custom_id: id, error, response } = line;
  if (typeof id !== 'string') return undefined;
  const code = isJsonObject(error) ? error['code'] : undefined;
  if (code === 'batch_expired' || code === 'batch_cancelled') return { id, type: ENDED_WITHOUT[code] };
  if (isError(error)) return { id, type: 'failed', failure: failureInBand({ error }, context) };
  if (!isJsonObject(response)) return { id, type: 'failed', failure: UNANSWERED };
  const { status_code: status, body } = response;
  if (typeof status === 'number' && status >= 200 && status < 300) {
    return { id, type: 'answered', body: JSON.stringify(body ?? null) };
  }
  return { id, type: 'failed', failure: failureOf(Number(status), body, context) };
}

const UNANSWERED = failure('bad_response', 'The provider ended the batch without an answer to this request');

/** A status of 0 stands for a request that never came to an answer. */
function failureOf(status: number, body: unknown, context: ErrorContext): AttemptFailure {
  if (status >= 300 && status <= 599) {
    const text = typeof body === 'string' ? body : JSON.stringify(body ?? {});
    return failureOfResponse(status, () => undefined, text, context);
  }
  return isJsonObject(body) && isError(body['error']) ? failureInBand(body, context) : UNANSWERED;
}
