/** Counts the tokens of messages, and what of them could be shortened. */
import type { ContentPart } from '../../protocol/content-part.ts';
import type { Message } from '../../protocol/message.ts';
import type { NormalizedRequest } from '../../contracts/request.ts';
import { type GptEncoding, loadGptTokenizer } from '../../platform/gpt-tokenizer.ts';

/** Counts the tokens of a text. */
export type TokenCounter = (text: string) => number;

/** A text that may be shortened: where it is in its message, and how long it is. */
export interface CountedText {
  /** Index among the content parts; -1 when the content is one text. */
  readonly part: number;
  readonly tokens: number;
}

/** How many tokens a message has, and which of them could be taken away. */
export interface CountedMessage {
  /** All tokens, texts included. */
  readonly tokens: number;
  /** Empty for messages of which nothing may be taken away. */
  readonly texts: readonly CountedText[];
  /** Texts of instructions: only what chooses by relevance takes anything of them away. */
  readonly instructions?: readonly CountedText[] | undefined;
}

/** What a message costs besides its content: the role and what separates it from the next one. */
const PER_MESSAGE = 4;
const PER_CALL = 8;

/** Tokens of media that show no size: an image in full detail, a clip or a document behind a URL. */
const LOW_DETAIL_IMAGE = 300;
const MEDIUM = 5_000;
/** Characters of base64 per token of media that were sent along. */
const AUDIO_CHARACTERS = 400;
const FILE_CHARACTERS = 20;
const VIDEO_CHARACTERS = 100;

/**
 * Counts a message. System prompts are kept apart, and what a model thought or the arguments that it gave to a tool are
 * never shortened: half of either is worth nothing.
 *
 * @param imageTokens - Tokens of an image in full detail.
 */
export function countMessage(message: Message, count: TokenCounter, imageTokens: number): CountedMessage {
  const { content } = message;
  const texts: CountedText[] = [];
  let tokens = PER_MESSAGE + (message.name == null ? 0 : 1 + count(message.name));
  if (typeof content === 'string') texts.push({ part: -1, tokens: count(content) });
  else {
    for (const [part, one] of (content ?? []).entries()) {
      if (one.type === 'text') texts.push({ part, tokens: count(one.text) });
      else tokens += one.type === 'refusal' ? count(one.refusal) : countMedia(one, imageTokens);
    }
  }
  if (message.role === 'assistant') {
    for (const call of message.tool_calls ?? []) {
      tokens += PER_CALL + count(call.function.name) + count(call.function.arguments);
    }
    if (message.reasoning_details != null) tokens += count(JSON.stringify(message.reasoning_details));
    else tokens += count(message.reasoning ?? message.reasoning_content ?? '');
    tokens += (message.images?.length ?? 0) * imageTokens + (message.audio == null ? 0 : MEDIUM);
    tokens += count(message.refusal ?? '');
  }
  for (const text of texts) tokens += text.tokens;
  if (message.role === 'system' || message.role === 'developer') return { tokens, texts: [], instructions: texts };
  return { tokens, texts: mayShorten(message) ? texts : [] };
}

function mayShorten(message: Message): boolean {
  // Signed thinking and the text beside it belong together.
  return message.role !== 'assistant' || message.reasoning_details == null;
}

function countMedia(part: Exclude<ContentPart, { readonly type: 'text' }>, imageTokens: number): number {
  switch (part.type) {
    case 'image_url':
      return part.image_url.detail === 'low' ? LOW_DETAIL_IMAGE : imageTokens;
    case 'input_audio':
      return Math.max(100, Math.ceil(part.input_audio.data.length / AUDIO_CHARACTERS));
    case 'file':
      return sized(part.file.file_data ?? '', FILE_CHARACTERS);
    default:
      return sized(part.video_url.url, VIDEO_CHARACTERS);
  }
}

/** Tokens of media in a data URL by its length, of others by rule of thumb. */
function sized(url: string, charactersPerToken: number): number {
  return url.startsWith('data:') ? Math.max(200, Math.ceil(url.length / charactersPerToken)) : MEDIUM;
}

/** Some messages of a prompt, and how long they are together. */
export class Measured {
  readonly indexes: readonly number[];
  readonly #sizes: readonly CountedMessage[];

  constructor(indexes: readonly number[], sizes: readonly CountedMessage[]) {
    this.indexes = indexes;
    this.#sizes = sizes;
  }

  get count(): number {
    return this.indexes.length;
  }

