import type { VendorAccepts } from '../../core/accepts.ts';
import { ANY_MEDIA, CACHED_TOKENS, CACHE_WRITE_TOKENS, NO_MEDIA, OPEN_MODELS, PASSED_ON, STRINGS } from './usual.ts';
import { ANY_SCHEMA, COMPLETED } from './schemas.ts';

/**
 * What a server of the chat completions API accepts of which nothing is known: the forms that every template takes, as
 * far as nothing is lost by them. A program says with `quirks.conversation` what its server takes besides.
 */
export const ANY_SERVER: VendorAccepts = {
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
      source:
        'templates of Qwen, Mistral, DeepSeek and Llama as vLLM, SGLang, llama.cpp and LM Studio run them; vllm#41114, llama.cpp#20733, openclaude#806, 2026-11',
    },
    schemas: {
      tools: COMPLETED,
      strictTools: undefined,
      formats: undefined,
      looseFormats: ANY_SCHEMA,
      formatsWithTools: true,
      source: 'nothing is known',
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
      source: 'nothing is known',
    },
    parameters: {
      refused: [],
      refusedWhileReasoning: [],
      exclusive: [],
      maxTemperature: 2,
      maxOutput: undefined,
      usualOutput: undefined,
      forcedTools: 'always',
      wire: 'chat',
      toolsWire: 'chat',
      source: 'nothing is known',
    },
    usage: {
      cachedTokens: CACHED_TOKENS,
      cacheWriteTokens: CACHE_WRITE_TOKENS,
      source: 'nothing is known',
    },
  },
  families: [
    ...OPEN_MODELS,
    ...PASSED_ON,
    {
      models: /^(?:deepseek-(?:v[4-9]|reasoner|chat)|kimi-k2-thinking|kimi-k(?:2[.-][5-9]|[3-9]))/,
      accepts: { reasoning: { history: 'required' } },
      source: 'api-docs.deepseek.com/guides/thinking_mode, platform.moonshot.ai/docs; hermes-agent#14973, 2026-11',
    },
  ],
};
