import type { Availability, ErrorType } from '../../protocol/error.ts';
import type { PlanStep, RoutePlan } from '../selection/route-plan.ts';
import type { Admission } from './health.ts';
import type { LatelyEnded } from './outcomes.ts';
import type { Move } from './next-move.ts';
import { type AttemptFailure, FAILURE_RULES, type FailureRule, TOOK_TOO_LONG } from '../../contracts/failure.ts';
import { type Attempt, type FailedAttempt, failedAttempts } from './attempt.ts';

/** The error a caller gets when no attempt succeeded, as data. */
export interface FinalError {
  readonly status: number;
  readonly errorType: ErrorType;
  readonly message: string;
  /** Milliseconds; the smallest that any provider named. */
  readonly retryAfterMs?: number | undefined;
  /** The failure behind the message; absent when nothing was tried. */
  readonly attempt?: FailedAttempt | undefined;
  /** Failures before that one. */
  readonly previous: readonly FailedAttempt[];
  readonly availability?: Availability | undefined;
  /** False when every provider failed for a reason that will last. */
  readonly retryable?: boolean | undefined;
}

/** Statuses of a provider that are passed on when the caller allowed no fallback. */
const RELAYED = new Set([400, 404, 408, 412, 413, 422, 429, 500, 502, 503, 524, 529]);

/**
 * Chooses the status and message for a request whose attempts all failed (outcome rules; gaps 3.7, 4.2).
 * What counts are the attempts of the model tried last; which of its providers failed first does not matter.
 */
export function finalError(
  plan: RoutePlan,
  attempts: readonly Attempt[],
  reason: Extract<Move, { type: 'stop' }>['reason'],
  options: { readonly allowFallbacks: boolean; readonly docsUrl: string },
): FinalError {
  const all = failedAttempts(attempts);
  const failures = all.filter((one, index) => !isReworded(one, all.slice(0, index)));
  const last = failures.at(-1);
  const retryAfterMs = smallest(failures.map(({ outcome }) => outcome.failure.retryAfterMs));
  const lasting = failures.length > 0 && failures.every(({ outcome }) => LASTING.has(outcome.failure.kind));
  const base = {
    retryAfterMs,
    attempt: last,
    previous: failures.slice(0, -1),
    ...(lasting ? { retryable: false } : {}),
  };
  if (last === undefined) return { ...base, ...ruled('deadline'), message: TOOK_TOO_LONG };
  const { failure } = last.outcome;
  const { kind: lastKind = failure.kind } = all.at(-1)?.outcome.failure ?? {};
  if (lastKind === 'deadline' || lastKind === 'aborted' || reason === 'deadline') {
    const kind = lastKind === 'aborted' ? 'aborted' : 'deadline';
    return { ...base, ...ruled(kind), message: TOOK_TOO_LONG };
  }
  if (!options.allowFallbacks && failure.status !== undefined && RELAYED.has(failure.status)) {
    return {
      ...base,
      status: failure.status,
      errorType: failure.errorType ?? FAILURE_RULES[failure.kind].errorType,
      ...unavailable(plan, [failure], options.docsUrl),
      message: failure.message,
    };
  }
  // An answer there was, and it is kept: that says more than what came after it.
  const misfit = failures.findLast(({ outcome }) => outcome.failure.mismatch !== undefined);
  if (misfit !== undefined) {
    const previous = failures.filter((one) => one !== misfit);
    return { ...base, ...ruled('schema_mismatch'), attempt: misfit, previous, message: misfit.outcome.failure.message };
  }
  const ofLastModel = failures.filter((one) => one.step.endpoint.model === last.step.endpoint.model);
  const reasons = ofLastModel.map(({ outcome }) => outcome.failure);
  return {
    ...base,
    ...combined(reasons),
    ...unavailable(
      plan,
      failures.map(({ outcome }) => outcome.failure),
      options.docsUrl,
    ),
    message: failure.message,
  };
}

/**
 * Whether a call was made without a word that its endpoint had refused. That it failed as well is the answer to a request
 * that nobody has made: what was refused first says what is wrong with this one.
 */
function isReworded({ step }: FailedAttempt, before: readonly FailedAttempt[]): boolean {
  return before.some((one) => one.outcome.failure.refusal !== undefined && one.step.endpoint.id === step.endpoint.id);
}

/** What is said beside the error when every provider that was called says that it has no such model (gaps 7.4). */
function unavailable(
  plan: RoutePlan,
  failures: readonly AttemptFailure[],
  docsUrl: string,
): Pick<FinalError, 'availability'> {
  if (!failures.every(({ kind }) => kind === 'model_not_found')) return {};
  const code = 'model_unavailable_upstream';
  return {
    availability: {
      code,
      retryable: false,
      requested_models: [plan.requested],
      docs_url: `${docsUrl}#${code}`,
      affected_providers: [...new Set(plan.steps.map((step) => step.endpoint.provider))],
    },
  };
}

