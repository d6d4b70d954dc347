import { parametersLackedBy } from '../../catalog/lacked-parameters.ts';
import type { VendorAccepts } from '../../core/accepts.ts';
import { CACHED_TOKENS, CACHE_WRITE_TOKENS, LISTS_EVERYWHERE, NO_MEDIA } from './usual.ts';
import { MISTRAL_HELD, STANDARD } from './schemas.ts';

/** What Mistral accepts at its own address. */
export const MISTRAL: VendorAccepts = {
  all: {
    conversation: {
      systemTurns: 'first',
      turns: 'with-user',
      calls: 'many',
      afterResults: 'assistant',
      lists: LISTS_EVERYWHERE,
      nullContent: true,
      media: { user: ['image', 'audio', 'file'], assistant: NO_MEDIA, tool: NO_MEDIA },
      fileNames: 'optional',
      fileAddresses: false,
      prefill: 'prefix',
      toolIds: 'nine-alphanumeric',
      source: 'docs.mistral.ai/api, mistral-common validator; avante#2562, zed#37021, goose#5998, 2026-11',
    },
    schemas: {
      tools: STANDARD,
      strictTools: undefined,
      formats: MISTRAL_HELD,
      looseFormats: STANDARD,
      formatsWithTools: true,
      source: 'docs.mistral.ai/api, 2026-11',
    },
    reasoning: {
      efforts: ['none', 'low', 'medium', 'high', 'max'],
      byDefault: true,
      control: 'effort',
      budget: undefined,
      off: 'lowest',
      mostEffortWhenOff: undefined,
      hidden: false,
      history: 'never',
      source: 'docs.mistral.ai/api, 2026-11',
    },
    parameters: {
      refused: parametersLackedBy('mistral'),
      refusedWhileReasoning: [],
      exclusive: [],
      maxTemperature: 1.5,
      maxOutput: undefined,
      usualOutput: undefined,
      forcedTools: 'always',
      wire: 'chat',
      toolsWire: 'chat',
      source: 'docs.mistral.ai/api, 2026-11',
    },
    usage: {
      cachedTokens: CACHED_TOKENS,
      cacheWriteTokens: CACHE_WRITE_TOKENS,
      source: 'docs.mistral.ai/api, 2026-11',
    },
  },
  families: [],
};
