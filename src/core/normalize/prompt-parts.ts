import type { ContentPart } from '../../protocol/content-part.ts';
import type { Message } from '../../protocol/message.ts';
import { imageSize } from './image-size.ts';
import { likelyTextTokens } from './likely-tokens.ts';
import { pdfPages } from './media-tokens.ts';
import type { NormalizedRequest } from './normalized-request.ts';
import { countsOf, type VendorCounts } from './vendor-counts.ts';

/** What a prompt is made of, for counting it: its texts, and what is counted without a text. */
export interface PromptParts {
  readonly texts: readonly string[];
  /** Tokens of roles, of the frames of tools, and of media. */
  readonly fixedTokens: number;
}

/** Tokens of an image that is looked at in low detail. */
const SMALL_IMAGE = 85;
/** Tokens of media behind an address, whose length is unknown. */
const MEDIUM = 5_000;
/** Characters of base64 in a second of audio: MP3 of 128 kbit/s, or samples of two bytes at 16 kHz. */
const MP3_PER_SECOND = 21_333;
const WAV_PER_SECOND = 42_667;
/** Characters of base64 per token of texts. */
const TEXT_CHARACTERS = 5.6;

type Counted = Pick<NormalizedRequest, 'messages' | 'tools' | 'responseFormat'> &
  Partial<Pick<NormalizedRequest, 'toolChoice' | 'reasoning' | 'format'>>;

/**
 * Takes a prompt apart: its messages, the tools that it offers, and the schema that it asks for.
 *
 * @param model - With its author, whose way to count is followed where it is known.
 */
export function promptParts(request: Counted, model: string): PromptParts {
  const { messages, responseFormat, reasoning } = request;
  const texts: string[] = [];
  const counts = countsOf(model, request.format);
  const hasSystem = messages.some(isSystem);
  let fixedTokens = counts.perPrompt + (hasSystem ? 0 : counts.withoutSystem);
  if (reasoning !== undefined && reasoning.effort !== 'none') fixedTokens += counts.reasoning;
  for (const message of messages) {
    fixedTokens += isSystem(message) ? counts.perSystemMessage : counts.perMessage;
    fixedTokens += addMessage(message, texts, counts, model);
  }
  fixedTokens += addTools(request, texts, counts, hasSystem);
  if (responseFormat?.type === 'json_schema' && counts.perSchema !== undefined) {
    fixedTokens += counts.perSchema;
    texts.push(counts.schema(responseFormat.json_schema));
  }
  return { texts, fixedTokens };
}

function isSystem({ role }: Message): boolean {
  return role === 'system' || role === 'developer';
}

/** Adds the texts of the tools that the model may call. Gives the tokens around them. */
function addTools(request: Counted, texts: string[], counts: VendorCounts, hasSystem: boolean): number {
  const { tools, toolChoice } = request;
  if (tools.length === 0) return 0;
  let around = 0;
  for (const { function: declared } of tools) {
    texts.push(counts.declared(declared));
    around += counts.perTool + counts.structure(declared);
  }
  const mustCall = toolChoice !== undefined && toolChoice !== 'auto' && toolChoice !== 'none';
  if (counts.perNamedTool !== undefined && typeof toolChoice === 'object' && 'function' in toolChoice) {
    texts.push(toolChoice.function.name);
    around += counts.perNamedTool;
  }
  return counts.toolsAtAll + around + (mustCall ? counts.mustCall : 0) + (hasSystem ? counts.toolsInSystem : 0);
}

/** Adds the texts of a message. Gives the tokens of what is no text. */
function addMessage(message: Message, texts: string[], counts: VendorCounts, model: string): number {
  const { content } = message;
  let tokens = 0;
  if (typeof content === 'string') texts.push(content);
  else {
    for (const part of content ?? []) {
      if (part.type === 'text') texts.push(part.text);
      else if (part.type === 'refusal') texts.push(part.refusal);
      else tokens += mediaTokens(part, counts, model);
    }
  }
  if (message.role === 'tool') return tokens + counts.perResult;
  if (message.role !== 'assistant') return tokens;
  for (const call of message.tool_calls ?? []) {
    tokens += counts.perCall;
    texts.push(call.function.name, call.function.arguments);
  }
  return tokens;
}

function mediaTokens(
  part: Exclude<ContentPart, { readonly type: 'text' }>,
  { image, audioPerSecond, perPage }: VendorCounts,
  model: string,
): number {
  switch (part.type) {
    case 'image_url': {
      const { url, detail } = part.image_url;
      return detail === 'low' ? SMALL_IMAGE : image(imageSize(url), model);
    }
    case 'input_audio': {
      const { data, format } = part.input_audio;
      const seconds = data.length / (format === 'mp3' ? MP3_PER_SECOND : WAV_PER_SECOND);
      return Math.ceil(seconds * audioPerSecond);
    }
    case 'file': {
      const data = part.file.file_data ?? '';
      if (!data.startsWith('data:')) return MEDIUM;
      if (data.startsWith('data:text/')) return Math.ceil(data.length / TEXT_CHARACTERS);
      return perPage * pdfPages(data.slice(data.indexOf(',') + 1));
    }
    default:
      return MEDIUM;
  }
}

/** The likely number of tokens in a prompt with its tools and media, in the vocabulary of a model; never none. */
export function estimatedPromptTokens(request: Counted, model: string): number {
  const { texts, fixedTokens } = promptParts(request, model);
  return inVocabularyOf(model, likelyTextTokens(texts), fixedTokens);
}

/** Tokens in the vocabulary of a model. */
export function inVocabularyOf(model: string, textTokens: number, fixedTokens: number): number {
  return Math.max(1, Math.round(textTokens * countsOf(model).factor + fixedTokens));
}
