import type { ReasoningEffort } from '../../protocol/reasoning.ts';

/** How the thinking of a family is steered: by a level, or by a budget of tokens. */
export type ThinkingControl =
  | {
      readonly type: 'level';
      /** Levels that the family knows. It cannot be kept from thinking. */
      readonly levels: readonly ReasoningEffort[];
    }
  | {
      readonly type: 'budget';
      /** Fewest tokens of a budget that is not zero. */
      readonly min: number;
      readonly max: number;
      /** Whether a budget of zero switches thinking off. */
      readonly canBeOff: boolean;
    };

/** What models of one family understand. */
export interface ModelFamily {
  /** Undefined: the family does not think, or refuses to be told how. */
  readonly thinking?: ThinkingControl | undefined;
  /** Whether there is a place for instructions; otherwise they go in front of the first user turn. */
  readonly systemInstruction: boolean;
  /** Whether function calls must come back with their thought signature, or with the mark that there is none. */
  readonly needsSignatures: boolean;
  /** Whether a form of the answer may be demanded while function tools are offered. */
  readonly formatWithTools: boolean;
  /** Whether the result of a tool may hold images; otherwise they are beside it. */
  readonly mediaInToolResults: boolean;
  /** Whether any https address is fetched; otherwise only those of Google's own stores and of YouTube. */
  readonly fetchesUrls: boolean;
  /** Whether the Gemini API takes frequency and presence penalties. Vertex always does. */
  readonly penalties: boolean;
}

const FIRST: ModelFamily = {
  systemInstruction: true,
  needsSignatures: false,
  formatWithTools: false,
  mediaInToolResults: false,
  fetchesUrls: false,
  penalties: true,
};
const GEMINI_2_5: ModelFamily = { ...FIRST, fetchesUrls: true, penalties: false };
const GEMINI_3: ModelFamily = {
  systemInstruction: true,
  needsSignatures: true,
  formatWithTools: true,
  mediaInToolResults: true,
  fetchesUrls: true,
  penalties: true,
};

const ALL_LEVELS = { type: 'level', levels: ['minimal', 'low', 'medium', 'high'] } as const;
const FROM_LOW = { type: 'level', levels: ['low', 'medium', 'high'] } as const;
const UP_TO_EXTRA_HIGH = { type: 'level', levels: ['low', 'medium', 'high', 'xhigh'] } as const;

/**
 * Families by the model's name, the first match counts. Names are open-ended: an unknown `gemini-…` is taken for the
 * newest, and whatever is no Gemini for one that knows nothing special.
 */
const FAMILIES: readonly (readonly [name: RegExp, family: ModelFamily])[] = [
  [/^gemma-/, { ...FIRST, systemInstruction: false }],
  [/^gemini-(?:1[.-]|2\.0|pro$|pro-vision$|robotics-er-1\.5)/, FIRST],
  [/^gemini-2\.5-.*(?:image|tts|native-audio)/, GEMINI_2_5],
  [/^gemini-2\.5-pro/, { ...GEMINI_2_5, thinking: { type: 'budget', min: 128, max: 32_768, canBeOff: false } }],
  [/^gemini-2\.5-flash-lite/, { ...GEMINI_2_5, thinking: { type: 'budget', min: 512, max: 24_576, canBeOff: true } }],
  [/^gemini-2/, { ...GEMINI_2_5, thinking: { type: 'budget', min: 1, max: 24_576, canBeOff: true } }],
  [/^gemini-3-pro-image/, { ...GEMINI_3, thinking: { type: 'budget', min: 128, max: 32_768, canBeOff: false } }],
  [/^gemini-.*-tts/, GEMINI_3],
  [/^gemini-4-hydrogen/, { ...GEMINI_3, thinking: UP_TO_EXTRA_HIGH }],
  [/^gemini-\d+(?:\.\d+)?-pro/, { ...GEMINI_3, thinking: FROM_LOW }],
  [/^gemini-(?:3\.[7-9]|[4-9]\.\d+)-flash(?!-lite)/, { ...GEMINI_3, thinking: FROM_LOW }],
  [/^gemini-flash-latest/, { ...GEMINI_3, thinking: FROM_LOW }],
  [/^gemini-/, { ...GEMINI_3, thinking: ALL_LEVELS }],
];

/** The family of a model by its name at Google; a path such as `tunedModels/…` counts by its last part. */
export function familyOf(upstreamModel: string): ModelFamily {
  const name = upstreamModel.slice(upstreamModel.lastIndexOf('/') + 1).toLowerCase();
  return FAMILIES.find(([pattern]) => pattern.test(name))?.[1] ?? FIRST;
}

/** A budget of thinking as the model takes it: within its limits, and zero only where it can be switched off. */
export function allowedBudget(tokens: number, upstreamModel: string): number {
  const { thinking } = familyOf(upstreamModel);
  if (thinking?.type !== 'budget') return tokens;
  if (tokens === 0 && thinking.canBeOff) return 0;
  return Math.min(Math.max(Math.round(tokens), thinking.min), thinking.max);
}
