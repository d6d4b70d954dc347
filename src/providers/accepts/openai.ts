import type { VendorAccepts } from '../../core/accepts.ts';
import { ANY_SCHEMA, CACHED_TOKENS, CACHE_WRITE_TOKENS, LISTS, NO_MEDIA } from './usual.ts';

/** What OpenAI accepts on chat completions. */
export const OPENAI: VendorAccepts = {
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
      source: 'platform.openai.com/docs/api-reference/chat/create; OpenHands#7700, openai-agents-python#1513, 2026-11',
    },
    schemas: {
      tools: ANY_SCHEMA,
      strictTools: ANY_SCHEMA,
      formats: ANY_SCHEMA,
      source: 'platform.openai.com/docs/api-reference/chat/create, 2026-11',
    },
    reasoning: {
      efforts: ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'],
      history: 'never',
      source: 'platform.openai.com/docs/api-reference/chat/create, 2026-11',
    },
    parameters: {
      refused: ['top_k', 'min_p', 'top_a', 'repetition_penalty'],
      maxTemperature: 2,
      toolsWire: 'chat',
      source: 'platform.openai.com/docs/api-reference/chat/create, 2026-11',
    },
    usage: {
      cachedTokens: CACHED_TOKENS,
      cacheWriteTokens: CACHE_WRITE_TOKENS,
      source: 'platform.openai.com/docs/api-reference/chat/create, 2026-11',
    },
    refusals: { wordings: [], source: 'platform.openai.com/docs/api-reference/chat/create, 2026-11' },
  },
  families: [],
};
