import type { Endpoint } from '../../catalog/endpoint.ts';
import type { NormalizedRequest } from '../../core/normalize/normalized-request.ts';
import { REASONING_EFFORTS, type ReasoningEffort } from '../../protocol/reasoning.ts';
import { EFFORT_SHARES } from '../codec.ts';
import type { Turn } from './blocks.ts';

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

/** The weakest effort whose share of the limit applies a budget. */
function effortOfBudget(budget: number, maxTokens: number): ReasoningEffort {
  const share = budget / maxTokens;
  return (['minimal', 'low', 'medium', 'high'] as const).find((effort) => share <= EFFORT_SHARES[effort]) ?? 'max';
}

function callsWithoutThinking(turns: readonly Turn[]): boolean {
  const resultsLast = turns.at(-1)?.content[0]?.type === 'tool_result';
  const first = turns.at(-2)?.content[0]?.type;
  return resultsLast && first !== 'thinking' && first !== 'redacted_thinking';
}

/** An effort, as the wire names it. */
type ClaudeEffort = 'low' | 'medium' | 'high' | 'xhigh' | 'max';

/** What a model takes and what it refuses. */
export interface ModelRules {
  /** Whether `temperature`, `top_p` and `top_k` are taken; while thinking, none of them ever is. */
  readonly sampling: boolean;
  /** Whether `temperature` and `top_p` may come together. */
  readonly bothSamplers: boolean;
  /** How the model is told to think: it decides itself, it gets a budget, either, or it cannot. */
  readonly thinking: 'adaptive' | 'budget' | 'either' | 'none';
  /** How thinking is switched off; with `effort` it cannot be, and the lowest effort comes closest. */
  readonly off: 'disabled' | 'between_tools' | 'effort';
  /** Highest effort while thinking is switched off. Default: any. */
  readonly mostEffortWhenOff?: ClaudeEffort | undefined;
  /** Efforts, from the lowest; none when the model takes no effort at all. */
  readonly efforts: readonly ClaudeEffort[];
  /** Whether the text of thinking is only shown to those who ask for it. */
  readonly hidesThinking: boolean;
  /** Most tokens of one answer, and what is asked for when the caller names no limit. */
  readonly maxOutputTokens: number;
  /** Whether a larger limit is lowered to that; not where the model is only guessed at. */
  readonly knowsMaxOutput: boolean;
  /** Whether a tool call can be forced. */
  readonly forcedTools: boolean;
  /** Whether answers can be held to a JSON Schema. */
  readonly structuredOutputs: boolean;
  /** Whether the model goes on with an assistant message at the end. */
  readonly prefill: boolean;
  /** Whether system messages may be between the others. */
  readonly systemTurns: boolean;
}

const ALL_EFFORTS = ['low', 'medium', 'high', 'xhigh', 'max'] as const;

/** The line from Opus 4.7 on: thinks as it sees fit, and takes no sampling parameters. */
const CURRENT: ModelRules = {
  sampling: false,
  bothSamplers: false,
  thinking: 'adaptive',
  off: 'disabled',
  efforts: ALL_EFFORTS,
  hidesThinking: true,
  maxOutputTokens: 128_000,
  knowsMaxOutput: true,
  forcedTools: true,
  structuredOutputs: true,
  prefill: false,
  systemTurns: false,
};

const CLAUDE_4_6: ModelRules = {
  ...CURRENT,
  sampling: true,
  thinking: 'either',
  efforts: ['low', 'medium', 'high', 'max'],
  hidesThinking: false,
};

const CLAUDE_4_5: ModelRules = {
  ...CLAUDE_4_6,
  thinking: 'budget',
  efforts: [],
  maxOutputTokens: 64_000,
  prefill: true,
};

const CLAUDE_3: ModelRules = {
  ...CLAUDE_4_5,
  bothSamplers: true,
  thinking: 'none',
  maxOutputTokens: 4_096,
  structuredOutputs: false,
};

/** What is known of each model, by its name without a date. The only place where models are told apart. */
const MODELS: Readonly<Record<string, ModelRules>> = {
  'claude-sonnet-5-5': { ...CURRENT, off: 'between_tools', forcedTools: false },
  'claude-opus-5-5': { ...CURRENT, off: 'effort', forcedTools: false, systemTurns: true },
  'claude-haiku-5-5': { ...CURRENT, mostEffortWhenOff: 'high' },
  'claude-opus-5': { ...CURRENT, mostEffortWhenOff: 'high', systemTurns: true },
  'claude-sonnet-5': CURRENT,
  'claude-fable-5-2': { ...CURRENT, off: 'effort', forcedTools: false, systemTurns: true },
  'claude-fable-5-1': { ...CURRENT, off: 'effort', forcedTools: false, systemTurns: true },
  'claude-fable-5': { ...CURRENT, off: 'effort', systemTurns: true },
  'claude-mythos-5': { ...CURRENT, off: 'effort', systemTurns: true },
  'claude-opus-4-8': { ...CURRENT, systemTurns: true },
  'claude-opus-4-7': CURRENT,
  'claude-opus-4-6': CLAUDE_4_6,
  'claude-sonnet-4-6': CLAUDE_4_6,
  'claude-opus-4-5': { ...CLAUDE_4_5, efforts: ['low', 'medium', 'high'] },
  'claude-sonnet-4-5': CLAUDE_4_5,
  'claude-haiku-4-5': CLAUDE_4_5,
  'claude-opus-4-1': { ...CLAUDE_4_5, maxOutputTokens: 32_000 },
  'claude-opus-4': { ...CLAUDE_4_5, maxOutputTokens: 32_000, structuredOutputs: false },
  'claude-sonnet-4': { ...CLAUDE_4_5, structuredOutputs: false },
};

/** A model of a later line is taken to be like the current ones, but to refuse what some of them refuse. */
const UNKNOWN_CLAUDE: ModelRules = { ...CURRENT, mostEffortWhenOff: 'high', knowsMaxOutput: false };

/** Models of others behind this wire take what all models of it once took. */
const OTHER: ModelRules = { ...CLAUDE_3, thinking: 'budget', knowsMaxOutput: false };

/** The rules of the model behind an endpoint. */
export function rulesOf({ upstreamModel }: Pick<Endpoint, 'upstreamModel'>): ModelRules {
  const name = plainName(upstreamModel);
  if (name === undefined) return OTHER;
  if (Object.hasOwn(MODELS, name)) return MODELS[name] ?? UNKNOWN_CLAUDE;
  if (name.startsWith('claude-mythos')) return MODELS['claude-mythos-5'] ?? UNKNOWN_CLAUDE;
  return /^claude-(?:instant|v?[1-3](?:-|$))/.test(name) ? { ...CLAUDE_3, knowsMaxOutput: false } : UNKNOWN_CLAUDE;
}

/** The name that the API knows: versions are written with dashes there, and with dots elsewhere. */
export function wireModelName(upstreamModel: string): string {
  return upstreamModel.startsWith('claude-') ? upstreamModel.replaceAll('.', '-') : upstreamModel;
}

/** A model's name without prefixes of platforms, dates and revisions; undefined when it is no Claude. */
function plainName(upstreamModel: string): string | undefined {
  const name = upstreamModel.toLowerCase().replaceAll('.', '-');
  const start = name.indexOf('claude-');
  if (start < 0) return undefined;
  return name
    .slice(start)
    .replace(/[@:].*$/, '')
    .replace(/-v\d+$/, '')
    .replace(/-(?:\d{8}|latest)$/, '')
    .replace(/-0$/, '');
}
