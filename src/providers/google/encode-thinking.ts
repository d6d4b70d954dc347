import type { Endpoint } from '../../catalog/endpoint.ts';
import type { ReasoningRequest } from '../../core/normalize/normalized-request.ts';
import type { ReasoningEffort } from '../../protocol/reasoning.ts';
import { EFFORT_SHARES, type EffortShares } from '../effort-shares.ts';
import { nearestEffort } from '../openai-compatible/encode-reasoning.ts';
import type { ModelFamily, ThinkingControl } from './families.ts';

/** Tokens that the models of a budget can write at most; efforts are shares of them. */
const MOST_TOKENS = 65_536;
const SHARES: EffortShares = { minimal: 0.02, low: 0.1, medium: 0.3, high: 0.6, xhigh: 0.9, max: 0.95 };

/** `thinkingConfig`: a level or a budget, never both, and whether the thoughts are shown. */
export interface ThinkingConfig {
  readonly includeThoughts?: boolean | undefined;
  readonly thinkingLevel?: string | undefined;
  readonly thinkingBudget?: number | undefined;
}

/**
 * Writes the reasoning options in the way of the model's family; undefined where there is nothing to say.
 *
 * @param limit - The caller's limit of tokens. A budget stays below it, so that something is left for the answer.
 */
export function encodeThinking(
  reasoning: ReasoningRequest | undefined,
  limit: number | undefined,
  endpoint: Endpoint,
  { thinking }: ModelFamily,
): ThinkingConfig | undefined {
  if (reasoning === undefined || thinking === undefined) return undefined;
  const effort = effortFor(reasoning, endpoint);
  const shown = effort === 'none' || reasoning.exclude ? {} : { includeThoughts: true };
  const config = { ...shown, ...amount(effort, reasoning.maxTokens, limit, thinking) };
  return Object.keys(config).length > 0 ? config : undefined;
}

/** Efforts that the program declared for an endpoint count before those of the family. */
function effortFor({ effort }: ReasoningRequest, { reasoning }: Endpoint): ReasoningEffort | undefined {
  if (effort === undefined || reasoning?.efforts === undefined) return effort;
  return nearestEffort(effort, reasoning.efforts, reasoning.mandatory === true);
}

function amount(
  effort: ReasoningEffort | undefined,
  budget: number | undefined,
  limit: number | undefined,
  thinking: ThinkingControl,
): ThinkingConfig {
  if (thinking.type === 'level') {
    const wanted = effort ?? effortOfBudget(budget);
    return wanted === undefined ? {} : { thinkingLevel: nearestEffort(wanted, thinking.levels, true) };
  }
  if (effort === 'none') return { thinkingBudget: thinking.canBeOff ? 0 : thinking.min };
  const wanted = budget ?? budgetOfEffort(effort, limit);
  if (wanted === undefined) return {};
  const most = Math.min(thinking.max, limit === undefined ? thinking.max : limit - 1);
  return { thinkingBudget: Math.max(thinking.min, Math.min(Math.round(wanted), most)) };
}

function budgetOfEffort(
  effort: Exclude<ReasoningEffort, 'none'> | undefined,
  limit: number | undefined,
): number | undefined {
  if (effort === undefined) return undefined;
  // The caller's own limit counts thoughts too.
  return limit === undefined ? MOST_TOKENS * SHARES[effort] : limit * EFFORT_SHARES[effort];
}

/** The effort whose budget comes closest. */
function effortOfBudget(budget: number | undefined): ReasoningEffort | undefined {
  if (budget === undefined) return undefined;
  const efforts = Object.keys(SHARES) as (keyof EffortShares)[];
  const distance = (effort: keyof EffortShares): number => Math.abs(MOST_TOKENS * SHARES[effort] - budget);
  return efforts.toSorted((left, right) => distance(left) - distance(right))[0];
}
