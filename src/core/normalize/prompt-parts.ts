import type { ContentPart } from '../../protocol/content-part.ts';
import type { Message } from '../../protocol/message.ts';
import { likelyTextTokens } from './likely-tokens.ts';
import type { NormalizedRequest } from './normalized-request.ts';

/** What a prompt is made of, for counting it: its texts, and what is counted without a text. */
export interface PromptParts {
  readonly texts: readonly string[];
  /** Tokens of roles, of the frames of tools, and of media. */
  readonly fixedTokens: number;
}

/** Tokens of the role of a message, and of what separates it from the next one. */
const PER_MESSAGE = 4;
/** Tokens around a call of a tool, and around the declaration of one. */
const PER_CALL = 8;
const PER_TOOL = 12;
/** Tokens that the offer of tools costs by itself, whatever they are. */
const TOOLS_AT_ALL = 150;
/** Tokens of an image in full detail, which is about what all vendors charge for one of 1,000 by 1,000 pixels. */
const IMAGE = 1_400;
const SMALL_IMAGE = 85;
/** Tokens of media behind an address, whose length is unknown. */
const MEDIUM = 5_000;
/** Characters of base64 per token of audio and of documents. */
const AUDIO_CHARACTERS = 400;
const FILE_CHARACTERS = 20;

type Counted = Pick<NormalizedRequest, 'messages' | 'tools' | 'responseFormat'>;

/** Takes a prompt apart: its messages, the tools that it offers, and the schema that it asks for. */
export function promptParts({ messages, tools, responseFormat }: Counted): PromptParts {
  const texts: string[] = [];
  let fixedTokens = tools.length === 0 ? 0 : TOOLS_AT_ALL;
  for (const message of messages) fixedTokens += PER_MESSAGE + addMessage(message, texts);
  for (const { function: declared } of tools) {
    fixedTokens += PER_TOOL;
    texts.push(JSON.stringify(declared));
  }
  if (responseFormat?.type === 'json_schema') texts.push(JSON.stringify(responseFormat.json_schema));
  return { texts, fixedTokens };
}

/** Adds the texts of a message. Gives the tokens of what is no text. */
function addMessage(message: Message, texts: string[]): number {
  const { content } = message;
  let tokens = 0;
  if (typeof content === 'string') texts.push(content);
  else {
    for (const part of content ?? []) {
      if (part.type === 'text') texts.push(part.text);
      else if (part.type === 'refusal') texts.push(part.refusal);
      else tokens += mediaTokens(part);
    }
  }
  if (message.role !== 'assistant') return tokens;
  for (const call of message.tool_calls ?? []) {
    tokens += PER_CALL;
    texts.push(call.function.name, call.function.arguments);
  }
  return tokens;
}

function mediaTokens(part: Exclude<ContentPart, { readonly type: 'text' }>): number {
  switch (part.type) {
    case 'image_url':
      return part.image_url.detail === 'low' ? SMALL_IMAGE : IMAGE;
    case 'input_audio':
      return Math.ceil(part.input_audio.data.length / AUDIO_CHARACTERS);
    case 'file': {
      const data = part.file.file_data ?? '';
      return data.startsWith('data:') ? Math.ceil(data.length / FILE_CHARACTERS) : MEDIUM;
    }
    default:
      return MEDIUM;
  }
}

/**
 * How many tokens the vocabularies of vendors make of one that was estimated or counted in OpenAI's, by the author of
 * the model.
 */
const AUTHORS: Readonly<Record<string, number>> = { anthropic: 1.2 };

/** The likely number of tokens in a prompt with its tools and media, in the vocabulary of a model; never none. */
export function estimatedPromptTokens(request: Counted, model: string): number {
  const { texts, fixedTokens } = promptParts(request);
  return inVocabularyOf(model, likelyTextTokens(texts), fixedTokens);
}

/** Tokens in the vocabulary of a model. */
export function inVocabularyOf(model: string, textTokens: number, fixedTokens: number): number {
  const factor = AUTHORS[model.slice(0, Math.max(0, model.indexOf('/')))] ?? 1;
  return Math.max(1, Math.round(textTokens * factor + fixedTokens));
}
