import type { Endpoint } from '../../catalog/endpoint.ts';
import type { BilledTier, Rates } from '../../catalog/price.ts';
import { ratesAt } from '../../catalog/price-at.ts';
import type { RoutedRequest } from '../normalize/normalized-request.ts';
import { mostAnswerTokens } from './most-tokens.ts';

/** What a call costs at most, in whole nano-dollars, and what that is made of. */
export interface MostCost {
  readonly nanoUsd: number;
  /** Tokens of the answer that are counted in. */
  readonly answerTokens: number;
  /** Nano-dollars of one token of the answer; not whole. */
  readonly nanoUsdPerAnswerToken: number;
}

/**
 * The upper bound of what an endpoint can charge for a request: all tokens at the highest rate that may apply to them.
 * Undefined where the price is unknown. Searches that a provider runs are not in it: their number is unknown.
 *
 * @param promptTokens - Bound of the prompt, from `mostPromptTokens`.
 * @param unknownAnswerTokens - Tokens of an answer whose limit is unknown.
 */
export function mostCost(
  request: RoutedRequest,
  endpoint: Endpoint,
  promptTokens: number,
  unknownAnswerTokens: number,
): MostCost | undefined {
  const prompt = Math.min(promptTokens, endpoint.contextLength ?? Infinity);
  const each = mostAnswerTokens(request, endpoint) ?? unknownAnswerTokens;
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

/** Rates that may hold: those for short and long prompts, and those of the tier that was asked for. */
function possibleRates(
  { created: at, serviceTier }: RoutedRequest,
  { price, tier, declaredTiers }: Endpoint,
  prompt: number,
): Rates[] {
  if (price === undefined) return [];
  const tiers: (BilledTier | undefined)[] = [undefined];
  // A default endpoint is not asked for a tier that has endpoints of its own.
  const isAsked = tier === serviceTier || (serviceTier === 'priority' && declaredTiers?.has('priority') !== true);
  if (serviceTier === 'flex' || (serviceTier === 'priority' && isAsked)) tiers.push(serviceTier);
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

/** Images of an answer that asks for some; more than these four are rare, and charged when they come. */
const IMAGES_OUT = 4;

function imagesOut({ outputImage = 0 }: Rates, { needs }: RoutedRequest): number {
  return needs.outputModalities.includes('image') ? outputImage * IMAGES_OUT : 0;
}

/** One USD per million tokens is a million pico-dollars per token. */
function picoUsd(usdPerMillion: number): number {
  return Math.round(usdPerMillion * 1e6);
}
