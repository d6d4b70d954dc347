/** Decides which steps are out because a provider refused the request itself. */
import type { Endpoint } from '../../catalog/endpoint.ts';
import { FAILURE_RULES } from '../../contracts/failure.ts';
import type { PlanStep } from '../selection/route-plan.ts';
import type { FailedAttempt } from './attempt.ts';

/**
 * A model is out once a provider refused the request itself: its other providers would say the same. So are the other
 * models of a router model that are in only for one that is not there (gaps 5.9). A prompt that is too long for
 * one endpoint may still fit into another of the same model that holds more.
 */
export function isRefused(step: PlanStep, failures: readonly FailedAttempt[]): boolean {
  return failures.some(({ step: failed, outcome }) => {
    const { next } = FAILURE_RULES[outcome.failure.kind];
    if (next !== 'model' && next !== 'longer') return false;
    const sameChoice =
      failed.endpoint.model === step.endpoint.model ||
      (failed.refusedTogether === true && step.refusedTogether === true);
    return sameChoice && !(next === 'longer' && mayHoldMore(step.endpoint, failed.endpoint));
  });
}

/** Whether an endpoint may take a longer prompt than another. Of two unknown limits, neither is. */
function mayHoldMore(endpoint: Endpoint, than: Endpoint): boolean {
  const own = promptLimitOf(endpoint);
  const other = promptLimitOf(than);
  return own === undefined || other === undefined ? own !== other : own > other;
}

function promptLimitOf({ contextLength, maxPromptTokens }: Endpoint): number | undefined {
  if (contextLength === undefined) return maxPromptTokens;
  return Math.min(contextLength, maxPromptTokens ?? contextLength);
}
