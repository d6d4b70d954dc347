import { failure } from '../../core/fallback/failure.ts';
import { isJsonObject, type JsonObject } from '../../protocol/json.ts';
import type { NativeResult } from '../native-batches.ts';
import { type ErrorContext, failureInBand } from '../upstream-failure.ts';

/** Reads a line of results (upstreams 5.6); undefined for one that names no request. */
export function resultOfLine(line: JsonObject, context: ErrorContext): NativeResult | undefined {
  const { custom_id: id, result } = line;
  if (typeof id !== 'string') return undefined;
  const { type, message, error } = isJsonObject(result) ? result : {};
  switch (type) {
    case 'succeeded':
      return { id, type: 'answered', body: JSON.stringify(message ?? null) };
    case 'errored':
      return { id, type: 'failed', failure: failureInBand(error, context) };
    case 'canceled':
      return { id, type: 'cancelled' };
    case 'expired':
      return { id, type: 'expired' };
    default:
      return { id, type: 'failed', failure: UNKNOWN };
  }
}

const UNKNOWN = failure('bad_response', 'The provider sent an outcome of this request that nobody knows');
