/** What Google refuses in the parameters of `generateContent` and `streamGenerateContent`. */
import * as read from '../../platform/json.ts';
import { memberOutside } from './chat-body.ts';
import { configOf, isFrom3 } from './google-body.ts';
import type { StrictRule } from './rule.ts';

const REFERENCE = 'Google, API reference "GenerateContentRequest"';
const CONFIG = 'Google, API reference "GenerationConfig"';
const THINKING = 'Google, page "Gemini thinking"';

const PARAMETERS = new Set(
  (
    'contents systemInstruction tools toolConfig generationConfig safetySettings cachedContent ' +
    'labels serviceTier continuationToken model store'
  ).split(' '),
);
const CONFIG_MEMBERS = new Set(
  (
    'temperature topP topK maxOutputTokens stopSequences seed frequencyPenalty candidateCount ' +
    'presencePenalty responseLogprobs logprobs responseMimeType responseSchema responseJsonSchema ' +
    'responseModalities thinkingConfig mediaResolution imageConfig speechConfig ' +
    'enableEnhancedCivicAnswers'
  ).split(' '),
);

const MOST_STOPS = 5;

/** Budgets that models of the 2.5 family take; -1 and what turns thinking off apart. */
function budgetsOf(
  model: string,
): { readonly least: number; readonly most: number; readonly canBeOff: boolean } | undefined {
  if (model.startsWith('gemini-2.5-pro')) return { least: 128, most: 32_768, canBeOff: false };
  if (model.startsWith('gemini-2.5-flash-lite')) return { least: 512, most: 24_576, canBeOff: true };
  return model.startsWith('gemini-2.5-flash') ? { least: 1, most: 24_576, canBeOff: true } : undefined;
}

/** Rules of parameters. */
export const GOOGLE_PARAMETER_RULES: readonly StrictRule[] = [
  {
    id: 'google/parameter-unknown',
    checks: 'a parameter that it does not have',
    words: 'Invalid JSON payload received. Unknown name "{name}": Cannot find field.',
    source: `${REFERENCE}; pizza-bot-app/pizza-bot, issue 62 (the words)`,
    date: '2026-11',
    find({ body }) {
      const name = memberOutside(body, PARAMETERS);
      return name === undefined ? undefined : { name };
    },
  },
  {
    id: 'google/config-unknown',
    checks: 'a member that generationConfig does not have',
    words: 'Invalid JSON payload received. Unknown name "{name}" at \'generation_config\': Cannot find field.',
    source: CONFIG,
    date: '2026-11',
    find(request) {
      const name = memberOutside(configOf(request), CONFIG_MEMBERS);
      return name === undefined ? undefined : { name };
    },
  },
  {
    id: 'google/penalties',
    checks: 'penalties for a model of the 2.5 family',
    words: 'Penalty is not enabled for models/{model}',
    source: 'PublicAffairs/openai-gemini, issue 63',
    date: '2025-07-13',
    find(request) {
      const { frequencyPenalty, presencePenalty } = configOf(request);
      return (frequencyPenalty ?? presencePenalty) !== undefined && request.model.startsWith('gemini-2.5')
        ? { model: request.model }
        : undefined;
    },
  },
  {
    id: 'google/logprobs',
    checks: 'log probabilities for a model of the 2.5 family or later',
    words: 'Logprobs is not enabled for models/{model}',
    source: 'Vela-Research/think-reason-learn, issue 34; GoogleCloudPlatform/generative-ai, issue 2947',
    date: '2026-06-22',
    find(request) {
      const { responseLogprobs, logprobs } = configOf(request);
      const requested = responseLogprobs === true || logprobs !== undefined;
      return requested && /^gemini-(?:2\.5|[3-9])/.test(request.model) ? { model: request.model } : undefined;
    },
  },
  {
    id: 'google/candidates',
    checks: 'more than one candidate',
    words: 'Multiple candidates is not enabled for this model',
    source: `${CONFIG}, candidateCount`,
    date: '2026-11',
    find: (request) => ((read.number(configOf(request)['candidateCount']) ?? 1) > 1 ? {} : undefined),
  },
  {
    id: 'google/stops-most',
    checks: 'more than five stop sequences, or an empty one',
    words:
      'Unable to submit request because the number of stop sequences must be at most 5, and none may be empty. Remove some and try again.',
    source: `${CONFIG}, stopSequences`,
    date: '2026-11',
    find(request) {
      const stops = read.list(configOf(request)['stopSequences']);
      return stops.length > MOST_STOPS || stops.includes('') ? {} : undefined;
    },
  },
  {
    id: 'google/ranges',
    checks: 'a temperature, topP or maxOutputTokens outside its range',
    words: 'Unable to submit request because it has a {name} value of {value} which is outside the supported range.',
    source: CONFIG,
    date: '2026-11',
    find(request) {
      const config = configOf(request);
      const ranges = { temperature: [0, 2], topP: [0, 1], maxOutputTokens: [1, 2 ** 31] } as const;
      for (const [name, [least, most]] of Object.entries(ranges)) {
        const value = read.number(config[name]);
        if (value !== undefined && (value < least || value > most)) return { name, value };
      }
      return undefined;
    },
  },
  {
    id: 'google/thinking-both',
    checks: 'a level of thinking and a budget together',
    words: 'You can only set only one of thinking budget and thinking level.',
    source: THINKING,
    date: '2026-11',
    find(request) {
      const { thinkingLevel, thinkingBudget } = read.object(configOf(request)['thinkingConfig']);
      return thinkingLevel !== undefined && thinkingBudget !== undefined ? {} : undefined;
    },
  },
  {
    id: 'google/thinking-level',
    checks: 'a level of thinking before Gemini 3',
    words: 'Thinking level is not supported for this model.',
    source: `${THINKING}; juspay/neurolink, pull request 1707`,
    date: '2026-11',
    find: (request) =>
      read.object(configOf(request)['thinkingConfig'])['thinkingLevel'] !== undefined && !isFrom3(request.model)
        ? {}
        : undefined,
  },
  {
    id: 'google/thinking-refused',
    checks: 'a configuration of thinking for a model that does not think',
    words: 'Thinking is not enabled for models/{model}',
    source: `${THINKING}, supported models`,
    date: '2026-11',
    find: (request) =>
      configOf(request)['thinkingConfig'] !== undefined && /^gemini-(?:1|2\.0)|^gemma/.test(request.model)
        ? { model: request.model }
        : undefined,
  },
  {
    id: 'google/thinking-budget',
    checks: 'a budget of thinking outside the range of the model',
    words: 'The thinking budget {value} is invalid. Please choose a value between {least} and {most}.',
    source: `${THINKING}; RooCodeInc/Roo-Code, issue 4399; vercel/ai, issue 8027`,
    date: '2026-11',
    find(request) {
      const value = read.number(read.object(configOf(request)['thinkingConfig'])['thinkingBudget']);
      const budgets = budgetsOf(request.model);
      if (value === undefined || budgets === undefined || value === -1) return undefined;
      const { least, most, canBeOff } = budgets;
      return (value === 0 && canBeOff) || (value >= least && value <= most) ? undefined : { value, least, most };
    },
  },
  {
    id: 'google/cache-with-tools',
    checks: 'a cache together with instructions, tools or their configuration',
    words:
      'CachedContent can not be used with GenerateContent request setting system_instruction, tools or tool_config.',
    source: 'Google, page "Context caching"',
    date: '2026-11',
    find: ({ body }) =>
      body['cachedContent'] !== undefined &&
      (body['systemInstruction'] ?? body['tools'] ?? body['toolConfig']) !== undefined
        ? {}
        : undefined,
  },
];
