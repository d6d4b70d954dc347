import type { Endpoint } from '../../catalog/endpoint.ts';
import type { ModelTarget, RoutedRequest } from '../normalize/normalized-request.ts';
import type { PlanStep } from './route-plan.ts';

/** True for an endpoint that a plugin will shorten the prompt for. The own keys of an account share that. */
export function isShortened({ shortened }: ModelTarget, { model, tag }: Endpoint): boolean {
  return shortened?.some((one) => one.tag === tag && one.model === model) === true;
}

/**
 * Moves endpoints that get a shortened prompt behind those that take all of it: leaving things out is better than
 * failing, and worse than anything else. Providers that the request orders by name keep their order.
 */
export function wholePromptsFirst(
  steps: readonly PlanStep[],
  { targets, preferences }: RoutedRequest,
): readonly PlanStep[] {
  const isShort = ({ target: index, endpoint }: PlanStep): boolean => {
    const target = targets[index];
    return target !== undefined && isShortened(target, endpoint);
  };
  const told = steps.map((step) => (isShort(step) ? { ...step, why: `${step.why}, with a shortened prompt` } : step));
  if (preferences.order.length > 0) return told;
  return [...told.filter((step) => !isShort(step)), ...told.filter(isShort)];
}
