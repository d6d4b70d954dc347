import { type Attempt, type AttemptFailure, type FailedAttempt, FAILURE_RULES } from '../../core/fallback/failure.ts';
import { coolingError, type FinalError, finalError } from '../../core/fallback/final-error.ts';
import type { Situation, StopReason } from '../../core/fallback/next-move.ts';
import type { RoutedRequest } from '../../core/normalize/normalized-request.ts';
import type { LatelyEnded } from '../../core/fallback/outcomes.ts';
import type { PlanStep, RoutePlan } from '../../core/selection/route-plan.ts';
import { RouterError, type RouterErrorOptions } from '../../protocol/router-error.ts';
import type { RequestFault } from '../../protocol/fault.ts';
import type { JsonObject } from '../../protocol/json.ts';
import { onDemand } from '../../platform/wait.ts';

type Context = Pick<RouterErrorOptions, 'routerMetadata' | 'generationId'>;

/** Facts about a whole request, for its error. */
type RequestContext = Context & Pick<RouterErrorOptions, 'metadata'>;

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

/** A request for which nothing more is tried. */
interface StoppedRequest {
  readonly request: RoutedRequest;
  readonly plan: RoutePlan;
  readonly attempts: readonly Attempt[];
  readonly admission: Situation['admission'];
  /** How the calls of an endpoint have ended lately. */
  readonly lately: (step: PlanStep) => LatelyEnded;
  readonly docsUrl: string;
}

/** The error for a request for which nothing more is tried. */
export async function errorOfStop(stopped: StoppedRequest, reason: StopReason, context: Context): Promise<RouterError> {
  const { request, plan, attempts, admission, lately, docsUrl } = stopped;
  if (plan.steps.length === 0) {
    const { explainNoRoute } = await noRoute();
    return new RouterError({ ...context, ...explainNoRoute(plan, request, docsUrl) });
  }
  if (attempts.length === 0 && reason === 'exhausted') {
    return errorOfAttempts(coolingError(plan, admission, lately, docsUrl), context);
  }
  const { allowFallbacks } = request.preferences;
  return errorOfAttempts(finalError(plan, attempts, reason, { allowFallbacks, docsUrl }), context);
}

/** What says why no endpoint can serve a request. */
const noRoute = onDemand(() => import('../../core/selection/no-route.ts'));

/** The error for a request whose attempts all failed. */
function errorOfAttempts(error: FinalError, context: Context): RouterError {
  const { attempt, previous, ...rest } = error;
  if (error.status === 500) return masked(context);
  return new RouterError({
    ...context,
    ...rest,
    message: attempt === undefined ? error.message : messageOf(attempt.outcome.failure),
    metadata: {
      ...(attempt === undefined ? {} : detailsOf(attempt)),
      ...(previous.length === 0 ? {} : { previous_errors: previous.map(summaryOf) }),
    },
  });
}

/** A provider's 500 that is passed on because no fallback was allowed: what failed inside it is not told (gaps 6.5). */
function masked(context: Context): RouterError {
  return new RouterError({ ...context, status: 500, errorType: 'server', message: 'Provider returned error' });
}

/**
 * The error for a stream that broke after its first content. Of a 5xx only we have words: what a provider says about
 * its own trouble may be anything (gaps 4.4).
 */
export function errorOfBrokenStream(attempt: FailedAttempt, context: Context): RouterError {
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
export function kindOf(thrown: unknown): string {
  try {
    if (RouterError.isInstance(thrown)) return `RouterError (${thrown.status})`;
    if (thrown instanceof Error) return /^\w{1,40}$/.test(thrown.name) ? thrown.name : 'Error';
    return `a value of type ${typeof thrown}`;
  } catch {
    return 'something';
  }
}

/** Where it was thrown, as its stack says; empty where that is unknown. */
export function placeOf(thrown: unknown): string {
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

/** A provider's own words, unless they are about our account with it. */
function messageOf(failure: AttemptFailure): string {
  if (failure.status === undefined) return failure.message;
  return isPrivate(failure) ? 'Provider returned error' : `Provider returned error: ${failure.message}`;
}

/** What a provider says about our key or balance is not the caller's business. */
function isPrivate({ kind }: AttemptFailure): boolean {
  return kind === 'credentials' || kind === 'quota';
}

/** @param generic - Leaves the provider's own words out. */
function detailsOf({ step, outcome: { failure } }: FailedAttempt, generic = isPrivate(failure)): JsonObject {
  const { endpoint } = step;
  return {
    provider_name: endpoint.providerName,
    is_byok: endpoint.byok !== undefined,
    ...(failure.providerCode === undefined || generic ? {} : { provider_code: failure.providerCode }),
    ...(failure.raw === undefined || generic ? {} : { raw: failure.raw }),
  };
}

function summaryOf({ step, outcome: { failure } }: FailedAttempt): JsonObject {
  return {
    provider: step.endpoint.provider,
    code: failure.kind,
    status: failure.status ?? FAILURE_RULES[failure.kind].status,
  };
}
