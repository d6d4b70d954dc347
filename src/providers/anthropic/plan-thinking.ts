import type { Endpoint } from '../../catalog/endpoint.ts';
import type { NormalizedRequest } from '../../core/normalize/normalized-request.ts';
import { REASONING_EFFORTS, type ReasoningEffort } from '../../protocol/reasoning.ts';
import { EFFORT_SHARES } from '../effort-shares.ts';
import type { Turn } from './blocks.ts';
import type { ClaudeEffort, ModelRules } from './model-rules.ts';

/** How the model is told to think, and how long its answer may be. */
export interface ThinkingPlan {
  /** Value of `thinking`; absent when the model's own default holds. */
  readonly thinking?: Readonly<Record<string, unknown>> | undefined;
  readonly effort?: ClaudeEffort | undefined;
  readonly maxTokens: number;
  /** Whether the request switches thinking on, so that no sampling parameters are taken. */
  readonly on: boolean;
  /** Whether it does so with a budget, so that no tool call can be forced. */
  readonly budgeted: boolean;
}

/** Budgets that the API takes, in tokens. */
const LEAST_BUDGET = 1_024;
const MOST_BUDGET = 128_000;

/** Plans thinking and the token limit together: a budget must be smaller than the limit. */
export function planThinking(
  request: NormalizedRequest,
  endpoint: Endpoint,
  rules: ModelRules,
  turns: readonly Turn[],
): ThinkingPlan {
  const known = knownEfforts(rules, endpoint);
  const limit = endpoint.maxOutputTokens ?? rules.maxOutputTokens;
  const asked = request.parameters.max_completion_tokens;
  const lowered =
    rules.knowsMaxOutput || endpoint.maxOutputTokens !== undefined ? Math.min(asked ?? limit, limit) : asked;
  const maxTokens = lowered ?? limit;
  const style = effortOf(request.parameters.verbosity, known);
  const wanted = wantedEffort(request);
  const budget = request.reasoning?.maxTokens;
  const base = { maxTokens, effort: style, on: false, budgeted: false };
  if (rules.thinking === 'none' || (wanted === undefined && budget === undefined)) return base;
  if (wanted === 'none') return withoutThinking(base, rules, endpoint, known);
  const counted = rules.thinking === 'budget' || (rules.thinking === 'either' && budget !== undefined);
  if (!counted) return adaptive(request, base, rules, known, wanted ?? effortOfBudget(budget ?? 0, maxTokens));
  // A turn that went on to call tools without thinking cannot be continued with it.
  if (callsWithoutThinking(turns)) return base;
  return budgeted(base, budget ?? maxTokens * EFFORT_SHARES[wanted ?? 'medium'], Math.max(limit, maxTokens));
}

/** The last change of effort inside the conversation counts before the request's own. */
function wantedEffort({ messages, reasoning }: NormalizedRequest): ReasoningEffort | undefined {
  for (const message of messages.toReversed()) {
    if (message.role !== 'system' && message.role !== 'developer') continue;
    const effort = message.configuration_update?.reasoning.effort;
    if (effort != null) return effort;
  }
  return reasoning?.effort;
}

function adaptive(
  { reasoning }: NormalizedRequest,
  base: ThinkingPlan,
  { hidesThinking }: ModelRules,
  known: readonly ClaudeEffort[],
  wanted: ReasoningEffort,
): ThinkingPlan {
  const display = reasoning?.exclude === true ? 'omitted' : 'summarized';
  return {
    ...base,
    on: true,
    thinking: { type: 'adaptive', ...(hidesThinking ? { display } : {}) },
    effort: effortOf(wanted, known) ?? base.effort,
  };
}

/** The limit grows where the budget would leave no room for an answer. */
function budgeted(base: ThinkingPlan, wanted: number, mostTokens: number): ThinkingPlan {
  const budget = Math.min(Math.max(Math.floor(wanted), LEAST_BUDGET), MOST_BUDGET);
  const maxTokens = budget < base.maxTokens ? base.maxTokens : Math.min(budget + base.maxTokens, mostTokens);
  const left = Math.min(budget, maxTokens - 1);
  if (left < LEAST_BUDGET) return base;
  return { ...base, maxTokens, on: true, budgeted: true, thinking: { type: 'enabled', budget_tokens: left } };
}

/** Models think by default, so that silence would not switch it off. */
function withoutThinking(
  base: ThinkingPlan,
  { off, mostEffortWhenOff }: ModelRules,
  { reasoning }: Endpoint,
  known: readonly ClaudeEffort[],
): ThinkingPlan {
  if (off === 'effort' || reasoning?.mandatory === true) return { ...base, effort: known[0] ?? base.effort };
  const most = mostEffortWhenOff === undefined ? known.length : known.indexOf(mostEffortWhenOff) + 1;
  const effort = base.effort && (known.indexOf(base.effort) < most ? base.effort : known[most - 1]);
  return { ...base, effort, thinking: { type: off } };
}

/** The efforts of the model that the endpoint does not rule out, from the lowest. */
function knownEfforts({ efforts }: ModelRules, { reasoning }: Endpoint): readonly ClaudeEffort[] {
  const declared = reasoning?.efforts;
  return declared === undefined ? efforts : efforts.filter((effort) => declared.includes(effort));
}

/** The known effort nearest to the wanted one from below, or the lowest there is. */
function effortOf(wanted: string | undefined, known: readonly ClaudeEffort[]): ClaudeEffort | undefined {
  const from = REASONING_EFFORTS.findIndex((effort) => effort === wanted);
  if (from < 0) return undefined;
  const reachable = new Set<string>(REASONING_EFFORTS.slice(from));
  return known.findLast((effort) => reachable.has(effort)) ?? known[0];
}

/** The weakest effort whose share of the limit holds a budget. */
function effortOfBudget(budget: number, maxTokens: number): ReasoningEffort {
  const share = budget / maxTokens;
  return (['minimal', 'low', 'medium', 'high'] as const).find((effort) => share <= EFFORT_SHARES[effort]) ?? 'max';
}

function callsWithoutThinking(turns: readonly Turn[]): boolean {
  const resultsLast = turns.at(-1)?.content[0]?.type === 'tool_result';
  const first = turns.at(-2)?.content[0]?.type;
  return resultsLast && first !== 'thinking' && first !== 'redacted_thinking';
}
