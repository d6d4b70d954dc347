import { parametersLackedBy } from '../../catalog/lacked-parameters.ts';
import type { VendorAccepts } from '../../core/accepts.ts';
import { ANY_MEDIA, CACHED_TOKENS, CACHE_WRITE_TOKENS, NO_MEDIA, OPEN_MODELS, STRINGS } from './usual.ts';
import { GROQ_HELD, STANDARD } from './schemas.ts';

/** What Groq accepts. */
export const GROQ: VendorAccepts = {
  all: {
    conversation: {
      systemTurns: 'anywhere',
      turns: 'any',
      calls: 'many',
      afterResults: 'any',
      lists: { system: false, user: true, assistant: false, tool: false },
      nullContent: true,
      media: { user: ANY_MEDIA, assistant: NO_MEDIA, tool: NO_MEDIA },
      fileNames: 'optional',
      fileAddresses: false,
      prefill: 'plain',
      toolIds: 'any',
      source: 'console.groq.com/docs/api-reference, 2026-11; qwen-code#2320',
    },
    schemas: {
      tools: STANDARD,
      strictTools: undefined,
      formats: undefined,
      looseFormats: STANDARD,
      formatsWithTools: true,
      source: 'console.groq.com/docs/structured-outputs; beeai-framework#1215, presenton#165, 2026-11',
    },
    reasoning: {
      efforts: [],
      byDefault: true,
      control: 'effort',
      budget: undefined,
      off: 'lowest',
      mostEffortWhenOff: undefined,
      hidden: false,
      history: 'never',
      source: 'console.groq.com/docs/api-reference, 2026-11',
    },
    parameters: {
      refused: parametersLackedBy('groq'),
      refusedWhileReasoning: [],
      exclusive: [],
      maxTemperature: 2,
      maxOutput: undefined,
      usualOutput: undefined,
      forcedTools: 'always',
      wire: 'chat',
      toolsWire: 'chat',
      source: 'console.groq.com/docs/api-reference, 2026-11',
    },
    usage: {
      cachedTokens: CACHED_TOKENS,
      cacheWriteTokens: CACHE_WRITE_TOKENS,
      source: 'console.groq.com/docs/api-reference, 2026-11',
    },
  },
  families: [
    {
      models: /gpt-oss/,
      accepts: { reasoning: { efforts: ['low', 'medium', 'high'] }, schemas: { formats: GROQ_HELD } },
      source: 'console.groq.com/docs/reasoning, console.groq.com/docs/structured-outputs; llmgateway#3422, 2026-11',
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
