import type { VendorAccepts } from '../../core/accepts.ts';
import { ANY_MEDIA, ANY_SCHEMA, CACHED_TOKENS, CACHE_WRITE_TOKENS, LISTS, NO_MEDIA } from './usual.ts';

/** What xAI accepts. */
export const XAI: VendorAccepts = {
  all: {
    conversation: {
      systemTurns: 'anywhere',
      turns: 'any',
      afterResults: 'any',
      lists: LISTS,
      media: { user: ANY_MEDIA, assistant: NO_MEDIA, tool: NO_MEDIA },
      fileNames: 'required',
      fileAddresses: false,
      prefill: 'plain',
      toolIds: 'any',
      source: 'docs.x.ai/docs/api-reference, 2026-11',
    },
    schemas: {
      tools: ANY_SCHEMA,
      strictTools: ANY_SCHEMA,
      formats: ANY_SCHEMA,
      source: 'docs.x.ai/docs/api-reference, 2026-11',
    },
    reasoning: {
      efforts: ['none', 'low', 'medium', 'high'],
      history: 'optional',
      source: 'docs.x.ai/docs/api-reference, 2026-11',
    },
    parameters: {
      refused: ['top_k', 'min_p', 'top_a', 'repetition_penalty', 'verbosity', 'prediction'],
      maxTemperature: 2,
      toolsWire: 'chat',
      source: 'docs.x.ai/docs/api-reference, 2026-11',
    },
    usage: {
      cachedTokens: CACHED_TOKENS,
      cacheWriteTokens: CACHE_WRITE_TOKENS,
      source: 'docs.x.ai/docs/api-reference, 2026-11',
    },
    refusals: { wordings: [], source: 'docs.x.ai/docs/api-reference, 2026-11' },
  },
  families: [],
};
