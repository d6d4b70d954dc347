import { parametersLackedBy } from '../../catalog/lacked-parameters.ts';
import type { VendorAccepts } from '../../core/accepts.ts';
import { ANY_MEDIA, CACHED_TOKENS, CACHE_WRITE_TOKENS, NO_MEDIA, OPEN_MODELS, STRINGS } from './usual.ts';
import { ANY_SCHEMA, COMPLETED } from './schemas.ts';

/** What Fireworks accepts. */
export const FIREWORKS: VendorAccepts = {
  all: {
    conversation: {
      systemTurns: 'first',
      turns: 'any',
      calls: 'many',
      afterResults: 'any',
      lists: STRINGS,
      nullContent: true,
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
      looseFormats: ANY_SCHEMA,
      formatsWithTools: true,
      source: 'docs.fireworks.ai/api-reference/post-chatcompletions, 2026-11',
    },
    reasoning: {
      efforts: ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'],
      byDefault: true,
      control: 'effort',
      budget: undefined,
      off: 'lowest',
      mostEffortWhenOff: undefined,
      hidden: false,
      history: 'optional',
      source: 'docs.fireworks.ai/api-reference/post-chatcompletions, 2026-11',
    },
    parameters: {
      refused: parametersLackedBy('fireworks'),
      refusedWhileReasoning: [],
      exclusive: [],
      maxTemperature: 2,
      maxOutput: undefined,
      usualOutput: undefined,
      forcedTools: 'always',
      wire: 'chat',
      toolsWire: 'chat',
      source: 'docs.fireworks.ai/api-reference/post-chatcompletions, 2026-11',
    },
    usage: {
      cachedTokens: CACHED_TOKENS,
      cacheWriteTokens: CACHE_WRITE_TOKENS,
      source: 'docs.fireworks.ai/api-reference/post-chatcompletions, 2026-11',
    },
  },
  families: OPEN_MODELS,
};
