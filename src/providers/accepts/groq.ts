import type { VendorAccepts } from '../../core/accepts.ts';
import { ANY_MEDIA, CACHED_TOKENS, CACHE_WRITE_TOKENS, NO_MEDIA, OPEN_MODELS, STRINGS } from './usual.ts';
import { COMPLETED } from './schemas.ts';

/** What Groq accepts. */
export const GROQ: VendorAccepts = {
  all: {
    conversation: {
      systemTurns: 'anywhere',
      turns: 'any',
      calls: 'many',
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
      tools: COMPLETED,
      strictTools: undefined,
      formats: undefined,
      source: 'console.groq.com/docs/api-reference, 2026-11',
    },
    reasoning: {
      efforts: [],
      byDefault: true,
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
      refusedWhileReasoning: [],
      maxTemperature: 2,
      wire: 'chat',
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
  families: [
    {
      models: /gpt-oss/,
      accepts: { reasoning: { efforts: ['low', 'medium', 'high'] } },
      source: 'console.groq.com/docs/reasoning; llmgateway#3422, 2026-11',
    },
    {
      // What it is told otherwise is `default`, which is said by saying nothing.
      models: /(?:^|\/)qwen/,
      accepts: { reasoning: { efforts: ['none'] }, conversation: { systemTurns: 'first', lists: STRINGS } },
      source: 'console.groq.com/docs/reasoning; pi#1745, 2026-11',
    },
    ...OPEN_MODELS,
  ],
};
