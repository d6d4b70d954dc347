import type { VendorAccepts } from '../../core/accepts.ts';
import { ANY_MEDIA, CACHED_TOKENS, CACHE_WRITE_TOKENS, NO_MEDIA, OPEN_MODELS, STRINGS } from './usual.ts';
import { COMPLETED } from './schemas.ts';

/** What Fireworks accepts. */
export const FIREWORKS: VendorAccepts = {
  all: {
    conversation: {
      systemTurns: 'first',
      turns: 'any',
      calls: 'many',
      afterResults: 'any',
      lists: STRINGS,
      media: { user: ANY_MEDIA, assistant: NO_MEDIA, tool: NO_MEDIA },
      fileNames: 'required',
      fileAddresses: false,
      prefill: 'plain',
      toolIds: 'any',
      source: 'docs.fireworks.ai/api-reference/post-chatcompletions; templates of the models that it serves, 2026-11',
    },
    schemas: {
      tools: COMPLETED,
      strictTools: undefined,
      formats: undefined,
      source: 'docs.fireworks.ai/api-reference/post-chatcompletions, 2026-11',
    },
    reasoning: {
      efforts: ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'],
      byDefault: true,
      history: 'optional',
      source: 'docs.fireworks.ai/api-reference/post-chatcompletions, 2026-11',
    },
    parameters: {
      refused: ['top_a', 'verbosity'],
      refusedWhileReasoning: [],
      maxTemperature: 2,
      wire: 'chat',
      toolsWire: 'chat',
      source: 'docs.fireworks.ai/api-reference/post-chatcompletions, 2026-11',
    },
    usage: {
      cachedTokens: CACHED_TOKENS,
      cacheWriteTokens: CACHE_WRITE_TOKENS,
      source: 'docs.fireworks.ai/api-reference/post-chatcompletions, 2026-11',
    },
    refusals: { wordings: [], source: 'docs.fireworks.ai/api-reference/post-chatcompletions, 2026-11' },
  },
  families: OPEN_MODELS,
};
