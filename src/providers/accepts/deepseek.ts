import { parametersLackedBy } from '../../catalog/lacked-parameters.ts';
import type { VendorAccepts } from '../../core/accepts.ts';
import { CACHED_TOKENS, CACHE_WRITE_TOKENS, NO_MEDIA, STRINGS } from './usual.ts';
import { DEEPSEEK_HELD, STANDARD } from './schemas.ts';

/** What DeepSeek accepts at its own address. */
export const DEEPSEEK: VendorAccepts = {
  all: {
    conversation: {
      systemTurns: 'first',
      turns: 'any',
      calls: 'many',
      afterResults: 'any',
      lists: STRINGS,
      nullContent: true,
      media: { user: NO_MEDIA, assistant: NO_MEDIA, tool: NO_MEDIA },
      fileNames: 'required',
      fileAddresses: false,
      prefill: 'plain',
      toolIds: 'any',
      source: 'api-docs.deepseek.com/api/create-chat-completion; openclaude#774, vm0#15388, 2026-11',
    },
    schemas: {
      tools: STANDARD,
      strictTools: DEEPSEEK_HELD,
      formats: undefined,
      looseFormats: STANDARD,
      formatsWithTools: true,
      source: 'api-docs.deepseek.com/guides/tool_calls; weave-os/router#163, Codewhale#938, 2026-11',
    },
    reasoning: {
      efforts: ['low', 'high', 'max'],
      byDefault: true,
      control: 'effort',
      budget: undefined,
      off: 'lowest',
      mostEffortWhenOff: undefined,
      hidden: false,
      history: 'required',
      source: 'api-docs.deepseek.com/guides/thinking_mode; hermes-agent#14973, litellm#28057, 2026-11',
    },
    parameters: {
      refused: parametersLackedBy('deepseek'),
      refusedWhileReasoning: [],
      exclusive: [],
      maxTemperature: 2,
      maxOutput: undefined,
      usualOutput: undefined,
      forcedTools: 'always',
      wire: 'chat',
      toolsWire: 'chat',
      source: 'api-docs.deepseek.com/guides/thinking_mode; hermes-agent#14973, litellm#28057, 2026-11',
    },
    usage: {
      cachedTokens: CACHED_TOKENS,
      cacheWriteTokens: CACHE_WRITE_TOKENS,
      source: 'api-docs.deepseek.com/guides/thinking_mode; hermes-agent#14973, litellm#28057, 2026-11',
    },
  },
  families: [],
};
