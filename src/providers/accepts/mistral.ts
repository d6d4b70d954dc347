import type { VendorAccepts } from '../../core/accepts.ts';
import { CACHED_TOKENS, CACHE_WRITE_TOKENS, LISTS, NO_MEDIA } from './usual.ts';
import { COMPLETED } from './schemas.ts';

/** What Mistral accepts at its own address. */
export const MISTRAL: VendorAccepts = {
  all: {
    conversation: {
      systemTurns: 'first',
      turns: 'with-user',
      calls: 'many',
      afterResults: 'assistant',
      lists: LISTS,
      media: { user: ['image', 'audio', 'file'], assistant: NO_MEDIA, tool: NO_MEDIA },
      fileNames: 'optional',
      fileAddresses: false,
      prefill: 'prefix',
      toolIds: 'nine-alphanumeric',
      source: 'docs.mistral.ai/api, mistral-common validator; avante#2562, zed#37021, goose#5998, 2026-11',
    },
    schemas: {
      tools: COMPLETED,
      strictTools: undefined,
      formats: undefined,
      source: 'docs.mistral.ai/api, 2026-11',
    },
    reasoning: {
      efforts: ['none', 'low', 'medium', 'high', 'max'],
      byDefault: true,
      history: 'never',
      source: 'docs.mistral.ai/api, 2026-11',
    },
    parameters: {
      refused: ['top_k', 'min_p', 'top_a', 'repetition_penalty', 'logit_bias', 'logprobs', 'top_logprobs', 'verbosity'],
      refusedWhileReasoning: [],
      maxTemperature: 1.5,
      wire: 'chat',
      toolsWire: 'chat',
      source: 'docs.mistral.ai/api, 2026-11',
    },
    usage: {
      cachedTokens: CACHED_TOKENS,
      cacheWriteTokens: CACHE_WRITE_TOKENS,
      source: 'docs.mistral.ai/api, 2026-11',
    },
    refusals: { wordings: [], source: 'docs.mistral.ai/api, 2026-11' },
  },
  families: [],
};
