/** Errors of requests for which nothing more is tried. Loaded by the first of them. */
import type { Catalog } from '../../catalog/catalog.ts';
import { coolingError, type FinalError, finalError } from '../../core/fallback/final-error.ts';
import type { GiveUpReason } from '../../core/fallback/next-move.ts';
import type { Situation } from '../../core/fallback/situation.ts';
import type { RoutedRequest } from '../../contracts/request.ts';
import { explainNoRoute, type NoRoute } from '../../core/selection/no-route.ts';
import type { LatelyEnded } from '../../core/fallback/outcomes.ts';
import type { PlanStep, RoutePlan } from '../../core/selection/route-plan.ts';
import { RouterError } from '../../protocol/router-error.ts';
import type { JsonObject } from '../../protocol/json.ts';
import { detailsOf, type RoutingContext, isPrivate, shownTo } from './router-errors.ts';
import { type AttemptFailure, FAILURE_RULES } from '../../contracts/failure.ts';
import { mismatchError } from '../../core/fallback/named-fault.ts';
import type { Attempt, FailedAttempt } from '../../core/fallback/attempt.ts';

/** A request for which nothing more is tried. */
interface StoppedRequest {
  readonly request: RoutedRequest;
  readonly plan: RoutePlan;
  readonly catalog: Catalog;
  readonly attempts: readonly Attempt[];
  readonly admission: Situation['admission'];
  /** How the calls of an endpoint have ended lately. */
  readonly lately: (step: PlanStep) => LatelyEnded;
  readonly docsUrl: string;
}

/** The error for a request for which nothing more is tried. */
export function errorOfStop(stopped: StoppedRequest, reason: GiveUpReason, context: RoutingContext): RouterError {
  const { request, plan, catalog, attempts, admission, lately, docsUrl } = stopped;
  if (plan.steps.length === 0) return errorOfNoRoute(explainNoRoute(plan, request, docsUrl, catalog), context);
  if (attempts.length === 0 && reason === 'exhausted') {
    return errorOfAttempts(coolingError(plan, admission, lately, docsUrl), request, context);
  }
  const { allowFallbacks } = request.preferences;
  return errorOfAttempts(finalError(plan, attempts, reason, { allowFallbacks, docsUrl }), request, context);
}

/** The error for a request that no endpoint can serve. */
function errorOfNoRoute(noRoute: NoRoute, context: RoutingContext): RouterError {
  return new RouterError({ ...context, ...noRoute });
}

/** The error for a request whose attempts all failed. */
function errorOfAttempts(error: FinalError, { account }: RoutedRequest, context: RoutingContext): RouterError {
  const { attempt: last, previous, ...rest } = error;
  const attempt = last && shownTo(account, last);
  if (error.status === 500) return masked(context);
  return new RouterError({
    ...context,
    ...rest,
    message: attempt === undefined ? error.message : messageOf(attempt),
    metadata: {
      ...(attempt === undefined ? {} : detailsOf(attempt)),
      ...(attempt?.outcome.failure.mismatch && mismatchError(attempt.outcome.failure.mismatch).metadata),
      ...(previous.length === 0 ? {} : { previous_errors: previous.map(summaryOf) }),
    },
  });
}

/** A provider's 500 that is passed on because no fallback was allowed: what failed inside it is not told (gaps 6.5). */
function masked(context: RoutingContext): RouterError {
  return new RouterError({ ...context, status: 500, errorType: 'server', message: 'Provider returned error' });
}

/** A provider's own words, unless they are about our account with it. */
function messageOf({ outcome: { failure }, step }: FailedAttempt): string {
  const { address, mismatch, status } = failure;
  if (mismatch !== undefined) return mismatchError(mismatch).message;
  // No connection, or no such path: most of the time, the base URL of the provider is wrong.
  const isMisdirected = status === undefined || status === 404 || status === 405;
  const place =
    isMisdirected && address !== undefined ? `; ${step.endpoint.providerName} was called at ${address}` : '';
  return `${saidBy(failure)}${place}`;
}

function saidBy(failure: AttemptFailure): string {
  if (failure.status === undefined) return failure.message;
  return isPrivate(failure) ? 'Provider returned error' : `Provider returned error: ${failure.message}`;
}

function summaryOf({ step, outcome: { failure } }: FailedAttempt): JsonObject {
  return {
    provider: step.endpoint.provider,
    code: failure.kind,
    status: failure.status ?? FAILURE_RULES[failure.kind].status,
  };
}
