import { isJsonObject, type JsonObject } from '../protocol/json.ts';
import * as read from '../platform/json.ts';

/** What can be read from the error bodies of all known providers. */
export interface ErrorShape {
  readonly message?: string | undefined;
  readonly code?: string | undefined;
  readonly type?: string | undefined;
  /** The parameter that it is about, as a member beside the message names it. */
  readonly parameter?: string | undefined;
  /** Codes from deeper inside, such as Azure's inner error or the reasons in Google's details. */
  readonly reasons?: readonly string[] | undefined;
  /** A numeric code from 400 to 599 in the body, which some servers send with HTTP 200. */
  readonly status?: number | undefined;
  /** When to come back, in the words of Google's `RetryInfo`: `27s`. */
  readonly retryDelay?: string | undefined;
  /** Ids of the quotas that are used up, as Google names them. */
  readonly quotas?: readonly string[] | undefined;
}

/**
 * Reads an error body in any of the forms that are in use: `{error: {...}}`, `{error: "text"}`, `[{error}]`,
 * `{object: "error", ...}`, `{fault: {...}}`, `{detail: [...]}`, `{errors: [...]}`, `{message}`, or plain text.
 */
export function readErrorShape(body: unknown): ErrorShape {
  if (typeof body === 'string') return { message: body };
  if (Array.isArray(body)) return readErrorShape(body[0]);
  if (!isJsonObject(body)) return {};
  const { error, errors, fault, detail } = body;
  if (typeof error === 'string') return { ...readMembers(body), message: error };
  if (isJsonObject(error)) return readMembers(error);
  if (isJsonObject(fault)) return { message: read.text(fault['faultstring']), code: errorCode(fault['detail']) };
  if (Array.isArray(detail)) return readDetails(detail);
  if (isJsonObject(detail)) return readMembers(detail);
  if (typeof detail === 'string') return { message: detail };
  if (Array.isArray(errors) && errors.length > 0) return readErrorShape({ error: errors[0] ?? '' });
  return readMembers(body);
}

/** What frameworks of servers say of each place in a body; of several places, none is the one. */
function readDetails([first, ...others]: readonly unknown[]): ErrorShape {
  if (!isJsonObject(first)) return {};
  const { msg, loc } = first;
  const isAtTop = others.length === 0 && Array.isArray(loc) && loc.length === 2 && loc[0] === 'body';
  return { message: read.text(msg), parameter: isAtTop ? read.text(loc[1]) : undefined };
}

/** True when a body that came with a good status is an error all the same. */
export function isErrorBody(body: unknown): boolean {
  if (Array.isArray(body)) return body.length > 0 && isErrorBody(body[0]);
  if (!isJsonObject(body) || 'choices' in body) return false;
  return isError(body['error']) || body['object'] === 'error';
}

/** True for the value of an `error` member that is an error: some servers send it empty when all is well. */
export function isError(error: unknown): boolean {
  if (typeof error === 'string') return error !== '';
  return isJsonObject(error) ? Object.keys(error).length > 0 : error != null && error !== false;
}

function readMembers(members: JsonObject): ErrorShape {
  const { code, type, status, statusCode, details, innererror } = members;
  const known = read.objects(details);
  const reasons = [...known.map(({ reason }) => reason), isJsonObject(innererror) ? innererror['code'] : undefined];
  return {
    // Services of AWS write it either way, and their type with underscores.
    message: read.text(members['message']) ?? read.text(members['Message']),
    // Anthropic tells apart what its types do not under `details`.
    code: read.text(code) ?? (isJsonObject(details) ? read.text(details['error_code']) : undefined),
    parameter: read.text(members['param']) ?? read.text(members['parameter']),
    type: read.text(type) ?? read.text(status) ?? read.text(members['__type']),
    reasons: reasons.map(read.text).filter((reason) => reason !== undefined),
    status: statusOf(code) ?? statusOf(statusCode) ?? statusOf(status),
    retryDelay: read.text(known.find((detail) => 'retryDelay' in detail)?.['retryDelay']),
    quotas: known.flatMap(({ violations }) => quotasOf(violations)),
  };
}

function quotasOf(violations: unknown): readonly string[] {
  const known = read.objects(violations);
  return known.map(({ quotaId }) => read.text(quotaId)).filter((id) => id !== undefined);
}

function errorCode(detail: unknown): string | undefined {
  return isJsonObject(detail) ? read.text(detail['errorcode']) : undefined;
}

function statusOf(value: unknown): number | undefined {
  const number = typeof value === 'string' && /^\d{3}$/.test(value) ? Number(value) : value;
  return typeof number === 'number' && Number.isInteger(number) && number >= 400 && number <= 599 ? number : undefined;
}
