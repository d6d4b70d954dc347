import type { ErrorType } from '../../../protocol/error.ts';
import type { JsonObject } from '../../../protocol/json.ts';
import type { MessagesErrorBody, MessagesErrorType } from '../../../protocol/messages/messages-result.ts';
import { THREAD_PATH } from '../../../protocol/dialect.ts';
import type { DialectError, DialectErrors } from '../dialect.ts';

/** Types of this wire by our own (gaps 7.3). All others go by the status. */
const TYPES: Readonly<Partial<Record<ErrorType, MessagesErrorType>>> = {
  authentication: 'authentication_error',
  permission_denied: 'permission_error',
  payment_required: 'billing_error',
  not_found: 'not_found_error',
  image_not_found: 'not_found_error',
  payload_too_large: 'request_too_large',
  rate_limit_exceeded: 'rate_limit_error',
  provider_overloaded: 'overloaded_error',
  timeout: 'timeout_error',
};

/** The HTTP status that clients of this wire expect (upstreams 2.14): they tell errors apart by it. */
export function messagesStatus({ status, detail }: Pick<DialectError, 'status' | 'detail'>): number {
  if (status === 422) return 400;
  if (status === 524) return 504;
  return status === 503 && detail.metadata?.error_type === 'provider_overloaded' ? 529 : status;
}

/** Writes an error in the envelope of this wire. Whatever else the router knows is beside the message. */
export function messagesError({ status, detail, metadata, requestId }: DialectError): JsonObject {
  const { message, availability, metadata: facts } = detail;
  const { error_type: cause, ...known } = facts ?? { error_type: undefined };
  const body: MessagesErrorBody = {
    type: 'error',
    error: {
      type: typeOf(cause, status),
      message,
      ...(facts?.['path'] === THREAD_PATH ? { details: NO_THREADS } : {}),
      ...(cause === undefined ? {} : { error_type: cause }),
      ...(availability === undefined ? {} : { availability }),
      ...(facts === undefined || Object.keys(known).length === 0 ? {} : { metadata: facts }),
    },
    request_id: requestId ?? null,
    ...(metadata === undefined ? {} : { router_metadata: metadata }),
  };
  return body as unknown as JsonObject;
}

/** With this, clients send the whole conversation instead of what is new in it. */
const NO_THREADS = { error_code: 'thread_unsupported_request', unsupported: [THREAD_PATH] } as const;

function typeOf(cause: ErrorType | undefined, status: number): MessagesErrorType {
  const own = cause === undefined ? undefined : TYPES[cause];
  if (own !== undefined) return own;
  if (status === 409) return 'conflict_error';
  return status >= 400 && status < 500 ? 'invalid_request_error' : 'api_error';
}

/** Errors of Anthropic's Messages (gaps 7.3; upstreams 2.14). */
export const MESSAGES_ERRORS: DialectErrors = {
  name: 'messages',
  requestIdHeader: 'request-id',
  error: messagesError,
  status: messagesStatus,
};
