import type { Endpoint } from '../../catalog/endpoint.ts';
import type { PlanStep, RoutePlan } from '../selection/route-plan.ts';
import type { AttemptFailure, Continuation } from '../../contracts/failure.ts';
import type { Usage } from '../../protocol/usage.ts';

/** One upstream call that has ended. */
export interface Attempt {
  readonly step: PlanStep;
  /** Monotonic milliseconds. */
  readonly startedAt: number;
  readonly endedAt: number;
  /** True when it was made although an earlier call had not failed. */
  readonly hedge?: boolean | undefined;
  /** True when its endpoint was left alone, and it went out because nothing else was left. */
  readonly lastResort?: boolean | undefined;
  /** What was changed in the request for this call alone, a sentence for each change. Absent where nothing was. */
  readonly adjustments?: readonly string[] | undefined;
  /** What a call that was given up may have cost, in US dollars. */
  readonly costUsd?: number | undefined;
  /** First token of a stream, or end of a non-streaming answer. Absent for a call that failed before it. */
  readonly firstTokenAt?: number | undefined;
  /** What its provider says it used. Absent when it said nothing, or when the call is under way. */
  readonly usage?: Usage | undefined;
  /** What is charged for it, in whole nano-dollars. Absent while the call is under way, and where its price is unknown. */
  readonly chargedNanoUsd?: number | undefined;
  /** Why the model refused to answer, in the provider's word; `other` where it gave none. Absent where it did not. */
  readonly refusal?: string | undefined;
  /** True for a stream that broke after it had begun, and whose content stays part of the answer. */
  readonly kept?: boolean | undefined;
  /** How it went on with the text of an attempt that broke, and after how many UTF-16 units of text. */
  readonly continued?: Continuation | undefined;
  readonly outcome: { readonly ok: true } | { readonly ok: false; readonly failure: AttemptFailure };
}

/** An attempt that failed. */
export interface FailedAttempt extends Attempt {
  readonly outcome: { readonly ok: false; readonly failure: AttemptFailure };
}

/** The failed ones, in order. */
export function failedAttempts(attempts: readonly Attempt[]): readonly FailedAttempt[] {
  if (attempts.length === 0) return NONE;
  return attempts.filter((attempt): attempt is FailedAttempt => !attempt.outcome.ok);
}

const NONE: readonly FailedAttempt[] = [];

/** How a step has failed last. */
export function failureAt({ endpoint }: PlanStep, failures: readonly FailedAttempt[]): FailedAttempt | undefined {
  return failures.findLast((attempt) => attempt.step.endpoint.id === endpoint.id);
}

/** How often a step has been tried. */
export function triesOf(step: PlanStep, attempts: readonly Attempt[]): number {
  return attempts.filter((attempt) => attempt.step.endpoint.id === step.endpoint.id).length;
}

/** Tries that count against the limit: not those that were made to see whether an endpoint is back. */
export function countedTries(step: PlanStep, attempts: readonly Attempt[]): number {
  return attempts.filter(({ step: { endpoint }, lastResort: isLast }) => endpoint.id === step.endpoint.id && !isLast)
    .length;
}

/** Whether a model is left that was not called yet. */
export function hasOtherModel({ steps }: RoutePlan, attempts: readonly Attempt[], { model }: Endpoint): boolean {
  const requested = new Set(attempts.map(({ step }) => step.endpoint.model));
  return steps.some(({ endpoint }) => endpoint.model !== model && !requested.has(endpoint.model));
}
