import type { VendorAccepts } from '../../core/accepts.ts';
import { ANY_MEDIA, ANY_SCHEMA, CACHED_TOKENS, CACHE_WRITE_TOKENS, LISTS, NO_MEDIA, OPEN_MODELS } from './usual.ts';

/** What OpenRouter accepts; it adapts most itself. */
export const OPENROUTER: VendorAccepts = {
  all: {
    conversation: {
      systemTurns: 'anywhere',
      turns: 'any',
      afterResults: 'any',
      lists: LISTS,
      media: { user: ANY_MEDIA, assistant: NO_MEDIA, tool: NO_MEDIA },
      fileNames: 'optional',
      fileAddresses: true,
      prefill: 'plain',
      toolIds: 'any',
      source: 'openrouter.ai/docs/api-reference; crush#279, 2026-11',
    },
    schemas: {
      tools: ANY_SCHEMA,
      strictTools: ANY_SCHEMA,
      formats: ANY_SCHEMA,
      source: 'openrouter.ai/docs/api-reference, 2026-11',
    },
    reasoning: {
      efforts: ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'],
      history: 'optional',
      source: 'openrouter.ai/docs/api-reference, 2026-11',
    },
    parameters: {
      refused: [],
      maxTemperature: 2,
      toolsWire: 'chat',
      source: 'openrouter.ai/docs/api-reference, 2026-11',
    },
    usage: {
      cachedTokens: CACHED_TOKENS,
      cacheWriteTokens: CACHE_WRITE_TOKENS,
      source: 'openrouter.ai/docs/api-reference, 2026-11',
    },
    refusals: { wordings: [], source: 'openrouter.ai/docs/api-reference, 2026-11' },
  },
  families: OPEN_MODELS,
};
