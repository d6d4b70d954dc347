/** Estimates the tokens of a prompt part by part, in the vocabulary of a model. */
import type { ContentPart } from '../../protocol/content-part.ts';
import type { Message } from '../../protocol/message.ts';
import { imageSize } from './image-size.ts';
import { likelyTextTokens } from './likely-tokens.ts';
import { audioSeconds } from './audio-length.ts';
import { guessedPdf, type PdfContent } from './pdf-pages.ts';
import type { NormalizedRequest } from '../../contracts/request.ts';
import { countsOf, type VendorCounts } from './vendor-counts.ts';

/** What a prompt is made of, for counting it: its texts, and what is counted without a text. */
interface PromptParts {
  readonly texts: readonly string[];
  /** Tokens of roles, of the frames of tools, and of media. */
  readonly fixedTokens: number;
  /** True where some of it cannot be counted from the request, such as an image behind an address. */
  readonly isGuess: boolean;
}

/** Media behind an address, whose length is unknown. */
const GUESSED_MEDIUM = { tokens: 5_000, isGuess: true };
/** Characters of base64 per token of texts, and characters per token of what PDFs show. */
const TEXT_CHARACTERS = 5.6;
const CHARACTERS_PER_TOKEN = 4.2;
/** Tokens of a page of text. */
const TOKENS_PER_PAGE = 430;

type Media = Exclude<ContentPart, { readonly type: 'text' }>;

/** What is needed to count a part. */
interface Reading {
  readonly counts: VendorCounts;
  readonly model: string;
  readonly pdfs: ReadonlyMap<string, PdfContent> | undefined;
}

type Counted = Pick<NormalizedRequest, 'messages' | 'tools' | 'responseFormat'> &
  Partial<Pick<NormalizedRequest, 'toolChoice' | 'reasoning' | 'format'>>;

/**
 * Takes a prompt apart: its messages, the tools that it offers, and the schema that it requires.
 *
 * @param model - With its author, whose way to count is followed where it is known.
 * @param pdfs - PDFs that were read, by their base64; the text of others is guessed.
 */
export function promptParts(request: Counted, model: string, pdfs?: ReadonlyMap<string, PdfContent>): PromptParts {
  const { messages, responseFormat, reasoning } = request;
  const texts: string[] = [];
  const counts = countsOf(model, request.format);
  const hasSystem = messages.some(isSystem);
  let isGuess = false;
  let fixedTokens = counts.perPrompt + (hasSystem ? 0 : counts.withoutSystem);
  if (reasoning !== undefined && reasoning.effort !== 'none') fixedTokens += counts.reasoning;
  for (const message of messages) {
    fixedTokens += isSystem(message) ? counts.perSystemMessage : counts.perMessage;
    const added = addMessage(message, texts, { counts, model, pdfs });
    fixedTokens += added.tokens;
    isGuess ||= added.isGuess;
  }
  if (request.tools.length > 0) {
    fixedTokens += addTools(request, texts, counts) + (hasSystem ? counts.toolsInSystem : 0);
  }
  if (responseFormat?.type === 'json_schema' && counts.perSchema !== undefined) {
    fixedTokens += counts.perSchema;
    texts.push(counts.schema(responseFormat.json_schema));
  }
  return { texts, fixedTokens, isGuess };
}

function isSystem({ role }: Message): boolean {
  return role === 'system' || role === 'developer';
}

/** Adds the texts of the tools that the model may call. Gives the tokens around them. */
function addTools(request: Counted, texts: string[], counts: VendorCounts): number {
  const { tools, toolChoice } = request;
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
  return counts.toolsAtAll + around + (mustCall ? counts.mustCall : 0);
}

/** Adds the texts of a message. Gives the tokens of what is no text. */
function addMessage(message: Message, texts: string[], reading: Reading): { tokens: number; isGuess: boolean } {
  const { content } = message;
  const added = { tokens: 0, isGuess: false };
  if (typeof content === 'string') texts.push(content);
  else {
    for (const part of content ?? []) {
      if (part.type === 'text') texts.push(part.text);
      else if (part.type === 'refusal') texts.push(part.refusal);
      else {
        const { tokens, isGuess } = mediaTokens(part, reading);
        added.tokens += tokens;
        added.isGuess ||= isGuess;
      }
    }
  }
  if (message.role === 'tool') added.tokens += reading.counts.perResult;
  if (message.role !== 'assistant') return added;
  for (const call of message.tool_calls ?? []) {
    added.tokens += reading.counts.perCall;
    texts.push(call.function.name, call.function.arguments);
  }
  return added;
}

/** Counts what is no text. What is behind an address, or is not known to say how long it is, is guessed. */
function mediaTokens(
  part: Media,
  { counts, model, pdfs }: Reading,
): { readonly tokens: number; readonly isGuess: boolean } {
  switch (part.type) {
    case 'image_url': {
      const { url, detail } = part.image_url;
      const size = imageSize(url);
      return { tokens: counts.image(size, model, detail), isGuess: size === undefined };
    }
    case 'input_audio': {
      const { data, format } = part.input_audio;
      return { tokens: Math.ceil(counts.audio(audioSeconds(data, format))), isGuess: false };
    }
    case 'file': {
      const data = part.file.file_data ?? '';
      if (!data.startsWith('data:')) return GUESSED_MEDIUM;
      if (data.startsWith('data:text/')) return { tokens: Math.ceil(data.length / TEXT_CHARACTERS), isGuess: false };
      const content = data.slice(data.indexOf(',') + 1);
      // Of other documents hosts read the text alone, which is packed.
      if (!data.startsWith('data:application/pdf')) return { tokens: TOKENS_PER_PAGE, isGuess: true };
      const { pages, characters } = pdfs?.get(content) ?? guessedPdf(content);
      const text = counts.hasTextOfPages ? (characters / CHARACTERS_PER_TOKEN) * counts.factor : 0;
      return { tokens: Math.ceil(pages * counts.perPage + text), isGuess: false };
    }
    default:
      return GUESSED_MEDIUM;
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
