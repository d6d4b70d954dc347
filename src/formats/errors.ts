/** Writes errors in the envelope of each API format. */
import { type ApiFormatName, THREAD_PATH } from '../protocol/api-format.ts';
import type { ApiFormatError, ApiFormatErrors } from './api-format.ts';
import type { ErrorType } from '../protocol/error.ts';
import type { JsonObject, JsonValue } from '../protocol/json.ts';
import type { MessagesErrorBody, MessagesErrorType } from './messages/protocol/messages-result.ts';

/** Types of Messages by our own (gaps 7.3). All others go by the status. */
const MESSAGES_TYPES: Readonly<Partial<Record<ErrorType, MessagesErrorType>>> = {
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

/** The HTTP status that clients of Messages expect (upstreams 2.14): they tell errors apart by it. */
export function messagesStatus({ status, detail }: Pick<ApiFormatError, 'status' | 'detail'>): number {
  if (status === 422) return 400;
  if (status === 524) return 504;
  return status === 503 && detail.metadata?.error_type === 'provider_overloaded' ? 529 : status;
}

/** Writes an error in the envelope of Messages. Whatever else the router knows is beside the message. */
export function messagesError({ status, detail, metadata, requestId }: ApiFormatError): JsonObject {
  const { message, availability, metadata: facts } = detail;
  const { error_type: cause, ...known } = facts ?? { error_type: undefined };
  const body: MessagesErrorBody = {
    type: 'error',
    error: {
      type: messagesTypeOf(cause, status),
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

function messagesTypeOf(cause: ErrorType | undefined, status: number): MessagesErrorType {
  const others = status >= 400 && status < 500 ? 'invalid_request_error' : 'api_error';
  return (cause && MESSAGES_TYPES[cause]) ?? (status === 409 ? 'conflict_error' : others);
}

/** Errors of Anthropic's Messages (gaps 7.3; upstreams 2.14). */
export const MESSAGES_ERRORS: ApiFormatErrors = {
  name: 'messages',
  requestIdHeader: 'request-id',
  error: messagesError,
  status: messagesStatus,
};

/** Codes that Responses has for causes of errors; all others are `server_error` (gaps 7.3). */
const RESPONSES_CODES: Readonly<Partial<Record<ErrorType, string>>> = {
  rate_limit_exceeded: 'rate_limit_exceeded',
  context_length_exceeded: 'invalid_prompt',
  invalid_request: 'invalid_prompt',
  invalid_prompt: 'invalid_prompt',
  content_policy_violation: 'image_content_policy_violation',
  invalid_image: 'invalid_image',
  image_too_large: 'image_too_large',
  image_too_small: 'image_too_small',
  unsupported_image_format: 'unsupported_image_media_type',
  image_not_found: 'image_file_not_found',
  image_download_failed: 'failed_to_download_image',
};

/** Causes that Responses reports as a response that ended early (gaps 7.3). */
const LENGTH_ERRORS: ReadonlySet<ErrorType> = new Set([
  'context_length_exceeded',
  'max_tokens_exceeded',
  'token_limit_exceeded',
  'string_too_long',
]);

/** The precise cause of an error. */
export function errorTypeOf({ detail }: ApiFormatError): ErrorType {
  return detail.metadata?.error_type ?? detail.error_type ?? 'unmapped';
}

/** True for an error that Responses reports as an incomplete response of length zero. */
export function isLengthError(error: ApiFormatError): boolean {
  return LENGTH_ERRORS.has(errorTypeOf(error));
}

/** The `error` member of a failed response of Responses. */
export function failureOf(error: ApiFormatError): JsonObject {
  return { code: RESPONSES_CODES[errorTypeOf(error)] ?? 'server_error', message: error.detail.message };
}

/**
 * The body of an error response: that of chat completions, with the members beside it that OpenAI's clients read
 * (contract: errors; gaps 7.1, 7.3).
 */
function responsesError(error: ApiFormatError): JsonObject {
  const { detail, metadata } = error;
  return {
    error: {
      ...(detail as unknown as JsonObject),
      type: typeOfStatus(error.status),
      param: detail.metadata?.['path'] ?? null,
    },
    error_type: errorTypeOf(error),
    ...(metadata === undefined ? {} : { router_metadata: metadata as unknown as JsonValue }),
  };
}

function typeOfStatus(status: number): string {
  if (status === 401) return 'authentication_error';
  if (status === 403) return 'permission_error';
  if (status === 429) return 'rate_limit_error';
  return status < 500 ? 'invalid_request_error' : 'server_error';
}

/** Errors of OpenAI's Responses (gaps 7.3). */
export const RESPONSES_ERRORS: ApiFormatErrors = { name: 'responses', error: responsesError };

/** Errors in each API format besides chat completions; known before the format itself is loaded. */
export const API_FORMAT_ERRORS: Readonly<Record<ApiFormatName, ApiFormatErrors>> = {
  messages: MESSAGES_ERRORS,
  responses: RESPONSES_ERRORS,
};
