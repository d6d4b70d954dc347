import type { VendorAccepts } from '../../core/accepts.ts';
import {
  ANY_MEDIA,
  CACHED_TOKENS,
  CACHE_WRITE_TOKENS,
  LISTS_EVERYWHERE,
  NO_MEDIA,
  OPEN_MODELS,
  PASSED_ON,
} from './usual.ts';
import { ANY_SCHEMA, COMPLETED } from './schemas.ts';

/** What OpenRouter accepts; it adapts most itself. */
export const OPENROUTER: VendorAccepts = {
  all: {
    conversation: {
      systemTurns: 'anywhere',
      turns: 'any',
      calls: 'many',
      afterResults: 'any',
      lists: LISTS_EVERYWHERE,
      nullContent: true,
      media: { user: ANY_MEDIA, assistant: NO_MEDIA, tool: NO_MEDIA },
      fileNames: 'optional',
      fileAddresses: true,
      prefill: 'plain',
      toolIds: 'any',
      source: 'openrouter.ai/docs/api-reference; crush#279, 2026-11',
    },
    schemas: {
      tools: COMPLETED,
      strictTools: undefined,
      formats: undefined,
      looseFormats: ANY_SCHEMA,
      formatsWithTools: true,
      source: 'openrouter.ai/docs/api-reference, 2026-11',
    },
    reasoning: {
      efforts: ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'],
      byDefault: true,
      control: 'effort',
      budget: undefined,
      off: 'lowest',
      mostEffortWhenOff: undefined,
      hidden: false,
      history: 'optional',
      source: 'openrouter.ai/docs/api-reference, 2026-11',
    },
    parameters: {
      refused: [],
      refusedWhileReasoning: [],
      exclusive: [],
      maxTemperature: 2,
      maxOutput: undefined,
      usualOutput: undefined,
      forcedTools: 'always',
      wire: 'chat',
      toolsWire: 'chat',
      source: 'openrouter.ai/docs/api-reference, 2026-11',
    },
    usage: {
      cachedTokens: CACHED_TOKENS,
      cacheWriteTokens: CACHE_WRITE_TOKENS,
      source: 'openrouter.ai/docs/api-reference, 2026-11',
    },
  },
  families: [...OPEN_MODELS, ...PASSED_ON],
};
