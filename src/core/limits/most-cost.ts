import type { Endpoint } from '../../catalog/endpoint.ts';
import type { BilledTier, Rates } from '../../catalog/price.ts';
import { ratesAt } from '../../catalog/price-at.ts';
import type { RoutedRequest, NormalizedRequest, NormalizedEmbeddingRequest } from '../../contracts/request.ts';
import type { Message } from '../../protocol/message.ts';
import { highTokens } from '../tokens/token-ceiling.ts';

/** What a call costs at most, in whole nano-dollars, and what that is made of. */
export interface MostCost {
  readonly nanoUsd: number;
  /** Tokens of the answer that are counted in. */
  readonly answerTokens: number;
  /** Nano-dollars of one token of the answer; not whole. */
  readonly nanoUsdPerAnswerToken: number;
}

/** Tokens that are reserved for an answer that neither the request nor the endpoint limits: few answers are longer. */
const UNKNOWN_ANSWER_TOKENS = 16_384;

/**
 * The upper bound of what an endpoint can charge for a request: all tokens at the highest rate that may apply to them.
 * Undefined where the price is unknown. Searches that a provider runs are not in it: their number is unknown.
 *
 * @param promptTokens - Bound of the prompt, from `mostPromptTokens`.
 */
export function mostCost(request: RoutedRequest, endpoint: Endpoint, promptTokens: number): MostCost | undefined {
  const prompt = Math.min(promptTokens, endpoint.contextLength ?? Infinity);
  const each = mostAnswerTokens(request, endpoint) ?? UNKNOWN_ANSWER_TOKENS;
  const answer = each * choicesOf(request);
  const possible = possibleRates(request, endpoint, prompt);
  if (possible.length === 0) return undefined;
  const bounds = possible.map((rates) => {
    const perPrompt = picoUsd(promptRate(rates, request));
    const perAnswer = picoUsd(answerRate(rates, request));
    const perUnit =
      ((rates.request ?? 0) + (rates.image ?? 0) * request.needs.images + imagesOut(rates, request)) * 1e9;
    const nanoUsd = Math.ceil((prompt * perPrompt + answer * perAnswer) / 1_000) + Math.ceil(perUnit);
    return { nanoUsd, answerTokens: answer, nanoUsdPerAnswerToken: perAnswer / 1_000 };
  });
  return bounds.reduce((most, one) => (one.nanoUsd > most.nanoUsd ? one : most));
}

/** Rates that may hold: those for short and long prompts, and those of the tier that was requested. */
function possibleRates(
  { created: at, serviceTier }: RoutedRequest,
  { price, tier, declaredTiers }: Endpoint,
  prompt: number,
): Rates[] {
  if (price === undefined) return [];
  const tiers: (BilledTier | undefined)[] = [undefined];
  // A default endpoint is not asked for a tier that has endpoints of its own.
  const isRequested = tier === serviceTier || (serviceTier === 'priority' && declaredTiers?.has('priority') !== true);
  if (serviceTier === 'flex' || (serviceTier === 'priority' && isRequested)) tiers.push(serviceTier);
  return tiers.flatMap((otherTier) =>
    [0, prompt].flatMap((promptTokens) => ratesAt(price, { at, promptTokens, otherTier }) ?? []),
  );
}

/** `n` is not part of the contract, but providers that know it charge for every choice. */
function choicesOf({ extra }: RoutedRequest): number {
  const { n } = extra;
  return typeof n === 'number' && Number.isFinite(n) ? Math.max(1, Math.ceil(n)) : 1;
}

function promptRate(rates: Rates, { needs }: RoutedRequest): number {
  const media = new Set(needs.inputModalities);
  return Math.max(
    rates.prompt,
    rates.cacheWrite ?? 0,
    rates.cacheWrite1h ?? 0,
    media.has('audio') ? (rates.audioPrompt ?? 0) : 0,
    media.has('image') ? (rates.imagePrompt ?? 0) : 0,
    media.has('video') ? (rates.videoPrompt ?? 0) : 0,
  );
}

