import type { ConfigProblem } from '../../errors.ts';
import { BUDGET_PERIODS, type Budget } from './budget.ts';
import type { RateLimits } from './rate-limits.ts';

/** Everything that is wrong with limits of the rate. */
export function rateLimitProblems(path: string, limits: RateLimits | undefined): readonly ConfigProblem[] {
  const { freeModels, ...plain } = limits ?? {};
  return [...numberProblems(path, plain), ...numberProblems(`${path}.freeModels`, { ...freeModels })];
}

/** Everything that is wrong with a budget. */
export function budgetProblems(path: string, budget: Budget | undefined): readonly ConfigProblem[] {
  if (budget === undefined) return [];
  const problems: ConfigProblem[] = [];
  const { limitUsd, period = 'total' } = budget;
  if (!isAmount(limitUsd) || limitUsd > MOST_USD) {
    problems.push({
      path: `${path}.limitUsd`,
      problem: `must be US dollars from 0 to ${MOST_USD}, not ${told(limitUsd)}`,
    });
  }
  if (!BUDGET_PERIODS.includes(period)) {
    problems.push({
      path: `${path}.period`,
      problem: `must be one of ${BUDGET_PERIODS.join(', ')}, not ${told(period)}`,
    });
  }
  return problems;
}

/** In nano-dollars still a whole number that is exact. */
const MOST_USD = 9_000_000;

function numberProblems(path: string, limits: object): readonly ConfigProblem[] {
  return Object.entries(limits as Record<string, unknown>).flatMap(([name, value]) =>
    value === undefined || value === Infinity || isAmount(value)
      ? []
      : [{ path: `${path}.${name}`, problem: `must be a number that is not negative, not ${told(value)}` }],
  );
}

function isAmount(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}

function told(value: unknown): string {
  return typeof value === 'string' ? `"${value}"` : String(value);
}
