/** Estimates what a request costs at an endpoint, cached prompts included. */
import type { Endpoint } from '../../../catalog/endpoint.ts';
import { blendedPrice, type Rates } from '../../../catalog/price.ts';
import { ratesAt } from '../../../catalog/price-at.ts';
import type { RoutedRequest } from '../../../contracts/request.ts';
import { type EstimatedPrompt, likelyPromptTokens } from '../../tokens/token-estimate.ts';

/** What prices depend on in a request. */
export type PricedRequest = Pick<RoutedRequest, 'created'> & EstimatedPrompt;

/** The rates at which an endpoint would charge for a request: those of its time and of its likely length. */
export function requestRates({ price }: Endpoint, request: PricedRequest): Rates | undefined {
  // Most prices depend on nothing, and every plan compares all of them.
  if (price === undefined || (price.above === undefined && price.changes === undefined)) return price;
  return ratesAt(price, { at: request.created, promptTokens: likelyPromptTokens(request) });
}

/** The price by which endpoints are compared for a request: input plus output, USD per million tokens. */
export function requestPrice(endpoint: Endpoint, request: PricedRequest): number | undefined {
  return blendedPrice(requestRates(endpoint, request));
}

/** What a request is expected to be made of. */
export interface ExpectedTokens {
  readonly prompt: number;
  readonly answer: number;
}

/** Ratios beyond this are about something else than how text is counted. */
const FARTHEST_RATIO = 3;

/** Tokens that providers report for one of the rough count, from the means of both; undefined where nothing is known. */
export function promptRatio(reported: number | undefined, rough: number | undefined): number | undefined {
  if (reported === undefined || rough === undefined || reported <= 0 || rough <= 0) return undefined;
  return Math.min(FARTHEST_RATIO, Math.max(1 / FARTHEST_RATIO, reported / rough));
}

/**
 * Tokens that a prompt is roughly counted to have: twice the floor. The text is not looked at, because plans must not
 * take long.
 */
export function roughPromptTokens({ promptTokens }: { readonly promptTokens: number }): number {
  return Math.max(1, promptTokens * 2);
}

/** What a token of an answer takes as long as to compute: about so many of a prompt, because those are computed together. */
export const PER_ANSWER_TOKEN = 100;

/**
 * US dollars that a request is expected to cost: what is in the endpoint's cache at the cached rate, the rest of the
 * prompt and the answer at the full one. Undefined where no price is known.
 *
 * @param inCache - Tokens of the prompt that are likely to be in the cache.
 * @param unknownCachedRate - What a cached token costs in relation to others where the endpoint does not say.
 */
export function expectedCost(
  rates: Rates | undefined,
  { prompt, answer }: ExpectedTokens,
  inCache: number,
  unknownCachedRate: number,
): number | undefined {
  if (rates === undefined) return undefined;
  const cachedRate = rates.cacheRead ?? rates.prompt * unknownCachedRate;
  const cached = Math.min(inCache, prompt);
  const input = (prompt - cached) * rates.prompt + cached * Math.min(cachedRate, rates.prompt);
  return (input + answer * rates.completion) / 1e6 + (rates.request ?? 0);
}

/** The share of a prompt that is in an endpoint's cache, for explanations: 0 is cold. */
export function warmthOf(inCache: number, prompt: number): number {
  return prompt <= 0 ? 0 : Math.min(1, inCache / prompt);
}

/** Endpoints that served a session, each with when and how long the prompt was. */
export type ServedBy = readonly { readonly endpoint: string; readonly at: number; readonly tokens: number }[];

/** Tokens of a session's prompt that an endpoint is likely to have in its cache. */
export function cachedTokens(served: ServedBy, { id }: Pick<Endpoint, 'id'>, cacheMs: number, now: number): number {
  for (const { endpoint, at, tokens } of served) {
    if (endpoint === id) return now - at <= cacheMs ? tokens : 0;
  }
  return 0;
}
