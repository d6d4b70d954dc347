import type { RoutedRequest } from '../normalize/normalized-request.ts';
import { likelyPromptTokens } from '../normalize/token-estimate.ts';
import { isShortened, type PlanStep } from './route-plan.ts';

/**
 * Moves endpoints whose context is shorter than the prompt and its answer likely are behind the others. Only what is
 * certainly too long is left out (gaps 3.4), so they stay for the case that the estimate was too high. Providers that
 * the request orders by name keep their order.
 */
export function tightContextsLast(
  steps: readonly PlanStep[],
  { targets, needs, preferences }: RoutedRequest,
): readonly PlanStep[] {
  if (preferences.order.length > 0) return steps;
  const prompt = likelyPromptTokens(needs.promptTokens);
  const whole = prompt + (needs.outputTokens ?? 0);
  const isTight = ({ endpoint, target: index }: PlanStep): boolean => {
    const { contextLength = Infinity, maxPromptTokens = Infinity } = endpoint;
    if (whole <= contextLength && prompt <= maxPromptTokens) return false;
    const target = targets[index];
    return target === undefined || !isShortened(target, endpoint);
  };
  const tight = steps.filter(isTight);
  if (tight.length === 0 || tight.length === steps.length) return steps;
  const told = tight.map((step) => ({ ...step, why: `${step.why}, and its context is likely too short` }));
  return [...steps.filter((step) => !isTight(step)), ...told];
}
