import type { VendorAccepts } from '../../core/accepts.ts';
import { ANY_MEDIA, ANY_SCHEMA, CACHED_TOKENS, CACHE_WRITE_TOKENS, NO_MEDIA, OPEN_MODELS } from './usual.ts';

/** What Groq accepts. */
export const GROQ: VendorAccepts = {
  all: {
    conversation: {
      systemTurns: 'anywhere',
      turns: 'any',
      afterResults: 'any',
      lists: { system: false, user: true, assistant: false, tool: false },
      media: { user: ANY_MEDIA, assistant: NO_MEDIA, tool: NO_MEDIA },
      fileNames: 'optional',
      fileAddresses: false,
      prefill: 'plain',
      toolIds: 'any',
      source: 'console.groq.com/docs/api-reference, 2026-11; qwen-code#2320',
    },
    schemas: {
      tools: ANY_SCHEMA,
      strictTools: ANY_SCHEMA,
      formats: ANY_SCHEMA,
      source: 'console.groq.com/docs/api-reference, 2026-11',
    },
    reasoning: {
      efforts: ['none', 'low', 'medium', 'high'],
      history: 'never',
      source: 'console.groq.com/docs/api-reference, 2026-11',
    },
    parameters: {
      refused: [
        'logprobs',
        'top_logprobs',
        'logit_bias',
        'top_k',
        'min_p',
        'top_a',
        'repetition_penalty',
        'prediction',
        'verbosity',
      ],
      maxTemperature: 2,
      toolsWire: 'chat',
      source: 'console.groq.com/docs/api-reference, 2026-11',
    },
    usage: {
      cachedTokens: CACHED_TOKENS,
      cacheWriteTokens: CACHE_WRITE_TOKENS,
      source: 'console.groq.com/docs/api-reference, 2026-11',
    },
    refusals: { wordings: [], source: 'console.groq.com/docs/api-reference, 2026-11' },
  },
  families: OPEN_MODELS,
};