  get tokens(): number {
    return this.cappedAt(Infinity);
  }

  /** Tokens when no text has more than a certain number. */
  cappedAt(cap: number): number {
    return this.indexes.reduce((sum, index) => sum + cappedTokens(this.#sizes[index], cap), 0);
  }

  /** How long each text may be so that all fit; negative when the rest is too much already. */
  shareOf(room: number): number {
    const texts = this.indexes.flatMap((index) => this.#sizes[index]?.texts.map((text) => text.tokens) ?? []);
    const fixed = this.cappedAt(0);
    return fixed > room ? -1 : fairShare(texts, room - fixed);
  }
}

function cappedTokens(size: CountedMessage | undefined, cap: number): number {
  if (size === undefined) return 0;
  return size.texts.reduce((sum, text) => sum - Math.max(0, text.tokens - cap), size.tokens);
}

/**
 * The largest length that texts may be cut to so that all of them fit together. Short ones stay whole, and what they
 * leave over goes to the long ones. Infinity when they fit as they are.
 *
 * @param lengths - In any order.
 * @param room - What they may take together.
 */
export function fairShare(lengths: readonly number[], room: number): number {
  const sorted = [...lengths].sort((left, right) => left - right);
  let left = room;
  for (const [index, length] of sorted.entries()) {
    const share = Math.floor(left / (sorted.length - index));
    if (length > share) return Math.max(0, share);
    left -= length;
  }
  return Infinity;
}

/** Characters of a prompt that are counted one by one; counting these takes about 15 ms, in which no other work runs. */
const EXACT = 250_000;

/** Characters of one sample. */
const SAMPLE = 1_024;
/** Characters that are counted of any text. */
const LEAST = 16;

/**
 * A counter that takes about as long for any prompt: up to 250,000 characters are counted exactly, and of longer
 * prompts samples of every text, from its beginning to its end. Such a prompt has 50,000 tokens and more, of which the
 * samples miss a few in a hundred.
 */
export function sampledCount(
  count: TokenCounter,
  request: Pick<NormalizedRequest, 'messages' | 'tools'>,
): TokenCounter {
  const tools = request.tools.length === 0 ? 0 : JSON.stringify(request.tools).length;
  const characters = request.messages.reduce((sum, message) => sum + charactersOf(message), tools);
  if (characters <= EXACT) return count;
  const part = EXACT / characters;
  return (text) => {
    const wanted = Math.max(LEAST, Math.ceil(text.length * part));
    if (text.length <= 2 * wanted) return count(text);
    const samples = Math.ceil(wanted / SAMPLE);
    const length = Math.min(SAMPLE, wanted);
    const step = samples === 1 ? 0 : (text.length - length) / (samples - 1);
    let counted = 0;
    for (let index = 0; index < samples; index += 1) {
      const from = Math.floor(index * step);
      counted += count(text.slice(from, from + length));
    }
    return Math.ceil((counted / (samples * length)) * text.length);
  };
}

function charactersOf(message: Message): number {
  const { content } = message;
  const calls = message.role === 'assistant' ? (message.tool_calls ?? []) : [];
  const beside = calls.reduce((sum, call) => sum + call.function.arguments.length, 0);
  if (typeof content === 'string') return content.length + beside;
  return (content ?? []).reduce((sum, one) => sum + (one.type === 'text' ? one.text.length : 0), beside);
}

export type { GptEncoding } from '../../platform/gpt-tokenizer.ts';

/**
 * Counts tokens exactly, with a vocabulary of OpenAI: `contextCompression({ countTokens: gptTokens() })`. Needs the
 * package `gpt-tokenizer`, which is loaded when a prompt is too long for the first time (80 MB of memory).
 *
 * @param encoding - `o200k_base` (default) is that of GPT-4o and everything after it.
 * @throws Error that names the package, when it is not installed.
 */
export function gptTokens(encoding: GptEncoding = 'o200k_base'): () => PromiseLike<TokenCounter> {
  let loaded: Promise<TokenCounter> | undefined;
  return () => {
    loaded ??= load(encoding).catch((error: unknown) => {
      loaded = undefined;
      throw error;
    });
    return loaded;
  };
}

async function load(encoding: GptEncoding): Promise<TokenCounter> {
  const count = await loadGptTokenizer(encoding);
  if (count !== undefined) return count;
  throw new Error('gptTokens() needs the package gpt-tokenizer; install it with "npm install gpt-tokenizer"');
}
