/** Reads what a refused call shows beside the others of its endpoint. */
import type { Attempt, FailedAttempt } from '../../core/fallback/attempt.ts';
import type { CallOutcome } from '../../core/fallback/health.ts';
import type { KnownEndpoint } from './endpoint-load.ts';

/** Whether a call was refused for its rate. */
export function wasRefused(attempt: Attempt | undefined): attempt is FailedAttempt {
  return attempt?.outcome.ok === false && attempt.outcome.failure.kind === 'rate_limited';
}

/** A failure with what the calls beside it say of it, where it may be a refusal. */
export function withBeside(outcome: CallOutcome, { record, load }: KnownEndpoint, now: number): CallOutcome {
  if (outcome.ok || outcome.startedAt === undefined) return outcome;
  const since = record.health.refusals?.since ?? now;
  return { ...outcome, beside: load.beside(now - outcome.startedAt, since, now) };
}
