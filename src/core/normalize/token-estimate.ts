import type { Modality } from '../../catalog/model.ts';
import type { Message } from '../../protocol/message.ts';
import type { EmbeddingItem } from '../../protocol/embedding-request.ts';

/**
 * Tokens that a prompt of this many characters has at least. English text has four to five characters a token and
 * code fewer, so one in eight is a floor. It only serves to turn away endpoints that certainly cannot hold a prompt.
 */
export function fewestTokens(characters: number): number {
  return Math.floor(characters / 8);
}

/** The likely number of tokens in a prompt of which only the floor is known, for prices and estimates. */
export function likelyPromptTokens(fewest: number): number {
  return fewest * 2;
}

/** The likely number of tokens in a text, for usage that a provider did not report. */
export function likelyTokens(text: string): number {
  return Math.ceil(quarterTokens(text) / 4);
}

/** The same in quarters of a token: a whole number, so that the parts of a text add up to the text. */
export function quarterTokens(text: string): number {
  let wide = 0;
  for (let index = 0; index < text.length; index += 1) if (text.charCodeAt(index) >= FIRST_WIDE) wide += 1;
  return text.length + 3 * wide;
}

/** First character of the scripts in which a character is about a token: Hangul, kana, Han and beyond. */
const FIRST_WIDE = 0x1100;

/** What a prompt consists of. */
interface PromptContent {
  readonly modalities: readonly Modality[];
  /** UTF-16 units of text, without media. */
  readonly characters: number;
  readonly images: number;
}

/** Looks through the messages once for everything that selection needs to know about them. */
export function surveyPrompt(messages: readonly Message[]): PromptContent {
  let modalities: Set<Modality> | undefined;
  let characters = 0;
  let images = 0;
  for (const message of messages) {
    if (typeof message.content === 'string') characters += message.content.length;
    else {
      for (const part of message.content ?? []) {
        if (part.type === 'text') characters += part.text.length;
        else if (part.type === 'image_url') images += 1;
        const modality = MODALITY_OF_PART[part.type];
        if (modality !== undefined) (modalities ??= new Set()).add(modality);
      }
    }
    if (message.role === 'assistant') {
      for (const call of message.tool_calls ?? []) characters += call.function.arguments.length;
    }
  }
  return { modalities: modalities === undefined ? [] : [...modalities], characters, images };
}

/** Files are left out: they may be parsed into text, so they never exclude a model by themselves (gaps 1.2). */
const MODALITY_OF_PART: Readonly<Record<string, Modality | undefined>> = {
  image_url: 'image',
  input_audio: 'audio',
  video_url: 'video',
  input_video: 'video',
};

/** What inputs to be embedded consist of. */
export interface SurveyedInputs {
  readonly modalities: readonly Modality[];
  /** Tokens that the longest input has at least: each must fit into the context by itself. */
  readonly longest: number;
  /** Likely number of tokens in all of them. */
  readonly likelyTokens: number;
  readonly images: number;
}

/** Looks through the inputs once for everything that selection and accounting need to know about them. */
export function surveyInputs(inputs: readonly EmbeddingItem[]): SurveyedInputs {
  const modalities = new Set<Modality>();
  let longest = 0;
  let likely = 0;
  let images = 0;
  for (const input of inputs) {
    if (typeof input === 'string') {
      longest = Math.max(longest, fewestTokens(input.length));
      likely += likelyTokens(input);
    } else if ('content' in input) {
      const parts = surveyPrompt([{ role: 'user', content: input.content }]);
      for (const modality of parts.modalities) modalities.add(modality);
      longest = Math.max(longest, fewestTokens(parts.characters));
      likely += Math.ceil(parts.characters / 4);
      images += parts.images;
    } else {
      longest = Math.max(longest, input.length);
      likely += input.length;
    }
  }
  return { modalities: [...modalities], longest, likelyTokens: likely, images };
}
