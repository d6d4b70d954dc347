import type { VendorAccepts } from '../../core/accepts.ts';
import { CACHED_TOKENS, CACHE_WRITE_TOKENS, NO_MEDIA, STRINGS } from './usual.ts';
import { COMPLETED } from './schemas.ts';

/** What DeepSeek accepts at its own address. */
export const DEEPSEEK: VendorAccepts = {
  all: {
    conversation: {
      systemTurns: 'first',
      turns: 'any',
      calls: 'many',
      afterResults: 'any',
      lists: STRINGS,
      media: { user: NO_MEDIA, assistant: NO_MEDIA, tool: NO_MEDIA },
      fileNames: 'required',
      fileAddresses: false,
      prefill: 'plain',
      toolIds: 'any',
      source: 'api-docs.deepseek.com/api/create-chat-completion; openclaude#774, vm0#15388, 2026-11',
    },
    schemas: {
      tools: COMPLETED,
      strictTools: undefined,
      formats: undefined,
      source: 'api-docs.deepseek.com/guides/thinking_mode; hermes-agent#14973, litellm#28057, 2026-11',
    },
    reasoning: {
      efforts: ['low', 'high', 'max'],
      byDefault: true,
      history: 'required',
      source: 'api-docs.deepseek.com/guides/thinking_mode; hermes-agent#14973, litellm#28057, 2026-11',
    },
    parameters: {
      refused: ['top_k', 'min_p', 'top_a', 'repetition_penalty', 'logit_bias', 'seed', 'verbosity', 'prediction'],
      refusedWhileReasoning: [],
      maxTemperature: 2,
      wire: 'chat',
      toolsWire: 'chat',
      source: 'api-docs.deepseek.com/guides/thinking_mode; hermes-agent#14973, litellm#28057, 2026-11',
    },
    usage: {
      cachedTokens: CACHED_TOKENS,
      cacheWriteTokens: CACHE_WRITE_TOKENS,
      source: 'api-docs.deepseek.com/guides/thinking_mode; hermes-agent#14973, litellm#28057, 2026-11',
    },
    refusals: {
      wordings: [],
      source: 'api-docs.deepseek.com/guides/thinking_mode; hermes-agent#14973, litellm#28057, 2026-11',
    },
  },
  families: [],
};
