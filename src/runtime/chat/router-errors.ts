/** Makes the errors that requests end in. */
import { RouterError, type RouterErrorOptions } from '../../protocol/router-error.ts';
import type { RequestFault } from '../../protocol/fault.ts';
import type { JsonObject } from '../../protocol/json.ts';
import { type AttemptFailure, FAILURE_RULES } from '../../contracts/failure.ts';
import { type Account, hasScope } from '../../contracts/account.ts';
import type { FailedAttempt } from '../../core/fallback/attempt.ts';

/** What every error of a request has beside what went wrong. */
export type RoutingContext = Pick<RouterErrorOptions, 'routerMetadata' | 'generationId'>;

/** Facts about a whole request, for its error. */
type RequestContext = RoutingContext & Pick<RouterErrorOptions, 'metadata'>;

/** The error for a request that was refused before anything was sent. */
export function errorOfFault(fault: RequestFault): RouterError {
  const { status, errorType, message, availability, path } = fault;
  return new RouterError({
    status,
    errorType: errorType === 'invalid_request' && PROMPT_PATH.test(path) ? 'invalid_prompt' : errorType,
    message,
    availability,
    metadata: path === '' ? {} : { path },
  });
}

/** Where a fault is one of the prompt: no messages, a role that there is not, nothing said (gaps 1.1, 7.3). */
const PROMPT_PATH = /^(?:requests\[\d+\]\.body\.)?messages(?:\[\d+\](?:\.(?:role|content))?)?$/;

/**
 * The error for a stream that broke after its first content. Of a 5xx only we have words: what a provider says about
 * its own trouble may be anything (gaps 4.4).
 */
export function errorOfBrokenStream(attempt: FailedAttempt, context: RoutingContext): RouterError {
  const { failure } = attempt.outcome;
  const { status, errorType } = FAILURE_RULES[failure.kind];
  const name = attempt.step.endpoint.providerName;
  const generic = isPrivate(failure) || (status >= 500 && failure.status !== undefined);
  return new RouterError({
    ...context,
    status: failure.status === 529 ? 529 : status,
    errorType: failure.errorType ?? errorType,
    message: generic ? `Upstream error from ${name}` : `Upstream error from ${name}: ${failure.message}`,
    retryAfterMs: failure.retryAfterMs,
    metadata: detailsOf(attempt, generic),
  });
}

/** How events name the end of a request whose client disconnected. */
export const CALLER_GONE = { status: 499, errorType: 'unmapped' } as const;

/** The one place where unknown thrown values become errors of ours. What they say stays inside. */
export function errorOfUnknown(thrown: unknown): RouterError {
  if (RouterError.isInstance(thrown)) return thrown;
  return new RouterError({
    status: 500,
    errorType: 'server',
    message:
      'The router failed to handle this request; its operator finds the cause in a warning with the code "internal"',
  });
}

/** What kind of thing was thrown. Not what it says: that may repeat a prompt. */
export function thrownKind(thrown: unknown): string {
  try {
    if (RouterError.isInstance(thrown)) return `RouterError (${thrown.status})`;
    if (thrown instanceof Error) return /^\w{1,40}$/.test(thrown.name) ? thrown.name : 'Error';
    return `a value of type ${typeof thrown}`;
  } catch {
    return 'something';
  }
}

/** Where it was thrown, as its stack says; empty where that is unknown. */
export function thrownPlace(thrown: unknown): string {
  try {
    const { message, stack = '' } = thrown as Error;
    return /\bat .*/.exec(stack.slice(stack.indexOf(message) + message.length))?.[0] ?? '';
  } catch {
    return '';
  }
}

/** An error with the facts about its whole request, which who threw it could not know. */
export function withContext(error: RouterError, context: RequestContext): RouterError {
  const { status, errorType, message, metadata, availability, retryAfterMs, retryable } = error;
  return new RouterError({
    ...context,
    status,
    errorType,
    message,
    metadata: { ...context.metadata, ...metadata },
    availability,
    retryAfterMs,
    retryable,
  });
}

/**
 * An attempt as the client of an account may hear of it: where a provider is in our network is for operators.
 */
export function shownTo(account: Account, attempt: FailedAttempt): FailedAttempt {
  const { failure } = attempt.outcome;
  if (failure.address === undefined || hasScope(account, 'operator')) return attempt;
  return { ...attempt, outcome: { ...attempt.outcome, failure: { ...failure, address: undefined } } };
}

/** What a provider says about our key or balance is not the caller's business. */
export function isPrivate({ kind }: AttemptFailure): boolean {
  return kind === 'credentials' || kind === 'quota';
}

/**
 * The facts about a failed attempt that its error has.
 *
 * @param generic - Leaves the provider's own words out.
 */
export function detailsOf({ step, outcome: { failure } }: FailedAttempt, generic = isPrivate(failure)): JsonObject {
  const { endpoint } = step;
  return {
    provider_name: endpoint.providerName,
    ...(failure.address === undefined ? {} : { provider_url: failure.address }),
    is_byok: endpoint.byok !== undefined,
    ...(failure.providerCode === undefined || generic ? {} : { provider_code: failure.providerCode }),
    ...(failure.raw === undefined || generic ? {} : { raw: failure.raw }),
  };
}
