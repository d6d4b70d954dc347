import { isJsonObject } from '../protocol/json.ts';

/** What can be read from the error bodies of all known providers. */
export interface ErrorShape {
  readonly message?: string | undefined;
  readonly code?: string | undefined;
  readonly type?: string | undefined;
  /** A numeric code from 400 to 599 in the body, which some servers send with HTTP 200. */
  readonly status?: number | undefined;
}

/**
 * Reads an error body in any of the forms that are in use: `{error: {...}}`, `{error: "text"}`, `[{error}]`,
 * `{object: "error", ...}`, `{fault: {...}}`, `{detail: [...]}`, `{message}`, or plain text.
 */
export function readErrorShape(body: unknown): ErrorShape {
  if (typeof body === 'string') return { message: body };
  if (Array.isArray(body)) return readErrorShape(body[0]);
  if (!isJsonObject(body)) return {};
  const { error, fault, detail } = body;
  if (typeof error === 'string') return { ...readMembers(body), message: error };
  if (isJsonObject(error)) return readMembers(error);
  if (isJsonObject(fault)) return { message: text(fault['faultstring']), code: errorCodeOf(fault['detail']) };
  if (Array.isArray(detail)) return { message: text(isJsonObject(detail[0]) ? detail[0]['msg'] : undefined) };
  if (typeof detail === 'string') return { message: detail };
  return readMembers(body);
}

/** True when a body that came with a good status is an error all the same. */
export function isErrorBody(body: unknown): boolean {
  if (Array.isArray(body)) return body.length > 0 && isErrorBody(body[0]);
  if (!isJsonObject(body) || 'choices' in body) return false;
  return (body['error'] != null && body['error'] !== false) || body['object'] === 'error';
}

function readMembers(members: Readonly<Record<string, unknown>>): ErrorShape {
  const { message, code, type, status, statusCode } = members;
  const inner = isJsonObject(members['innererror']) ? text(members['innererror']['code']) : undefined;
  return {
    message: text(message),
    code: [text(code), inner].filter((part) => part !== undefined).join(' ') || undefined,
    type: text(type) ?? text(status),
    status: statusOf(code) ?? statusOf(statusCode) ?? statusOf(status),
  };
}

function errorCodeOf(detail: unknown): string | undefined {
  return isJsonObject(detail) ? text(detail['errorcode']) : undefined;
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function statusOf(value: unknown): number | undefined {
  const number = typeof value === 'string' && /^\d{3}$/.test(value) ? Number(value) : value;
  return typeof number === 'number' && Number.isInteger(number) && number >= 400 && number <= 599 ? number : undefined;
}
