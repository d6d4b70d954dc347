import { type AttemptFailure, failure } from '../core/fallback/failure.ts';
import { type TransportResponse, readStart } from './transport/transport.ts';
import { type ErrorContext, failureOfResponse } from './upstream-failure.ts';

/** Bytes of an error body that are read: an error that needs more is a page of somebody else's. */
const MAX_ERROR_BYTES = 64 * 1024;

/** The failure that a status tells of. An error body that cannot be read must not hide it. */
export async function readFailedStatus(
  response: TransportResponse,
  context: ErrorContext,
): Promise<AttemptFailure | undefined> {
  const { status } = response;
  if (status === 200 || status === 201) return undefined;
  if (status >= 200 && status < 300) {
    response.cancel();
    return failure('bad_response', `The provider answered ${status} without an answer in it`, { status });
  }
  const body = await readStart(response, MAX_ERROR_BYTES);
  return failureOfResponse(response.status, (name) => response.header(name), body, context);
}
