import type { Endpoint } from '../../catalog/endpoint.ts';
import type { NormalizedRequest } from '../../core/normalize/normalized-request.ts';
import { requestRates } from '../../core/selection/request-price.ts';
import type { ParetoRouterEntry } from '../../protocol/model-router-options.ts';
import type { Candidate } from '../model-choice/candidates.ts';

/** A candidate with what a pareto router compares: how good it is at code, and what its input costs. */
export interface Coder {
  readonly candidate: Candidate;
  /** From 0 to 1. */
  readonly score: number;
  /** USD per million input tokens; undefined when nobody knows it. */
  readonly price: number | undefined;
}

/** What the price of a model is, which several providers may serve. */
export type PriceSource = NonNullable<ParetoRouterEntry['price_source']>;

/**
 * What a million input tokens of a model cost. `prompt` is the cheapest endpoint's price; `weighted_avg` is the average
 * over its endpoints, each weighted as often as load balancing would pick it, by 1/price² (gaps 3.3).
 */
export function inputPrice(
  endpoints: readonly Endpoint[],
  source: PriceSource,
  request: NormalizedRequest,
): number | undefined {
  const prices = endpoints.flatMap((endpoint) => requestRates(endpoint, request)?.prompt ?? []);
  if (prices.length === 0) return undefined;
  const lowest = Math.min(...prices);
  if (source === 'prompt' || lowest === 0) return lowest;
  const total = prices.reduce((sum, price) => sum + 1 / price ** 2, 0);
  return prices.reduce((sum, price) => sum + price / price ** 2, 0) / total;
}

/** Orders by price, the cheapest first and unknown prices last; of equal prices the better one. */
export function cheapestFirst(left: Coder, right: Coder): number {
  const [first, second] = [left.price ?? Infinity, right.price ?? Infinity];
  return first === second ? right.score - left.score : first - second;
}
