/** What OpenAI's model families take, from the pages of the models and reports of refusals. */

/** A family of OpenAI's models. */
interface ModelFamily {
  readonly name: RegExp;
  /** Efforts that it takes; none where it does not reason. */
  readonly efforts: readonly string[];
  /** Whether it refuses `temperature`, `top_p` and penalties: always, or where its effort is not `none`. */
  readonly fixedSampling: 'always' | 'while reasoning' | 'never';
  /** Whether it does not reason where nothing is said. */
  readonly isNoneByDefault: boolean;
  /** Whether it refuses `stop`. */
  readonly refusesStop: boolean;
  /** Whether functions need the Responses API, or the effort `none`. */
  readonly toolsOnResponses: boolean;
}

const CHAT_MODEL = {
  efforts: [],
  fixedSampling: 'never',
  isNoneByDefault: false,
  refusesStop: false,
  toolsOnResponses: false,
} as const;
const REASONING = {
  fixedSampling: 'always',
  isNoneByDefault: false,
  refusesStop: true,
  toolsOnResponses: false,
} as const;
const FROM_NONE = { ...REASONING, fixedSampling: 'while reasoning', isNoneByDefault: true } as const;

/**
 * Families, the first that fits counts. Sources: OpenAI, API reference "reasoning_effort" and pages of the models
 * (2026-11); kaitranntt/ccs, issue 344; anomalyco/opencode, issue 4451; EleutherAI/lm-evaluation-harness, pull request
 * 3247 (stop); johny-b/llmcomp, issue 69 (temperature of 5.4); openai/openai-openapi, issue 541 (tools of 5.6).
 */
const FAMILIES: readonly ModelFamily[] = [
  { ...CHAT_MODEL, name: /^gpt-5(?:\.\d)?-chat/ },
  { ...REASONING, name: /^o\d/, efforts: ['low', 'medium', 'high'] },
  { ...REASONING, name: /^gpt-5-pro/, efforts: ['high'] },
  { ...REASONING, name: /^gpt-5(?:-|$)/, efforts: ['minimal', 'low', 'medium', 'high'] },
  { ...FROM_NONE, name: /^gpt-5\.1/, efforts: ['none', 'low', 'medium', 'high'] },
  { ...FROM_NONE, name: /^gpt-5\.[2-4]/, efforts: ['none', 'low', 'medium', 'high', 'xhigh'] },
  { ...FROM_NONE, name: /^gpt-5\.5/, efforts: ['none', 'low', 'medium', 'high', 'xhigh'], isNoneByDefault: false },
  {
    ...FROM_NONE,
    name: /^gpt-(?:5\.[6-9]|[6-9])/,
    efforts: ['none', 'low', 'medium', 'high', 'xhigh', 'max'],
    isNoneByDefault: false,
    toolsOnResponses: true,
  },
];

/** The family of a model; one that does not reason where none is known. */
export function openaiFamily(model: string): ModelFamily {
  return FAMILIES.find(({ name }) => name.test(model)) ?? { ...CHAT_MODEL, name: /^/ };
}
