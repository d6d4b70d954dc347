import type { VendorAccepts } from '../../core/accepts.ts';
import { ANY_SCHEMA, CACHED_TOKENS, CACHE_WRITE_TOKENS, LISTS, NO_MEDIA } from './usual.ts';

/** What Azure OpenAI accepts on its v1 surface. */
export const AZURE: VendorAccepts = {
  all: {
    conversation: {
      systemTurns: 'anywhere',
      turns: 'any',
      afterResults: 'any',
      lists: LISTS,
      media: { user: ['image', 'audio', 'file'], assistant: NO_MEDIA, tool: NO_MEDIA },
      fileNames: 'required',
      fileAddresses: false,
      prefill: 'plain',
      toolIds: 'any',
      source: 'learn.microsoft.com/azure/ai-foundry/openai/reference, 2026-11',
    },
    schemas: {
      tools: ANY_SCHEMA,
      strictTools: ANY_SCHEMA,
      formats: ANY_SCHEMA,
      source: 'learn.microsoft.com/azure/ai-foundry/openai/reference, 2026-11',
    },
    reasoning: {
      efforts: ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'],
      history: 'never',
      source: 'learn.microsoft.com/azure/ai-foundry/openai/reference, 2026-11',
    },
    parameters: {
      refused: ['top_k', 'min_p', 'top_a', 'repetition_penalty'],
      maxTemperature: 2,
      toolsWire: 'chat',
      source: 'learn.microsoft.com/azure/ai-foundry/openai/reference, 2026-11',
    },
    usage: {
      cachedTokens: CACHED_TOKENS,
      cacheWriteTokens: CACHE_WRITE_TOKENS,
      source: 'learn.microsoft.com/azure/ai-foundry/openai/reference, 2026-11',
    },
    refusals: { wordings: [], source: 'learn.microsoft.com/azure/ai-foundry/openai/reference, 2026-11' },
  },
  families: [],
};
