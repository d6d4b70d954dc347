import type { Endpoint } from '../../catalog/endpoint.ts';
import type { NormalizedRequest } from '../../core/normalize/normalized-request.ts';
import { requestRates } from '../../core/selection/request-price.ts';
import type { ParetoRouterEntry } from '../../protocol/inner-model-options.ts';
import type { Candidate } from '../inner-call/candidates.ts';

/** Classes of models by their coding score. */
export const TIERS = ['high', 'medium', 'low'] as const;

/** One of {@link TIERS}. */
export type Tier = (typeof TIERS)[number];

/** The tier that a score belongs to (contract: `min_coding_score`). */
export function tierOf(score: number): Tier {
  if (score >= 0.66) return 'high';
  return score >= 0.33 ? 'medium' : 'low';
}

/** Tiers by how near they are: the one that was asked for, then the better one, then the weaker one. */
const NEIGHBOURS: Readonly<Record<Tier, readonly Tier[]>> = {
  high: ['high', 'medium', 'low'],
  medium: ['medium', 'high', 'low'],
  low: ['low', 'medium', 'high'],
};

/** The models of a tier, or of the nearest one that has any; best value first. */
export function codersOfTier(
  coders: readonly Coder[],
  wanted: Tier,
  speedOf: ((coder: Coder) => number | undefined) | undefined,
): { readonly tier: Tier; readonly coders: readonly Coder[] } {
  const tier = NEIGHBOURS[wanted].find((one) => coders.some(({ score }) => tierOf(score) === one)) ?? wanted;
  const own = coders.filter(({ score }) => tierOf(score) === tier).sort(cheapestFirst);
  if (speedOf === undefined) return { tier, coders: own };
  // A stable sort: what nobody measured stays in the order of prices, behind the rest.
  const speeds = new Map(own.map((coder) => [coder, speedOf(coder) ?? 0]));
  return { tier, coders: [...own].sort((left, right) => (speeds.get(right) ?? 0) - (speeds.get(left) ?? 0)) };
}

/** A candidate with what a pareto router compares: how good it is at code, and what its input costs. */
export interface Coder {
  readonly candidate: Candidate;
  /** From 0 to 1. */
  readonly score: number;
  /** USD per million input tokens; undefined when unknown. */
  readonly price: number | undefined;
}

/** What the price of a model is, which several providers may serve. */
type PriceSource = NonNullable<ParetoRouterEntry['price_source']>;

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
