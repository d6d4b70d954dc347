/** Estimates tokens from the length of a prompt alone. */
import type { Modality } from '../../catalog/model.ts';
import type { Message } from '../../protocol/message.ts';
import { likelyTextTokens } from './likely-tokens.ts';
import type { EmbeddingItem } from '../../protocol/embedding.ts';

/**
 * Tokens that a prompt of this many characters has at least. English text has four to five characters a token and
 * code fewer, so one in eight is a floor; of Han, kana and Hangul, one in three. It only serves to turn away endpoints
 * that certainly cannot hold a prompt.
 *
 * @param dense - How many of them are of scripts in which a character is about a token.
 */
export function fewestTokens(characters: number, dense = 0): number {
  return Math.floor((characters - dense) / 8 + dense / 3);
}

/** What the length of a prompt is estimated from. */
export interface EstimatedPrompt {
  readonly needs: { readonly promptTokens: number };
  /** Of a chat request. */
  readonly messages?: readonly Message[] | undefined;
  /** Of a request for embeddings, which was counted when it came. */
  readonly likelyTokens?: number | undefined;
}

/** What was estimated once stays right: messages are not changed. */
const ESTIMATES = new WeakMap<readonly Message[], number>();

/**
 * The likely number of tokens in a prompt without its media, for prices and estimates; never none. Worked out when it
 * is requested.
 */
export function likelyPromptTokens({ needs, messages, likelyTokens: counted }: EstimatedPrompt): number {
  if (counted !== undefined) return Math.max(1, counted);
  if (messages === undefined) return Math.max(1, needs.promptTokens * 2);
  const known = ESTIMATES.get(messages);
  if (known !== undefined) return known;
  const likely = Math.max(1, likelyTextTokens(textsOf(messages)) + PER_MESSAGE * messages.length);
  ESTIMATES.set(messages, likely);
  return likely;
}

/** The same where it has been worked out already; undefined elsewhere. */
export function knownPromptTokens(messages: readonly Message[] | undefined): number | undefined {
  return messages && ESTIMATES.get(messages);
}

/** Tokens of the role of a message, and of what separates it from the next one. */
const PER_MESSAGE = 4;

/** What messages say, and the arguments of their calls, in one list. */
function textsOf(messages: readonly Message[]): readonly string[] {
  const texts: string[] = [];
  for (const message of messages) {
    const { content } = message;
    if (typeof content === 'string') texts.push(content);
    else for (const part of content ?? []) if (part.type === 'text') texts.push(part.text);
    if (message.role !== 'assistant') continue;
    for (const call of message.tool_calls ?? []) texts.push(call.function.arguments);
  }
  return texts;
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
export interface PromptContent {
  readonly modalities: readonly Modality[];
  /** UTF-16 units of text, without media. */
  readonly characters: number;
  /** Roughly how many of them are of scripts in which a character is about a token. */
  readonly dense: number;
  readonly images: number;
  /** True when there is a file among it. */
  readonly files: boolean;
  /** True when there are finished calls of server tools from earlier turns. */
  readonly serverCalls: boolean;
  /** True when a message has the role `system`. */
  readonly system: boolean;
}

const NOTHING: readonly never[] = Object.freeze([]);

/** Looks through the messages once for everything that selection needs to know about them. */
export function surveyPrompt(messages: readonly Message[]): PromptContent {
  let modalities: Set<Modality> | undefined;
  let characters = 0;
  let dense = 0;
  let images = 0;
  let files = false;
  let serverCalls = false;
  let system = false;
  for (const message of messages) {
    const { role, content } = message;
    if (role === 'system') system = true;
    if (typeof content === 'string') {
      characters += content.length;
      dense += denseIn(content);
    } else if (content != null) {
      for (const part of content) {
        if (part.type === 'text') {
          characters += part.text.length;
          dense += denseIn(part.text);
        } else if (part.type === 'image_url') images += 1;
        else if (part.type === 'file') files = true;
        const modality = MODALITY_OF_PART[part.type];
        if (modality !== undefined) (modalities ??= new Set()).add(modality);
      }
    }
    if (role !== 'assistant') continue;
    for (const { function: called } of message.tool_calls ?? NOTHING) {
      characters += called.arguments.length;
      dense += denseIn(called.arguments);
    }
    for (const { type } of message.reasoning_details ?? NOTHING) serverCalls ||= type === 'reasoning.server_tool_call';
  }
  const all = modalities === undefined ? NOTHING : [...modalities];
  return { modalities: all, characters, dense, images, files, serverCalls, system };
}

/** Characters of a text that are looked at for their script. */
const LOOKS = 128;

/** Engines see at once that it fits nowhere in a text that they keep as Latin-1. */
const DENSE = /[\u3040-\ud7ff]/;
/** Texts up to so many characters are called as a whole first. */
const SHORT_TEXT = 4 * LOOKS;

/** How many characters of a text are Han, kana or Hangul, going by some that are evenly spread. */
function denseIn(text: string): number {
  if (text.length <= SHORT_TEXT && !DENSE.test(text)) return 0;
  const step = Math.max(1, Math.floor(text.length / LOOKS));
  let looks = 0;
  let dense = 0;
  for (let at = 0; at < text.length; at += step) {
    const code = text.charCodeAt(at);
    looks += 1;
    if (code >= 0x3040 && code < 0xd800) dense += 1;
  }
  return looks === 0 ? 0 : Math.floor((dense / looks) * text.length);
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
      longest = Math.max(longest, fewestTokens(parts.characters, parts.dense));
      likely += Math.ceil(parts.characters / 4);
      images += parts.images;
    } else {
      longest = Math.max(longest, input.length);
      likely += input.length;
    }
  }
  return { modalities: [...modalities], longest, likelyTokens: likely, images };
}
