/** What Ollama, vLLM and LM Studio accept. */
import { parametersLackedBy } from '../../catalog/lacked-parameters.ts';
import type { VendorAccepts } from '../../core/accepts.ts';
import { ANY_MEDIA, CACHED_TOKENS, CACHE_WRITE_TOKENS, IMAGES, NO_MEDIA, OPEN_MODELS, STRINGS } from './usual.ts';
import { ANY_SCHEMA, COMPLETED } from './schemas.ts';

/** What Ollama accepts, whatever model it has loaded. */
export const OLLAMA: VendorAccepts = {
  all: {
    conversation: {
      systemTurns: 'first',
      turns: 'with-user',
      calls: 'many',
      afterResults: 'any',
      lists: STRINGS,
      nullContent: false,
      media: { user: IMAGES, assistant: NO_MEDIA, tool: NO_MEDIA },
      fileNames: 'required',
      fileAddresses: false,
      prefill: 'plain',
      toolIds: 'any',
      source: 'github.com/ollama/ollama/blob/main/docs/api/openai-compatibility.mdx; ollama#17774, 2026-11',
    },
    schemas: {
      tools: COMPLETED,
      strictTools: undefined,
      formats: undefined,
      looseFormats: ANY_SCHEMA,
      formatsWithTools: true,
      source: 'github.com/ollama/ollama/blob/main/docs/api/openai-compatibility.mdx, 2026-11',
    },
    reasoning: {
      efforts: ['none', 'low', 'medium', 'high'],
      byDefault: true,
      control: 'effort',
      budget: undefined,
      off: 'lowest',
      mostEffortWhenOff: undefined,
      hidden: false,
      history: 'optional',
      source: 'github.com/ollama/ollama/blob/main/docs/api/openai-compatibility.mdx, 2026-11',
    },
    parameters: {
      refused: parametersLackedBy('local'),
      refusedWhileReasoning: [],
      exclusive: [],
      maxTemperature: 2,
      maxOutput: undefined,
      usualOutput: undefined,
      forcedTools: 'always',
      wire: 'chat',
      toolsWire: 'chat',
      source: 'github.com/ollama/ollama/blob/main/docs/api/openai-compatibility.mdx, 2026-11',
    },
    usage: {
      cachedTokens: CACHED_TOKENS,
      cacheWriteTokens: CACHE_WRITE_TOKENS,
      source: 'github.com/ollama/ollama/blob/main/docs/api/openai-compatibility.mdx, 2026-11',
    },
  },
  families: OPEN_MODELS,
};

/** What vLLM accepts, whatever model it has loaded: the template of the model decides. */
export const VLLM: VendorAccepts = {
  all: {
    conversation: {
      systemTurns: 'first',
      turns: 'with-user',
      calls: 'many',
      afterResults: 'any',
      lists: STRINGS,
      nullContent: false,
      media: { user: ANY_MEDIA, assistant: NO_MEDIA, tool: NO_MEDIA },
      fileNames: 'required',
      fileAddresses: false,
      prefill: 'plain',
      toolIds: 'any',
      source: 'docs.vllm.ai/en/latest/serving/openai_compatible_server.html; vllm#41114, 2026-11',
    },
    schemas: {
      tools: COMPLETED,
      strictTools: undefined,
      formats: undefined,
      looseFormats: ANY_SCHEMA,
      formatsWithTools: true,
      source: 'docs.vllm.ai/en/latest/serving/openai_compatible_server.html, 2026-11',
    },
    reasoning: {
      efforts: ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'],
      byDefault: true,
      control: 'effort',
      budget: undefined,
      off: 'lowest',
      mostEffortWhenOff: undefined,
      hidden: false,
      history: 'optional',
      source: 'docs.vllm.ai/en/latest/serving/openai_compatible_server.html, 2026-11',
    },
    parameters: {
      refused: parametersLackedBy('local'),
      refusedWhileReasoning: [],
      exclusive: [],
      maxTemperature: 2,
      maxOutput: undefined,
      usualOutput: undefined,
      forcedTools: 'always',
      wire: 'chat',
      toolsWire: 'chat',
      source: 'docs.vllm.ai/en/latest/serving/openai_compatible_server.html, 2026-11',
    },
    usage: {
      cachedTokens: CACHED_TOKENS,
      cacheWriteTokens: CACHE_WRITE_TOKENS,
      source: 'docs.vllm.ai/en/latest/serving/openai_compatible_server.html, 2026-11',
    },
  },
  families: OPEN_MODELS,
};

/** What LM Studio accepts, whatever model it has loaded. */
export const LM_STUDIO: VendorAccepts = {
  all: {
    conversation: {
      systemTurns: 'first',
      turns: 'with-user',
      calls: 'many',
      afterResults: 'any',
      lists: STRINGS,
      nullContent: false,
      media: { user: IMAGES, assistant: NO_MEDIA, tool: NO_MEDIA },
      fileNames: 'required',
      fileAddresses: false,
      prefill: 'plain',
      toolIds: 'any',
      source: 'lmstudio.ai/docs/developer/openai-compat; claude-code#77698, 2026-11',
    },
    schemas: {
      tools: COMPLETED,
      strictTools: undefined,
      formats: undefined,
      looseFormats: ANY_SCHEMA,
      formatsWithTools: true,
      source: 'lmstudio.ai/docs/developer/openai-compat, 2026-11',
    },
    reasoning: {
      efforts: ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'],
      byDefault: true,
      control: 'effort',
      budget: undefined,
      off: 'lowest',
      mostEffortWhenOff: undefined,
      hidden: false,
      history: 'optional',
      source: 'lmstudio.ai/docs/developer/openai-compat, 2026-11',
    },
    parameters: {
      refused: parametersLackedBy('local'),
      refusedWhileReasoning: [],
      exclusive: [],
      maxTemperature: 2,
      maxOutput: undefined,
      usualOutput: undefined,
      forcedTools: 'always',
      wire: 'chat',
      toolsWire: 'chat',
      source: 'lmstudio.ai/docs/developer/openai-compat, 2026-11',
    },
    usage: {
      cachedTokens: CACHED_TOKENS,
      cacheWriteTokens: CACHE_WRITE_TOKENS,
      source: 'lmstudio.ai/docs/developer/openai-compat, 2026-11',
    },
  },
  families: OPEN_MODELS,
};
