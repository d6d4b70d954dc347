import type { BatchItemError } from '../../protocol/batch.ts';
import type { ErrorType } from '../../protocol/error.ts';

/** An error of a request, as far as a batch tells of it. */
export interface ItemFailure {
  /** HTTP status that the request would have been answered with. */
  readonly status: number;
  readonly errorType: ErrorType;
  readonly message: string;
  /** Where in the body the mistake is. */
  readonly path?: string | undefined;
}

/** Broad kinds of errors, by the names that clients of batches know. */
const KINDS: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  402: 'insufficient_quota',
  403: 'permission_error',
  404: 'not_found_error',
  408: 'timeout_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  503: 'overloaded_error',
  524: 'timeout_error',
  529: 'overloaded_error',
};

/** Statuses after which the same request may work later. Others are answers that stay as they are. */
const TRANSIENT: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 524, 529]);

/** What stands in the result of a request that failed (contract: batch result item; gaps 8.5). */
export function itemError({ status, errorType, message, path }: ItemFailure): BatchItemError {
  const type = KINDS[status] ?? (status >= 500 ? 'server_error' : 'invalid_request_error');
  return { message, param: path === undefined || path === '' ? null : path, type, error_type: errorType };
}

/** True when a request that failed like this is worth another try. */
export function isTransient(status: number, retryable: boolean | undefined): boolean {
  return retryable !== false && TRANSIENT.has(status);
}

/** The outcome of requests that did not run before the batch's time was over. */
export const EXPIRED_ITEM: BatchItemError = {
  message: 'The batch expired before this request was completed',
  param: null,
  type: null,
  error_type: 'batch_expired',
};

/** The outcome of requests that did not run before the batch was cancelled. */
export const CANCELLED_ITEM: BatchItemError = {
  message: 'The batch was cancelled before this request was completed',
  param: null,
  type: null,
  error_type: 'batch_cancelled',
};

/** The outcome of a request that brought down whoever ran it, time and again. */
export const POISONED_ITEM: BatchItemError = {
  message: 'This request was started several times and never came to an end',
  param: null,
  type: 'server_error',
  error_type: 'server',
};

/** The outcome of a request that a provider's own batch API took and never gave back. */
export const MISSING_ITEM: BatchItemError = {
  message: 'The provider ended its batch without an answer to this request',
  param: null,
  type: 'server_error',
  error_type: 'provider_unavailable',
};
