/** Turns whatever was thrown into an error response. */
import type { ApiFormatErrors } from '../formats/api-format.ts';
import { OWN_RATE_LIMIT } from '../core/limits/limit-errors.ts';
import { RouterError } from '../protocol/router-error.ts';
import type { ErrorBody, ErrorType } from '../protocol/error.ts';
import { isJsonObject } from '../protocol/json.ts';
import { errorOfUnknown } from '../runtime/chat/router-errors.ts';
import { spell, type Spelling } from './spelling.ts';
import type { HttpHeaders, CompleteReply } from '../contracts/exchange.ts';
import { describeMissing } from './not-found.ts';
import { apiFormatAt } from './routes.ts';

/** What an error answer depends on besides the error. */
export interface ErrorReplyContext {
  readonly spelling: Spelling;
  readonly wantsMetadata: boolean;
  /** Headers of every answer. */
  readonly headers: HttpHeaders;
  /** Shape of the call, if it is not chat: errors have that shape too. */
  readonly apiFormat?: ApiFormatErrors | undefined;
  /** Account id, once it is known. */
  readonly account?: string | undefined;
}

/** Turns whatever was thrown into an error answer (contract: errors; gaps 7). */
export function errorReply(thrown: unknown, context: ErrorReplyContext): CompleteReply {
  const error = errorOfUnknown(thrown);
  const { status, body } = statusAndBody(error, context);
  return {
    type: 'whole',
    status,
    headers: { ...context.headers, ...errorHeaders(error), 'content-type': 'application/json' },
    body: JSON.stringify(spell(body, context.spelling)),
  };
}

function statusAndBody(
  error: RouterError,
  { apiFormat, wantsMetadata, account, headers }: ErrorReplyContext,
): { readonly status: number; readonly body: object } {
  const body = errorBody(error, { wantsMetadata });
  if (apiFormat === undefined) return { status: error.status, body: { ...body, user_id: account ?? null } };
  const { error: detail, router_metadata: metadata } = body;
  const wrapped = { status: error.status, detail, metadata, requestId: headers['x-request-id'] };
  return { status: apiFormat.status?.(wrapped) ?? error.status, body: apiFormat.error(wrapped) };
}

/**
 * An error answer for what goes wrong in a host before the router is called.
 *
 * @param path - Path below the mount; the answer has the shape that callers of this path expect. Default: that of chat.
 */
export function errorReplyOf(status: number, message: string, path?: string): CompleteReply {
  const error = new RouterError({ status, errorType: TYPE_OF_STATUS[status] ?? 'invalid_request', message });
  const apiFormat = path === undefined ? undefined : apiFormatAt(path);
  return errorReply(error, { spelling: NEUTRAL, wantsMetadata: false, headers: {}, apiFormat });
}

/**
 * The answer to a request for a path that does not exist, where no host goes on.
 *
 * @param request - What was called, and where the router is. Default: unknown.
 */
export function notFoundReply(request?: {
  readonly method: string;
  /** Path as it was called, without the query. */
  readonly path: string;
  /** Path of the mount, without a slash at its end. */
  readonly mount: string;
}): CompleteReply {
  if (request === undefined) return errorReplyOf(404, 'There is nothing at this path');
  return errorReplyOf(404, describeMissing(request.method, request.path, request.mount));
}

const TYPE_OF_STATUS: Readonly<Record<number, ErrorType>> = {
  401: 'authentication',
  402: 'payment_required',
  403: 'permission_denied',
  404: 'not_found',
  408: 'timeout',
  413: 'payload_too_large',
  422: 'unprocessable',
  429: 'rate_limit_exceeded',
  500: 'server',
};

const NEUTRAL: Spelling = { metadataField: 'router_metadata', processing: '', headers: 'x-router' };

/** The body of an error. A 500 is masked: what failed inside is nobody's business outside. */
export function errorBody(error: RouterError, { wantsMetadata }: { readonly wantsMetadata: boolean }): ErrorBody {
  const shown = wantsMetadata && error.status !== 500 ? error.routerMetadata : undefined;
  return { error: error.toDetail(), ...(shown === undefined ? {} : { router_metadata: shown }) };
}

/** Seconds that a caller should wait, as HTTP wants them. */
function retryAfterSeconds(ms: number): string {
  return String(Math.max(0, Math.ceil(ms / 1_000)));
}

/** The headers that `metadata` repeats (gaps 7.6). Those of a provider are about our account with it. */
function ownRateLimit({ limit_source: source, headers }: RouterError['metadata']): HttpHeaders {
  if (source !== OWN_RATE_LIMIT || !isJsonObject(headers)) return {};
  const shown = Object.entries(headers).flatMap(([name, value]) =>
    typeof value === 'string' ? [[name.toLowerCase(), value] as const] : [],
  );
  return Object.fromEntries(shown);
}

function errorHeaders(error: RouterError): HttpHeaders {
  return {
    ...(error.generationId === undefined ? {} : { 'x-generation-id': error.generationId }),
    ...(error.retryAfterMs === undefined ? {} : { 'retry-after': retryAfterSeconds(error.retryAfterMs) }),
    ...ownRateLimit(error.metadata),
    ...(error.retryable === undefined ? {} : { 'x-should-retry': String(error.retryable) }),
  };
}
