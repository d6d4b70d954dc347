/** The ways in which single calls of a simulated endpoint fail, and what a router and other programs read of each. */
import { type AttemptFailure, failure, FAILURE_RULES } from '../../contracts/failure.ts';
import { failedReply } from '../../contracts/provider.ts';
import type { PieceStream, ProviderReply } from '../../contracts/provider-reply.ts';
import type { StreamPiece } from '../../contracts/stream-piece.ts';
import { RouterError } from '../../protocol/router-error.ts';
import { failureInBand, failureOfResponse } from '../../providers/upstream-failure.ts';
import type { SimulatedAdvice, SimulatedFault } from './world.ts';

/** Response headers, by lower-case name. */
type Headers = Readonly<Record<string, string>>;

/** A response with an error status, as it comes over the wire. */
export interface RefusedResponse {
  readonly status: number;
  readonly headers: Headers;
}

/** The headers in which a provider says when to come back. */
export function adviceHeaders({ form, ms }: SimulatedAdvice, wallClock: number): Headers {
  switch (form) {
    case 'milliseconds':
      return { 'retry-after-ms': String(Math.round(ms)) };
    case 'decimals':
      return { 'retry-after': (ms / 1_000).toFixed(2) };
    case 'date':
      return { 'retry-after': new Date(Math.ceil((wallClock + ms) / 1_000) * 1_000).toUTCString() };
    case 'seconds':
      return { 'retry-after': String(Math.ceil(ms / 1_000)) };
  }
}

/** What the bodies of some statuses call their error, in words that providers use. */
const ERROR_TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  408: 'request_timeout',
  409: 'conflict',
  429: 'rate_limit_error',
  529: 'overloaded_error',
};

/** A response with an error status, as the codecs of a router classify it. */
export function readByRouter({ status, headers }: RefusedResponse, wallClock: number): AttemptFailure {
  const error = { message: 'The endpoint did not answer this call', type: ERROR_TYPES[status] ?? 'server_error' };
  const context = { secrets: [], wallClock };
  return failureOfResponse(status, (name) => headers[name], JSON.stringify({ error }), context);
}

/** The same, as client libraries read it: the status as it is, and any number or date in the headers. */
export function readByClient({ status, headers }: RefusedResponse, wallClock: number): RouterError {
  const milliseconds = Number.parseFloat(headers['retry-after-ms'] ?? '');
  const value = headers['retry-after'];
  const seconds = Number.parseFloat(value ?? '');
  const dated = value === undefined ? Number.NaN : Date.parse(value) - wallClock;
  const found = [milliseconds, seconds * 1_000, dated].find((ms) => !Number.isNaN(ms));
  return new RouterError({
    status,
    errorType: 'provider_unavailable',
    message: 'The endpoint did not answer this call',
    retryAfterMs: found,
  });
}

/** Name in the metadata of what a direct client throws, where the failure came with status 200. */
export const IN_BAND = 'in_band';

/** The metadata of such an error. */
export const CAME_IN_BAND = { [IN_BAND]: true };

/** A failure without an error status, as client libraries meet it: in a connection, or in a response that began well. */
export function thrownByClient(
  { kind, message, status, retryAfterMs }: AttemptFailure,
  metadata: RouterError['metadata'] = {},
): RouterError {
  const { status: usual, errorType } = FAILURE_RULES[kind];
  return new RouterError({ status: status ?? usual, errorType, message, retryAfterMs, metadata });
}

const RESET = failure('connection', 'The connection was reset before anything had come');
const EMPTY = failure('bad_response', 'The provider sent an empty answer');

/** Whether a failure comes in a response whose status is 200. */
export function isInBand(fault: SimulatedFault): boolean {
  return fault === 'empty' || fault === 'error in a 200';
}

/** The reply to a call that fails so; undefined for one that never comes, and for a status, which has headers of its own. */
export function replyOf(
  fault: SimulatedFault,
  { stream = false }: { readonly stream?: boolean | undefined },
  wallClock: number,
): ProviderReply | undefined {
  switch (fault) {
    case 'reset':
      return failedReply(RESET);
    case 'empty':
      return stream ? { type: 'stream', stream: streamOf([]) } : failedReply(EMPTY);
    case 'error in a 200': {
      const error = { message: 'The server had an error while it processed your request', type: 'server_error' };
      const failed = failureInBand({ error }, { secrets: [], wallClock });
      return stream
        ? { type: 'stream', stream: streamOf([{ type: 'failure', failure: failed }]) }
        : failedReply(failed);
    }
    default:
      return undefined;
  }
}

/** A stream of these pieces, which come at once. */
export function streamOf(pieces: readonly StreamPiece[]): PieceStream {
  let isOver = pieces.length === 0;
  return {
    read: () => {
      if (isOver) return Promise.resolve(undefined);
      isOver = true;
      return Promise.resolve(pieces);
    },
    cancel: () => {},
  };
}
