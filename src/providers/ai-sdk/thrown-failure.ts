/** Turns what models of the AI SDK throw into failures. */
import type { JsonObject } from '../../protocol/json.ts';
import { isErrorBody } from '../error-shape.ts';
import { type ErrorContext, failureInBand, failureOfResponse, parseJson } from '../upstream-failure.ts';
import { presentable } from '../redact.ts';
import { connectionFailure, hasConnectionCode } from '../../net/connection-failure.ts';
import * as read from '../../platform/json.ts';
import { type AttemptFailure, failure, type FailureKind } from '../../contracts/failure.ts';

/** Marks of the SDK's errors; `instanceof` fails where two copies of the SDK are loaded. */
const API_CALL_ERROR = Symbol.for('vercel.ai.error.AI_APICallError');
const STREAM_ERROR = Symbol.for('vercel.ai.providerStreamError');

/** Errors that the SDK makes by itself. Where the text may repeat a prompt or an answer, it is not passed on. */
const BY_NAME: Readonly<Record<string, { readonly kind: FailureKind; readonly message?: string }>> = {
  AI_EmptyResponseBodyError: { kind: 'bad_response', message: 'The provider sent an empty answer' },
  AI_InvalidResponseDataError: {
    kind: 'bad_response',
    message: 'The provider ended its response early, or sent an invalid one',
  },
  AI_JSONParseError: { kind: 'bad_response', message: 'The provider sent an answer that is not valid JSON' },
  AI_TypeValidationError: { kind: 'bad_response', message: 'The provider sent an answer of an unknown form' },
  AI_NoContentGeneratedError: { kind: 'bad_response', message: 'The provider sent an empty answer' },
  AI_LoadAPIKeyError: { kind: 'credentials', message: 'The model was made without a key' },
  AI_LoadSettingError: { kind: 'credentials', message: 'The model was made without a setting that it needs' },
  AI_NoSuchModelError: { kind: 'model_not_found', message: 'The provider has no such model' },
  AI_UnsupportedFunctionalityError: { kind: 'unsupported_parameter' },
  AI_InvalidArgumentError: { kind: 'unsupported_parameter' },
  AI_InvalidPromptError: { kind: 'unsupported_parameter', message: 'The model cannot be given this prompt' },
  TimeoutError: { kind: 'timeout', message: 'The provider did not answer in time' },
  AbortError: { kind: 'connection', message: 'The connection to the provider was given up' },
  ResponseAborted: { kind: 'connection', message: 'The connection to the provider was given up' },
};

/**
 * The one place where what a model throws becomes a failure. Errors are recognised by their members. Their request
 * bodies hold whole prompts, so nothing of an error but its status, headers and response body is looked at.
 */
export function failureOfThrown(error: unknown, context: ErrorContext, signal: AbortSignal): AttemptFailure {
  if (signal.aborted) return failure('aborted', 'The call was given up');
  if (isMarked(error, API_CALL_ERROR)) return failureOfApiCall(error, context);
  const inside = bodyInside(error);
  if (inside !== undefined) return failureInBand(inside, context);
  const known = BY_NAME[nameOf(error) ?? ''];
  if (known !== undefined && !hasConnectionCode(error)) return failureOfKnown(error, known, context);
  if (hasConnectionCode(error)) return connectionFailure(error);
  return failure('adapter', 'The model could not be called', { thrown: error });
}

/** The failure behind an error part of a stream: an error like any other, or the provider's own error as it came. */
export function failureOfPart(error: unknown, context: ErrorContext, signal: AbortSignal): AttemptFailure {
  if (signal.aborted || isError(error)) return failureOfThrown(error, context, signal);
  if (!isMarked(error, STREAM_ERROR)) return failureInBand(error, context);
  const { message, type, code, statusCode, isRetryable, data } = error as JsonObject;
  const body = { ...read.object(data), message, type, code, statusCode };
  return refined(failureInBand(body, context), isRetryable);
}

function failureOfApiCall(error: object, context: ErrorContext): AttemptFailure {
  const { statusCode, responseHeaders, responseBody, isRetryable, cause } = error as JsonObject;
  const body = read.text(responseBody) ?? '';
  if (typeof statusCode !== 'number') return connectionFailure(cause ?? error);
  if (statusCode >= 200 && statusCode < 300) return failureOfGoodStatus(error, body, context);
  const headers = read.object(responseHeaders);
  const header = (name: string): string | undefined => {
    const value = headers[name];
    return read.string(value);
  };
  return refined(failureOfResponse(statusCode, header, body, context), isRetryable);
}

/** An answer that began well: an error in disguise, a connection that broke, or nothing that makes sense. */
function failureOfGoodStatus(error: object, body: string, context: ErrorContext): AttemptFailure {
  const parsed = parseJson(body);
  if (isErrorBody(parsed)) return failureInBand(parsed, context);
  if (hasConnectionCode(error)) return connectionFailure(error);
  return failure('bad_response', 'The provider sent an answer that cannot be read');
}

/**
 * What the SDK's provider knows better than the status says: a limit that waiting does not lift is a used-up quota, and
 * a refusal that it would try again may work in a moment.
 */
function refined(known: AttemptFailure, isRetryable: unknown): AttemptFailure {
  if (known.kind === 'rate_limited' && isRetryable === false) return { ...known, kind: 'quota' };
  if (known.kind === 'invalid_request' && isRetryable === true) return { ...known, kind: 'conflict' };
  return known;
}

function failureOfKnown(
  error: unknown,
  { kind, message }: { readonly kind: FailureKind; readonly message?: string },
  { secrets }: ErrorContext,
): AttemptFailure {
  if (message !== undefined) return failure(kind, message);
  const { message: own } = error as { message?: unknown };
  const text = typeof own === 'string' ? presentable(own, secrets) : undefined;
  return failure(kind, text ?? 'The model cannot do what was asked for');
}

/** A provider's error body that the SDK did not recognise as one. */
function bodyInside(error: unknown): unknown {
  if (nameOf(error) !== 'AI_TypeValidationError') return undefined;
  const { value } = error as { value?: unknown };
  return isErrorBody(value) ? value : undefined;
}

function isError(value: unknown): value is object {
  return (
    value instanceof Error || (nameOf(value) !== undefined && typeof value === 'object' && 'stack' in (value ?? {}))
  );
}

function isMarked(value: unknown, mark: symbol): value is object {
  return typeof value === 'object' && value !== null && (value as Record<symbol, unknown>)[mark] === true;
}

function nameOf(value: unknown): string | undefined {
  const name = typeof value === 'object' && value !== null ? (value as { name?: unknown }).name : undefined;
  return read.string(name);
}