function answerRate(rates: Rates, { needs }: RoutedRequest): number {
  const media = new Set(needs.outputModalities);
  return Math.max(
    rates.completion,
    rates.reasoning ?? 0,
    media.has('audio') ? (rates.audioCompletion ?? 0) : 0,
    media.has('image') ? (rates.imageCompletion ?? 0) : 0,
  );
}

/** Images of an answer to a request for some; more than these four are rare, and charged when they come. */
const IMAGES_OUT = 4;

function imagesOut({ outputImage = 0 }: Rates, { needs }: RoutedRequest): number {
  return needs.outputModalities.includes('image') ? outputImage * IMAGES_OUT : 0;
}

/** One USD per million tokens is a million pico-dollars per token. */
function picoUsd(usdPerMillion: number): number {
  return Math.round(usdPerMillion * 1e6);
}

/** Vocabularies of other makers than OpenAI cut finer; no more than this much. */
const MARGIN = 1.25;
/** What is around a message, a call or a tool. */
const AROUND = 16;
/** Tokens of an image that fills what models look at. */
const IMAGE = 5_000;
/** Characters of base64 per token of media that were sent along, at least. */
const MEDIA_CHARACTERS = 4;
/** Tokens of media behind a URL where the endpoint's context length is not known. */
const UNSEEN_MEDIA = 128_000;
/** Embeddings know their likely number of tokens; the truth is not more than so many times that. */
const EMBEDDING_MARGIN = 3;

/** Tokens that the prompt of a request has at most at any endpoint, before the endpoint's own bound. */
export function mostPromptTokens(request: RoutedRequest): number {
  if (isEmbedding(request)) return request.likelyTokens * EMBEDDING_MARGIN + AROUND;
  const { messages, tools, responseFormat } = request as NormalizedRequest;
  let tokens = AROUND;
  for (const message of messages) tokens += ofMessage(message);
  for (const tool of tools) tokens += AROUND + highTokens(JSON.stringify(tool));
  if (responseFormat !== undefined) tokens += highTokens(JSON.stringify(responseFormat));
  return Math.ceil(tokens * MARGIN);
}

/** Tokens that one answer of an endpoint has at most; undefined when unknown. */
function mostAnswerTokens(request: RoutedRequest, endpoint: Endpoint): number | undefined {
  if (request.operation === 'embeddings') return 0;
  const { contextLength, maxOutputTokens } = endpoint;
  const requested = request.needs.outputTokens;
  // What is thought may come on top of what is said.
  if (requested !== undefined) return requested + (request.reasoning?.maxTokens ?? 0);
  return maxOutputTokens ?? contextLength;
}

function isEmbedding(request: RoutedRequest): request is NormalizedEmbeddingRequest {
  return request.operation === 'embeddings';
}

function ofMessage(message: Message): number {
  const { content } = message;
  let tokens = AROUND + highTokens(message.name ?? '');
  if (typeof content === 'string') tokens += highTokens(content);
  else for (const part of content ?? []) tokens += ofPart(part);
  if (message.role !== 'assistant') return tokens;
  for (const call of message.tool_calls ?? []) {
    tokens += AROUND + highTokens(call.function.name) + highTokens(call.function.arguments);
  }
  if (message.reasoning_details != null) tokens += highTokens(JSON.stringify(message.reasoning_details));
  return (
    tokens +
    highTokens(message.reasoning ?? message.reasoning_content ?? '') +
    highTokens(message.refusal ?? '') +
    (message.images?.length ?? 0) * IMAGE
  );
}

type Part = Exclude<NonNullable<Message['content']>, string>[number];

function ofPart(part: Part): number {
  switch (part.type) {
    case 'text':
      return highTokens(part.text);
    case 'refusal':
      return highTokens(part.refusal);
    case 'image_url':
      return IMAGE;
    case 'input_audio':
      return Math.ceil(part.input_audio.data.length / MEDIA_CHARACTERS);
    case 'file':
      return ofMedia(part.file.file_data ?? '');
    default:
      return ofMedia(part.video_url.url);
  }
}

function ofMedia(url: string): number {
  return url.startsWith('data:') ? Math.ceil(url.length / MEDIA_CHARACTERS) : UNSEEN_MEDIA;
}
