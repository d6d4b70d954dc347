/** Errors as the API shows them, and their types. */
import type { JsonValue } from './json.ts';
import type { RouterMetadata } from './metadata.ts';

/** Typed cause of an error (gaps 7.3). */
export const ERROR_TYPES = [
  'context_length_exceeded',
  'max_tokens_exceeded',
  'token_limit_exceeded',
  'string_too_long',
  'authentication',
  'permission_denied',
  'payment_required',
  'rate_limit_exceeded',
  'provider_overloaded',
  'provider_unavailable',
  'invalid_request',
  'invalid_prompt',
  'not_found',
  'precondition_failed',
  'payload_too_large',
  'unprocessable',
  'content_policy_violation',
  'refusal',
  'invalid_image',
  'image_too_large',
  'image_too_small',
  'unsupported_image_format',
  'image_not_found',
  'image_download_failed',
  'schema_mismatch',
  'server',
  'timeout',
  'unmapped',
] as const;

/** Typed cause of an error. */
export type ErrorType = (typeof ERROR_TYPES)[number];

/** Why no endpoint could serve a request (gaps 7.4). */
export type AvailabilityCode =
  | 'model_not_found'
  | 'wrong_endpoint'
  | 'no_endpoints'
  | 'model_deprecated'
  | 'model_unavailable_upstream'
  | 'capacity_exhausted'
  | 'temporarily_unavailable'
  | 'region_restricted'
  | 'privacy_restricted'
  | 'constraint_filtered'
  | 'free_variant_ended';

/** Details of a routing failure (gaps 7.4). */
export interface Availability {
  readonly code: AvailabilityCode;
  /** Whether the same request may succeed later. */
  readonly retryable: boolean;
  readonly requested_models: readonly string[];
  readonly docs_url: string;
  /** Seconds, or null when unknown. */
  readonly retry_after?: number | null;
  readonly affected_providers?: readonly string[];
  readonly fallback_models?: readonly string[];
  /** Which rules left endpoints out, for example `max_price` or `data_policy:zdr`. */
  readonly excluded_by?: readonly string[];
  readonly constraint?: { readonly field: string; readonly detail: string };
}

/** Context of an error (gaps 7.1). */
export interface ErrorMetadata {
  readonly error_type: ErrorType;
  readonly [key: string]: JsonValue | undefined;
}

/** The error itself. `code` equals the HTTP status. */
export interface ErrorDetail {
  readonly code: number;
  readonly message: string;
  readonly metadata?: ErrorMetadata;
  readonly error_type?: ErrorType;
  readonly http_status?: number;
  readonly availability?: Availability;
}

/** Body of every error answer (contract: errors). */
export interface ErrorBody {
  readonly error: ErrorDetail;
  readonly router_metadata?: RouterMetadata;
  readonly user_id?: string | null;
  readonly [extra: string]: unknown;
}