/** Kinds of failure that the next request will meet as well, or has been asked again for as often as makes sense. */
const LASTING = new Set<AttemptFailure['kind']>([
  'credentials',
  'quota',
  'adapter',
  'model_not_found',
  'schema_mismatch',
]);

/** The error when endpoints exist but every one of them is cooling down (fault U-68). */
export function coolingError(
  plan: RoutePlan,
  admission: (step: PlanStep) => Admission,
  lately: (step: PlanStep) => LatelyEnded,
  docsUrl: string,
): FinalError {
  const waits = plan.steps.map((step) => admission(step)).filter((one) => !one.ok);
  // What is let through before its time finds out something, and is no advice.
  const again = waits.map(({ waitMs, asked, lastResortMs = Infinity }) =>
    asked === true ? waitMs : Math.min(waitMs, lastResortMs),
  );
  const retryAfterMs = smallest(again) ?? 0;
  // Endpoints that are out would not help: what is in the way is the rate of the others.
  const limited =
    waits.some((one) => one.cause === 'pace') ||
    (waits.length > 0 && waits.every((one) => one.cause === 'rate_limited'));
  const code = limited ? 'capacity_exhausted' : 'temporarily_unavailable';
  return {
    status: limited ? 429 : 503,
    errorType: limited ? 'rate_limit_exceeded' : 'provider_overloaded',
    message: limited
      ? `Every provider of ${plan.requested} has as many requests as it takes right now; retry after the time in Retry-After, or add a provider`
      : `Every provider of ${plan.requested} is failing right now${howMany(plan.steps.map(lately))}; retry after the time in Retry-After, or add a provider`,
    retryAfterMs,
    previous: [],
    availability: {
      code,
      retryable: true,
      requested_models: [plan.requested],
      docs_url: `${docsUrl}#${code}`,
      retry_after: Math.ceil(retryAfterMs / 1_000),
      affected_providers: [...new Set(plan.steps.map((step) => step.endpoint.provider))],
    },
  };
}

/** How many requests failed of those that called these endpoints in the last half minute; nothing where none did. */
function howMany(ends: readonly LatelyEnded[]): string {
  const failed = ends.reduce((sum, one) => sum + one.failed, 0);
  const all = ends.reduce((sum, one) => sum + one.succeeded, failed);
  return all === 0
    ? ''
    : ` (of ${all} requests that called one of them in the last 30 seconds, ${failed} failed there)`;
}

/** What kinds that say that the request itself was refused allow next. */
const REFUSALS: ReadonlySet<FailureRule['next']> = new Set(['model', 'longer']);

function combined(failures: readonly AttemptFailure[]): { status: number; errorType: ErrorType } {
  // What an endpoint with a longer context says counts for more than that a shorter one could not hold the prompt.
  const longer = failures.filter(({ kind }) => FAILURE_RULES[kind].next !== 'longer');
  if (longer.length > 0 && longer.length < failures.length) return combined(longer);
  const last = failures.at(-1);
  if (last === undefined) return ruled('server');
  if (REFUSALS.has(FAILURE_RULES[last.kind].next)) {
    return { errorType: last.errorType ?? FAILURE_RULES[last.kind].errorType, status: refusalStatus(last) };
  }
  if (failures.every(isOverload)) {
    return { ...ruled('overloaded'), status: failures.every(({ status }) => status === 529) ? 529 : 503 };
  }
  const [kind] = failures.map((one) => one.kind);
  const same = kind !== undefined && failures.every((one) => one.kind === kind);
  if (same && UNIFORM.has(kind)) return { ...ruled(kind), ...(last.errorType && { errorType: last.errorType }) };
  return failures.every((one) => isOverload(one) || one.kind === 'rate_limited')
    ? ruled('overloaded')
    : ruled('server');
}

/** Kinds that keep their own status when all attempts failed in the same way; any other mixture is a 502. */
const UNIFORM = new Set<AttemptFailure['kind']>([
  'rate_limited',
  'timeout',
  'model_not_found',
  'unsupported_parameter',
]);

function isOverload({ kind }: AttemptFailure): boolean {
  return kind === 'overloaded';
}

/** A refusal of content keeps the provider's own word: some say 400, some 403. */
function refusalStatus(failure: AttemptFailure): number {
  const own = FAILURE_RULES[failure.kind].status;
  if (failure.errorType === 'image_not_found') return 404;
  if (failure.errorType === 'precondition_failed') return 412;
  return failure.kind === 'content_policy' && failure.status === 400 ? 400 : own;
}

function ruled(kind: AttemptFailure['kind']): { status: number; errorType: ErrorType } {
  const { status, errorType } = FAILURE_RULES[kind];
  return { status, errorType };
}

function smallest(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}
