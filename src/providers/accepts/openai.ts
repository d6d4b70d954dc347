/** What OpenAI accepts. */
import { parametersLackedBy } from '../../catalog/lacked-parameters.ts';
import type { ParameterName } from '../../catalog/model.ts';
import type { FamilyAccepts, VendorAccepts } from '../../core/accepts.ts';
import { CACHED_TOKENS, CACHE_WRITE_TOKENS, LISTS_EVERYWHERE, NO_MEDIA } from './usual.ts';
import { ANY_SCHEMA, OPENAI_HELD, OPENAI_TOOLS } from './schemas.ts';

/** What samples a model's words, which models refuse while they reason. */
const SAMPLING: readonly ParameterName[] = [
  'temperature',
  'top_p',
  'frequency_penalty',
  'presence_penalty',
  'logprobs',
  'top_logprobs',
  'logit_bias',
];
const SAMPLING_AND_STOP: readonly ParameterName[] = [...SAMPLING, 'stop'];
const NO_PARALLEL: readonly ParameterName[] = [...SAMPLING, 'parallel_tool_calls'];

const NO_WORDS = parametersLackedBy('openai');

const CODEX = { wire: 'responses', refused: [...NO_WORDS, ...SAMPLING_AND_STOP] } as const;
const REASONING_GUIDE = 'developers.openai.com/api/docs/guides/reasoning, developers.openai.com/api/docs/models';

/** What families of models at OpenAI take differently, also where Azure serves them. */
export const OPENAI_MODELS: readonly FamilyAccepts[] = [
  {
    models: /^(?:ft:)?(?:gpt-[34]|chatgpt-|gpt-5(?:\.\d+)?-chat|gpt-5-search|gpt-audio|gpt-realtime)/,
    accepts: { reasoning: { efforts: [], byDefault: false } },
    source: `${REASONING_GUIDE}; ccs#344, 2026-11`,
  },
  {
    models: /^o1-(?:mini|preview)/,
    accepts: { reasoning: { efforts: [] }, parameters: { refused: [...NO_WORDS, ...NO_PARALLEL, 'tools'] } },
    source: `${REASONING_GUIDE}, 2026-11`,
  },
  {
    models: /^(?:o\d(?:-mini)?-(?:pro|deep-research)|codex-mini|computer-use)/,
    accepts: { reasoning: { efforts: ['low', 'medium', 'high'] }, parameters: CODEX },
    source: 'goose#2564, 2026-11',
  },
  {
    models: /^o1/,
    accepts: {
      reasoning: { efforts: ['low', 'medium', 'high'] },
      parameters: { refused: [...NO_WORDS, ...NO_PARALLEL] },
    },
    source: `${REASONING_GUIDE}, 2026-11`,
  },
  {
    models: /^o\d/,
    accepts: {
      reasoning: { efforts: ['low', 'medium', 'high'] },
      parameters: { refused: [...NO_WORDS, ...NO_PARALLEL, 'stop'] },
    },
    source: `${REASONING_GUIDE}; qwen-code#921, 2026-11`,
  },
  {
    models: /^gpt-5-pro/,
    accepts: { reasoning: { efforts: ['high'] }, parameters: CODEX },
    source: `${REASONING_GUIDE}, 2026-11`,
  },
  {
    models: /^gpt-\d+(?:\.\d+)?-pro/,
    accepts: { reasoning: { efforts: ['medium', 'high', 'xhigh'] }, parameters: CODEX },
    source: `${REASONING_GUIDE}, 2026-11`,
  },
  {
    models: /^gpt-5(?:\.1)?-codex(?!-max)/,
    accepts: { reasoning: { efforts: ['low', 'medium', 'high'] }, parameters: CODEX },
    source: 'tmuxai#82, puter#2110, RayBytes/ChatMock#80, 2026-11',
  },
  {
    models: /^gpt-\d+(?:\.\d+)?-codex/,
    accepts: { reasoning: { efforts: ['low', 'medium', 'high', 'xhigh'] }, parameters: CODEX },
    source: 'chatwise-releases#1256, numman-ali/opencode-openai-codex-auth 4.1.1, 2026-11',
  },
  {
    models: /^gpt-5(?:-|$)/,
    accepts: {
      reasoning: { efforts: ['minimal', 'low', 'medium', 'high'] },
      parameters: { refused: [...NO_WORDS, ...SAMPLING_AND_STOP] },
    },
    source: `${REASONING_GUIDE}; opencode#4451, truefoundry/models#1665, 2026-11`,
  },
  {
    models: /^gpt-5\.1/,
    accepts: {
      reasoning: { efforts: ['none', 'low', 'medium', 'high'], byDefault: false },
      parameters: { refused: [...NO_WORDS, 'stop'], refusedWhileReasoning: SAMPLING },
    },
    source: 'openai-agents-python#2089, llmgateway#3879, 2026-11',
  },
  {
    models: /^gpt-5\.[23]/,
    accepts: {
      reasoning: { efforts: ['none', 'low', 'medium', 'high', 'xhigh'], byDefault: false },
      parameters: { refused: [...NO_WORDS, 'stop'], refusedWhileReasoning: SAMPLING },
    },
    source: `${REASONING_GUIDE}; livekit/agents#7169, 2026-11`,
  },
  {
    models: /^gpt-5\.[45]/,
    accepts: {
      reasoning: { efforts: ['none', 'low', 'medium', 'high', 'xhigh'], byDefault: false },
      parameters: { refused: [...NO_WORDS, 'stop'], refusedWhileReasoning: SAMPLING, toolsWire: 'responses' },
    },
    source: 'openai-openapi#541, docs.rs/crate/meerkat-core, 2026-11',
  },
  {
    models: /^gpt-(?:5\.[6-9]|[6-9]|\d\d)/,
    accepts: {
      reasoning: { efforts: ['none', 'low', 'medium', 'high', 'xhigh'] },
      parameters: { refused: [...NO_WORDS, 'stop'], refusedWhileReasoning: SAMPLING, toolsWire: 'responses' },
    },
    source: 'litellm#34569, LibreChat#14355, livekit/agents#7169, inspect_ai#5172, 2026-11',
  },
];

