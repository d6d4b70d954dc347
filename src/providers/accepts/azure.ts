import { parametersLackedBy } from '../../catalog/lacked-parameters.ts';
import type { VendorAccepts } from '../../core/accepts.ts';
import { CACHED_TOKENS, CACHE_WRITE_TOKENS, LISTS_EVERYWHERE, NO_MEDIA } from './usual.ts';
import { ANY_SCHEMA, OPENAI_HELD, OPENAI_TOOLS } from './schemas.ts';
import { OPENAI_MODELS } from './openai.ts';

/** What Azure OpenAI accepts on its v1 surface. */
export const AZURE: VendorAccepts = {
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
      source: 'learn.microsoft.com/azure/ai-foundry/openai/reference, 2026-11',
    },
    schemas: {
      tools: OPENAI_TOOLS,
      strictTools: OPENAI_HELD,
      formats: OPENAI_HELD,
      looseFormats: ANY_SCHEMA,
      formatsWithTools: true,
      source: 'learn.microsoft.com/azure/ai-foundry/openai/reference, 2026-11',
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
      source: 'learn.microsoft.com/azure/ai-foundry/openai/reference, 2026-11',
    },
    parameters: {
      refused: parametersLackedBy('azure'),
      refusedWhileReasoning: [],
      exclusive: [],
      maxTemperature: 2,
      maxOutput: undefined,
      usualOutput: undefined,
      forcedTools: 'always',
      wire: 'chat',
      toolsWire: 'chat',
      source: 'learn.microsoft.com/azure/ai-foundry/openai/reference, 2026-11',
    },
    usage: {
      cachedTokens: CACHED_TOKENS,
      cacheWriteTokens: CACHE_WRITE_TOKENS,
      source: 'learn.microsoft.com/azure/ai-foundry/openai/reference, 2026-11',
    },
  },
  families: OPENAI_MODELS,
};
