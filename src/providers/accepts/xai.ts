/** What xAI accepts. */
import { parametersLackedBy } from '../../catalog/lacked-parameters.ts';
import type { VendorAccepts } from '../../core/accepts.ts';
import { ANY_MEDIA, CACHED_TOKENS, CACHE_WRITE_TOKENS, LISTS_EVERYWHERE, NO_MEDIA } from './usual.ts';
import { XAI_FORMATS, XAI_TOOLS } from './schemas.ts';

const NO_WORDS = parametersLackedBy('xai');

/** Models that always reason refuse these besides. */
const REASONS_ALWAYS = { refused: [...NO_WORDS, 'presence_penalty', 'frequency_penalty', 'stop'] } as const;

/** What xAI accepts. */
export const XAI: VendorAccepts = {
  all: {
    conversation: {
      systemTurns: 'anywhere',
      turns: 'any',
      calls: 'many',
      afterResults: 'any',
      lists: LISTS_EVERYWHERE,
      nullContent: true,
      media: { user: ANY_MEDIA, assistant: NO_MEDIA, tool: NO_MEDIA },
      fileNames: 'required',
      fileAddresses: false,
      prefill: 'plain',
      toolIds: 'any',
      source: 'docs.x.ai/docs/api-reference, 2026-11',
    },
    schemas: {
      tools: XAI_TOOLS,
      strictTools: undefined,
      formats: undefined,
      looseFormats: XAI_FORMATS,
      formatsWithTools: true,
      source: 'docs.x.ai/developers/model-capabilities/text/structured-outputs; openclaw#32080, 2026-11',
    },
    reasoning: {
      efforts: ['low', 'medium', 'high'],
      byDefault: true,
      control: 'effort',
      budget: undefined,
      off: 'lowest',
      mostEffortWhenOff: undefined,
      hidden: false,
      history: 'optional',
      source: 'docs.x.ai/docs/api-reference, 2026-11',
    },
    parameters: {
      refused: NO_WORDS,
      refusedWhileReasoning: [],
      exclusive: [],
      maxTemperature: 2,
      maxOutput: undefined,
      usualOutput: undefined,
      forcedTools: 'always',
      wire: 'chat',
      toolsWire: 'chat',
      source: 'docs.x.ai/docs/api-reference, 2026-11',
    },
    usage: {
      cachedTokens: CACHED_TOKENS,
      cacheWriteTokens: CACHE_WRITE_TOKENS,
      source: 'docs.x.ai/docs/api-reference, 2026-11',
    },
  },
  families: [
    {
      models: /^grok-3-mini/,
      accepts: { reasoning: { efforts: ['low', 'high'] }, parameters: REASONS_ALWAYS },
      source: 'docs.x.ai/docs/guides/reasoning; chatwise-releases#515, 2026-11',
    },
    {
      models: /^grok-4\.3/,
      accepts: {
        reasoning: { efforts: ['none', 'low', 'medium', 'high'] },
        parameters: { refusedWhileReasoning: ['presence_penalty', 'frequency_penalty', 'stop'] },
      },
      source: 'docs.x.ai/developers/model-capabilities/text/reasoning; big-AGI#1104, 2026-11',
    },
    {
      models: /^grok-(?:4\.20-multi-agent|4\.[6-9])/,
      accepts: { reasoning: { efforts: ['low', 'medium', 'high', 'xhigh'] }, parameters: REASONS_ALWAYS },
      source: 'docs.x.ai/developers/model-capabilities/text/reasoning; big-AGI#1104, modelparams.dev#330, 2026-11',
    },
    {
      models: /^grok-4\.5/,
      accepts: { reasoning: { efforts: ['low', 'medium', 'high'] }, parameters: REASONS_ALWAYS },
      source: 'modelparams.dev#330, 2026-11',
    },
    {
      models: /^grok-(?:2|3|.*non-reasoning)/,
      accepts: { reasoning: { efforts: [], byDefault: false } },
      source: 'hermes-agent#23435, LinguaGacha#771, 2026-11',
    },
    {
      // They reason, and refuse to be told how much.
      models: /^grok-(?:4(?:-|$|\.20)|code-fast)/,
      accepts: { reasoning: { efforts: [] }, parameters: REASONS_ALWAYS },
      source: 'hermes-agent#23435, litellm#16265, grok2api#814, 2026-11',
    },
  ],
};
