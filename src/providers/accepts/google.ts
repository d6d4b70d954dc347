/** What Google accepts on the Gemini API and on Vertex AI. */
import { parametersLackedBy } from '../../catalog/lacked-parameters.ts';
import type { ParameterName } from '../../catalog/model.ts';
import type { FamilyAccepts, VendorAccepts } from '../../core/accepts.ts';
import type { ReasoningEffort } from '../../protocol/reasoning.ts';
import { GOOGLE_FORMATS, GOOGLE_TOOLS } from './schemas.ts';
import { ANY_MEDIA, LISTS_EVERYWHERE, NO_MEDIA } from './usual.ts';

const NO_WORDS = parametersLackedBy('google');
const PENALTIES: readonly ParameterName[] = ['frequency_penalty', 'presence_penalty'];
/** The Gemini API refuses them for most models, so a program has to declare that one takes them. */
const LIKELIHOODS: readonly ParameterName[] = ['logprobs', 'top_logprobs'];

const REFERENCE = 'ai.google.dev/api/generate-content, 2026-11';
const THINKING = 'ai.google.dev/gemini-api/docs/thinking, 2026-11';
const SIGNATURES = 'ai.google.dev/gemini-api/docs/thought-signatures, 2026-11';

type Differences = FamilyAccepts['accepts'];

const GEMINI_2_5: Differences = {
  conversation: { fileAddresses: true },
  parameters: { refused: [...NO_WORDS, ...LIKELIHOODS, ...PENALTIES] },
};

const GEMINI_3 = {
  conversation: { fileAddresses: true, media: { user: ANY_MEDIA, assistant: ANY_MEDIA, tool: ANY_MEDIA } },
  schemas: { formatsWithTools: true },
  reasoning: { history: 'required' },
} as const satisfies Differences;

function withBudget(base: Differences, least: number, most: number, off: 'disabled' | 'lowest'): Differences {
  return { ...base, reasoning: { ...base.reasoning, control: 'budget', budget: { least, most }, off } };
}

function withLevels(efforts: readonly ReasoningEffort[]): Differences {
  return { ...GEMINI_3, reasoning: { ...GEMINI_3.reasoning, control: 'effort', efforts } };
}

/** Models whose names begin so; a path such as `tunedModels/…` counts by its last part. */
function named({ source }: RegExp): RegExp {
  return new RegExp(`(?:^|/)${source}[^/]*$`);
}

/**
 * Names are open-ended: an unknown `gemini-…` is taken for the newest, and whatever is no Gemini for one that knows nothing
 * special.
 */
const FAMILIES: readonly FamilyAccepts[] = [
  {
    models: named(/gemma-/),
    accepts: { conversation: { systemTurns: 'none' } },
    source: 'ai.google.dev/gemma/docs, 2026-11',
  },
  { models: named(/gemini-(?:1[.-]|2\.0|pro$|pro-vision$|robotics-er-1\.5)/), accepts: {}, source: REFERENCE },
  { models: named(/gemini-2\.5-.*(?:image|tts|native-audio)/), accepts: GEMINI_2_5, source: REFERENCE },
  { models: named(/gemini-2\.5-pro/), accepts: withBudget(GEMINI_2_5, 128, 32_768, 'lowest'), source: THINKING },
  {
    models: named(/gemini-2\.5-flash-lite/),
    accepts: withBudget(GEMINI_2_5, 512, 24_576, 'disabled'),
    source: THINKING,
  },
  { models: named(/gemini-2/), accepts: withBudget(GEMINI_2_5, 1, 24_576, 'disabled'), source: THINKING },
  { models: named(/gemini-3-pro-image/), accepts: withBudget(GEMINI_3, 128, 32_768, 'lowest'), source: THINKING },
  { models: named(/gemini-.*-tts/), accepts: GEMINI_3, source: SIGNATURES },
  { models: named(/gemini-4-hydrogen/), accepts: withLevels(['low', 'medium', 'high', 'xhigh']), source: THINKING },
  {
    models: named(/gemini-(?:\d+(?:\.\d+)?-pro|(?:3\.[7-9]|[4-9]\.\d+)-flash(?!-lite)|flash-latest)/),
    accepts: withLevels(['low', 'medium', 'high']),
    source: THINKING,
  },
  { models: named(/gemini-/), accepts: withLevels(['minimal', 'low', 'medium', 'high']), source: THINKING },
];

/** What Google accepts on the Gemini API. */
export const GOOGLE: VendorAccepts = {
  all: {
    conversation: {
      systemTurns: 'first',
      turns: 'alternating',
      calls: 'many',
      afterResults: 'any',
      lists: LISTS_EVERYWHERE,
      nullContent: true,
      media: { user: ANY_MEDIA, assistant: ANY_MEDIA, tool: NO_MEDIA },
      fileNames: 'optional',
      fileAddresses: false,
      prefill: 'plain',
      toolIds: 'any',
      source: `${REFERENCE}; gemini-cli#3814`,
    },
    schemas: {
      tools: GOOGLE_TOOLS,
      strictTools: undefined,
      formats: undefined,
      looseFormats: GOOGLE_FORMATS,
      formatsWithTools: false,
      source: `${REFERENCE}, ai.google.dev/gemini-api/docs/structured-output`,
    },
    reasoning: {
      efforts: [],
      byDefault: true,
      control: 'none',
      budget: undefined,
      off: 'lowest',
      mostEffortWhenOff: undefined,
      hidden: true,
      history: 'optional',
      source: `${THINKING}; ${SIGNATURES}`,
    },
    parameters: {
      refused: [...NO_WORDS, ...LIKELIHOODS],
      refusedWhileReasoning: [],
      exclusive: [],
      maxTemperature: 2,
      maxOutput: undefined,
      usualOutput: undefined,
      forcedTools: 'always',
      wire: 'chat',
      toolsWire: 'chat',
      source: REFERENCE,
    },
    usage: {
      cachedTokens: ['cachedContentTokenCount'],
      cacheWriteTokens: [],
      source: 'ai.google.dev/api/generate-content#UsageMetadata, 2026-11',
    },
  },
  families: FAMILIES,
};

/** What Google accepts on Vertex AI: the same, with the penalties and likelihoods of every model. */
export const VERTEX: VendorAccepts = {
  all: { ...GOOGLE.all, parameters: { ...GOOGLE.all.parameters, refused: NO_WORDS } },
  families: FAMILIES.map(({ accepts: { parameters: _, ...accepts }, ...family }) => ({ ...family, accepts })),
};
