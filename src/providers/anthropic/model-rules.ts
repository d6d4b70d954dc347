import type { Endpoint } from '../../catalog/endpoint.ts';

/** An effort, as the wire names it. */
export type ClaudeEffort = 'low' | 'medium' | 'high' | 'xhigh' | 'max';

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
  /** Whether system messages may stand between the others. */
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
