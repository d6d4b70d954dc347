import type { Endpoint } from '../../catalog/endpoint.ts';
import type { RoutedRequest } from '../normalize/normalized-request.ts';
import { likelyPromptTokens } from '../normalize/token-estimate.ts';
import { isShortened, type PlanStep } from './route-plan.ts';

/**
 * Moves endpoints whose context is shorter than the prompt and its answer likely are behind the others. Only what is
 * certainly too long is left out (gaps 3.4), so they stay for the case that the estimate was too high. Providers that
 * the request orders by name keep their order.
 */
export function tightContextsLast(steps: readonly PlanStep[], request: RoutedRequest): readonly PlanStep[] {
  const { targets, needs, preferences } = request;
  if (preferences.order.length > 0) return steps;
  // The floor is a token for eight characters at most, so a prompt that fits eight times over need not be looked at.
  const most = MOST_PER_FLOOR * (needs.promptTokens + 1) + (needs.outputTokens ?? 0);
  if (steps.every(({ endpoint }) => most <= limitOf(endpoint))) return steps;
  const prompt = likelyPromptTokens(request);
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

/** Characters that a token of the floor stands for. */
const MOST_PER_FLOOR = 8;

function limitOf({ contextLength = Infinity, maxPromptTokens = Infinity }: Endpoint): number {
  return Math.min(contextLength, maxPromptTokens);
}
