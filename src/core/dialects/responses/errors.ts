import type { ErrorType } from '../../../protocol/error.ts';
import type { JsonObject, JsonValue } from '../../../protocol/json.ts';
import type { DialectError, DialectErrors } from '../dialect.ts';

/** Codes that this shape has for causes of errors; all others are `server_error` (gaps 7.3). */
const CODES: Readonly<Partial<Record<ErrorType, string>>> = {
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

/** Causes that this shape tells as an answer that ended early (gaps 7.3). */
const LENGTHS: ReadonlySet<ErrorType> = new Set([
  'context_length_exceeded',
  'max_tokens_exceeded',
  'token_limit_exceeded',
  'string_too_long',
]);

/** The precise cause of an error. */
export function errorTypeOf({ detail }: DialectError): ErrorType {
  return detail.metadata?.error_type ?? detail.error_type ?? 'unmapped';
}

/** True for an error that is an answer of length zero here. */
export function isLengthError(error: DialectError): boolean {
  return LENGTHS.has(errorTypeOf(error));
}

/** The `error` member of an answer that failed. */
export function failureOf(error: DialectError): JsonObject {
  return { code: CODES[errorTypeOf(error)] ?? 'server_error', message: error.detail.message };
}

/**
 * The body of an error answer: that of chat completions, with the members beside it that OpenAI's clients read
 * (contract: errors; gaps 7.1, 7.3).
 */
function errorEnvelope(error: DialectError): JsonObject {
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
export const RESPONSES_ERRORS: DialectErrors = { name: 'responses', error: errorEnvelope };