/** What OpenAI accepts on chat completions. */
export const OPENAI: VendorAccepts = {
  all: {
    conversation: {
      systemTurns: 'anywhere',
      turns: 'any',
      calls: 'many',
      afterResults: 'any',
      lists: LISTS_EVERYWHERE,
      nullContent: true,
      media: { user: ['image', 'audio', 'file'], assistant: NO_MEDIA, tool: NO_MEDIA },
      fileNames: 'required',
      fileAddresses: false,
      prefill: 'plain',
      toolIds: 'at-most-40',
      source: 'platform.openai.com/docs/api-reference/chat/create; OpenHands#7700, openai-agents-python#1513, 2026-11',
    },
    schemas: {
      tools: OPENAI_TOOLS,
      strictTools: OPENAI_HELD,
      formats: OPENAI_HELD,
      looseFormats: ANY_SCHEMA,
      formatsWithTools: true,
      source: 'platform.openai.com/docs/guides/structured-outputs; langchainjs#9804, mcp-grafana#390, 2026-11',
    },
    reasoning: {
      efforts: ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'],
      byDefault: true,
      control: 'effort',
      budget: undefined,
      off: 'lowest',
      mostEffortWhenOff: undefined,
      hidden: false,
      history: 'never',
      source: 'platform.openai.com/docs/api-reference/chat/create, 2026-11',
    },
    parameters: {
      refused: NO_WORDS,
      refusedWhileReasoning: [],
      exclusive: [],
      maxTemperature: 2,
      maxOutput: undefined,
      usualOutput: undefined,
      forcedTools: 'always',
      wire: 'chat',
      toolsWire: 'chat',
      source: 'platform.openai.com/docs/api-reference/chat/create, 2026-11',
    },
    usage: {
      cachedTokens: CACHED_TOKENS,
      cacheWriteTokens: CACHE_WRITE_TOKENS,
      source: 'platform.openai.com/docs/api-reference/chat/create, 2026-11',
    },
  },
  families: OPENAI_MODELS,
};
