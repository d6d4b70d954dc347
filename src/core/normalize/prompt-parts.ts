import type { ContentPart } from '../../protocol/content-part.ts';
import type { Message } from '../../protocol/message.ts';
import { imageSize } from './image-size.ts';
import { likelyTextTokens } from './likely-tokens.ts';
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
/** Characters of base64 per token of documents. */
const FILE_CHARACTERS = 20;

type Counted = Pick<NormalizedRequest, 'messages' | 'tools' | 'responseFormat'>;

/**
 * Takes a prompt apart: its messages, the tools that it offers, and the schema that it asks for.
 *
 * @param model - With its author, whose way to count is followed where it is known.
 */
export function promptParts({ messages, tools, responseFormat }: Counted, model: string): PromptParts {
  const texts: string[] = [];
  const counts = countsOf(model);
  let fixedTokens = counts.perPrompt + (tools.length === 0 ? 0 : counts.toolsAtAll);
  for (const message of messages) fixedTokens += counts.perMessage + addMessage(message, texts, counts, model);
  for (const { function: declared } of tools) {
    fixedTokens += counts.perTool;
    texts.push(counts.declared(declared));
  }
  if (responseFormat?.type === 'json_schema' && counts.schemaShare > 0) {
    const schema = JSON.stringify(responseFormat.json_schema);
    texts.push(schema.slice(0, Math.ceil(schema.length * counts.schemaShare)));
  }
  return { texts, fixedTokens };
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
  if (message.role !== 'assistant') return tokens;
  for (const call of message.tool_calls ?? []) {
    tokens += counts.perCall;
    texts.push(call.function.name, call.function.arguments);
  }
  return tokens;
}

function mediaTokens(
  part: Exclude<ContentPart, { readonly type: 'text' }>,
  { image, audioPerSecond }: VendorCounts,
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
      return data.startsWith('data:') ? Math.ceil(data.length / FILE_CHARACTERS) : MEDIUM;
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
