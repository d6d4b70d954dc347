import type { VendorAccepts } from '../../core/accepts.ts';
import { ANY_MEDIA, ANY_SCHEMA, CACHED_TOKENS, CACHE_WRITE_TOKENS, NO_MEDIA, OPEN_MODELS, STRINGS } from './usual.ts';

/** What DeepInfra accepts. */
export const DEEPINFRA: VendorAccepts = {
  all: {
    conversation: {
      systemTurns: 'first',
      turns: 'any',
      afterResults: 'any',
      lists: STRINGS,
      media: { user: ANY_MEDIA, assistant: NO_MEDIA, tool: NO_MEDIA },
      fileNames: 'required',
      fileAddresses: false,
      prefill: 'plain',
      toolIds: 'any',
      source: 'deepinfra.com/docs/openai_api; templates of the models that it serves, 2026-11',
    },
    schemas: {
      tools: ANY_SCHEMA,
      strictTools: ANY_SCHEMA,
      formats: ANY_SCHEMA,
      source: 'deepinfra.com/docs/openai_api, 2026-11',
    },
    reasoning: {
      efforts: ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'],
      history: 'optional',
      source: 'deepinfra.com/docs/openai_api, 2026-11',
    },
    parameters: {
      refused: ['top_a', 'verbosity', 'prediction'],
      maxTemperature: 2,
      toolsWire: 'chat',
      source: 'deepinfra.com/docs/openai_api, 2026-11',
    },
    usage: {
      cachedTokens: CACHED_TOKENS,
      cacheWriteTokens: CACHE_WRITE_TOKENS,
      source: 'deepinfra.com/docs/openai_api, 2026-11',
    },
    refusals: { wordings: [], source: 'deepinfra.com/docs/openai_api, 2026-11' },
  },
  families: OPEN_MODELS,
};
