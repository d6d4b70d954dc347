import { failure } from '../../core/fallback/failure.ts';
import { isJsonObject, type JsonObject } from '../../protocol/json.ts';
import type { NativeResult } from '../native-batches.ts';
import { type ErrorContext, failureOfResponse } from '../upstream-failure.ts';

/** The code of a request that was not run because its batch was cancelled. */
const CANCELLED = 1;

/** Statuses of HTTP for the codes of Google's own errors (upstreams 5.6). Others are faults of the server. */
const STATUS_OF_CODE: Readonly<Record<number, number>> = {
  3: 400,
  4: 504,
  5: 404,
  7: 403,
  8: 429,
  9: 400,
  11: 400,
  14: 503,
  16: 401,
};

/** Reads a line of results; undefined for one that names no request. */
export function resultOfLine(line: JsonObject, context: ErrorContext): NativeResult | undefined {
  const { key: id, response, error } = line;
  if (typeof id !== 'string') return undefined;
  if (isJsonObject(response)) return { id, type: 'answered', body: JSON.stringify(response) };
  if (!isJsonObject(error)) return { id, type: 'failed', failure: UNANSWERED };
  const { code } = error;
  if (code === CANCELLED) return { id, type: 'cancelled' };
  const status = (typeof code === 'number' ? STATUS_OF_CODE[code] : undefined) ?? 500;
  const body = JSON.stringify({ error: { ...error, code: status } });
  return { id, type: 'failed', failure: failureOfResponse(status, () => undefined, body, context) };
}

const UNANSWERED = failure('bad_response', 'The provider ended the batch without an answer to this request');
