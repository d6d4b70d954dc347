/** Decides the thinking budget and the token limit of a request to Anthropic. */
import type { Endpoint } from '../../catalog/endpoint.ts';
import type { NormalizedRequest } from '../../contracts/request.ts';
import type { AcceptedReasoning, Accepts } from '../../core/accepts.ts';
import { REASONING_EFFORTS, type ReasoningEffort } from '../../protocol/reasoning.ts';
import { limited, nearest, type Note } from '../adjustments.ts';
import { EFFORT_SHARES } from '../codec.ts';
import type { RequestTurn } from './blocks.ts';

/** How the model is told to think, and how long its answer may be. */
export interface ThinkingPlan {
  /** Value of `thinking`; absent when the model's own default holds. */
  readonly thinking?: Readonly<Record<string, unknown>> | undefined;
  readonly effort?: ReasoningEffort | undefined;
  readonly maxTokens: number;
  /** Whether the request switches thinking on, so that no sampling parameters are taken. */
  readonly on: boolean;
  /** Whether it does so with a budget, so that no tool call can be forced. */
  readonly budgeted: boolean;
}

/** Answers are no longer than that where nothing is known of the model. */
const USUAL_OUTPUT = 4_096;

/** Notes a limit and an effort that are not those that were requested. */
export function noteThinking(request: NormalizedRequest, plan: ThinkingPlan, accepts: Accepts, note: Note): void {
  const { max_completion_tokens: limit } = request.parameters;
  if (limit !== undefined && limit !== plan.maxTokens) note(limited('max_tokens', plan.maxTokens));
  const wanted = wantedEffort(request);
  const { control } = accepts.reasoning;
  if (wanted !== undefined && !isAsRequested(wanted, plan, control))
    note(nearest('reasoning_effort', effortOfPlan(plan)));
}

/** Budgets are shares of the limit that stand for an effort, so any of them is as asked. */
function isAsRequested(
  wanted: ReasoningEffort,
  { on, budgeted: hasBudget, thinking, effort }: ThinkingPlan,
  control: AcceptedReasoning['control'],
): boolean {
  if (wanted === 'none') return !on && (control === 'none' || thinking?.['type'] === 'disabled');
  return on && (hasBudget || effort === wanted);
}

/** What a plan says of how much the model should think; undefined where it says nothing. */
function effortOfPlan({ on, thinking, effort }: ThinkingPlan): string | undefined {
  return on || thinking === undefined ? effort : String(thinking['type']);
}

/** Plans thinking and the token limit together: a budget must be smaller than the limit. */
export function planThinking(
  request: NormalizedRequest,
  endpoint: Endpoint,
  { reasoning: rules, parameters }: Accepts,
  turns: readonly RequestTurn[],
): ThinkingPlan {
  const known = knownEfforts(rules, endpoint);
  const most = endpoint.maxOutputTokens ?? parameters.maxOutput;
  const limit = most ?? parameters.usualOutput ?? USUAL_OUTPUT;
  const requested = request.parameters.max_completion_tokens;
  const maxTokens = most === undefined ? (requested ?? limit) : Math.min(requested ?? limit, limit);
  const style = effortOf(request.parameters.verbosity, known);
  const wanted = wantedEffort(request);
  const budget = request.reasoning?.maxTokens;
  const base = { maxTokens, effort: style, on: false, budgeted: false };
  if (rules.control === 'none' || (wanted === undefined && budget === undefined)) return base;
  if (wanted === 'none') return withoutThinking(base, rules, endpoint, known);
  const counted = rules.control === 'budget' || (rules.control === 'either' && budget !== undefined);
  if (!counted)
    return adaptive(request, base, rules, effortOf(wanted ?? effortOfBudget(budget ?? 0, maxTokens), known));
  // A turn that went on to call tools without thinking cannot be continued with it.
  if (callsWithoutThinking(turns)) return base;
  return budgeted(base, budget ?? maxTokens * EFFORT_SHARES[wanted ?? 'medium'], Math.max(limit, maxTokens), rules);
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
  { hidden }: AcceptedReasoning,
  effort: ReasoningEffort | undefined,
): ThinkingPlan {
  const display = reasoning?.exclude === true ? 'omitted' : 'summarized';
  return {
    ...base,
    on: true,
    thinking: { type: 'adaptive', ...(hidden ? { display } : {}) },
    effort: effort ?? base.effort,
  };
}

/** The limit grows where the budget would leave no room for an answer. */
function budgeted(
  base: ThinkingPlan,
  wanted: number,
  mostTokens: number,
  { budget: bounds }: AcceptedReasoning,
): ThinkingPlan {
  if (bounds === undefined) return base;
  const budget = Math.min(Math.max(Math.floor(wanted), bounds.least), bounds.most);
  const maxTokens = budget < base.maxTokens ? base.maxTokens : Math.min(budget + base.maxTokens, mostTokens);
  const left = Math.min(budget, maxTokens - 1);
  if (left < bounds.least) return base;
  return { ...base, maxTokens, on: true, budgeted: true, thinking: { type: 'enabled', budget_tokens: left } };
}

/** Models think by default, so that silence would not switch it off. */
function withoutThinking(
  base: ThinkingPlan,
  { off, mostEffortWhenOff }: AcceptedReasoning,
  { reasoning }: Endpoint,
  known: readonly ReasoningEffort[],
): ThinkingPlan {
  if (off === 'lowest' || reasoning?.mandatory === true) return { ...base, effort: known[0] ?? base.effort };
  const most = mostEffortWhenOff === undefined ? known.length : known.indexOf(mostEffortWhenOff) + 1;
  const effort = base.effort && (known.indexOf(base.effort) < most ? base.effort : known[most - 1]);
  return { ...base, effort, thinking: { type: off } };
}

/** The efforts of the model that the endpoint does not rule out, from the lowest. */
function knownEfforts({ efforts }: AcceptedReasoning, { reasoning }: Endpoint): readonly ReasoningEffort[] {
  const declared = reasoning?.efforts;
  return declared === undefined ? efforts : efforts.filter((effort) => declared.includes(effort));
}

/** The known effort nearest to the wanted one from below, or the lowest there is. */
function effortOf(wanted: string | undefined, known: readonly ReasoningEffort[]): ReasoningEffort | undefined {
  const from = REASONING_EFFORTS.findIndex((effort) => effort === wanted);
  if (from < 0) return undefined;
  const reachable = new Set<string>(REASONING_EFFORTS.slice(from));
  return known.findLast((effort) => reachable.has(effort)) ?? known[0];
}

/** The weakest effort whose share of the limit applies a budget. */
function effortOfBudget(budget: number, maxTokens: number): ReasoningEffort {
  const share = budget / maxTokens;
  return (['minimal', 'low', 'medium', 'high'] as const).find((effort) => share <= EFFORT_SHARES[effort]) ?? 'max';
}

function callsWithoutThinking(turns: readonly RequestTurn[]): boolean {
  const resultsLast = turns.at(-1)?.content[0]?.type === 'tool_result';
  const first = turns.at(-2)?.content[0]?.type;
  return resultsLast && first !== 'thinking' && first !== 'redacted_thinking';
}

/** The name that the API knows: versions are written with dashes there, and with dots elsewhere. */
export function wireModelName(upstreamModel: string): string {
  return upstreamModel.startsWith('claude-') ? upstreamModel.replaceAll('.', '-') : upstreamModel;
}
