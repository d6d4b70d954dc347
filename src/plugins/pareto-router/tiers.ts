import type { Endpoint } from '../../catalog/endpoint.ts';
import type { NormalizedRequest } from '../../core/normalize/normalized-request.ts';
import { requestRates } from '../../core/selection/adaptive/expected-cost.ts';
import type { ParetoRouterEntry } from '../../protocol/inner-model-options.ts';
import type { Candidate } from '../inner-call/candidates.ts';
import { byValue } from '../inner-call/value.ts';

/** Classes of models by where their coding score stands among the others. */
export const TIERS = ['high', 'medium', 'low'] as const;

/** One of {@link TIERS}. */
export type Tier = (typeof TIERS)[number];

/** The tier that a request asks for with `min_coding_score` (contract), and that a share of the pool falls into. */
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

/**
 * Tiers of all models by percentile: the share of the others that are not better. The best one is always in the high
 * tier, whatever its score: scores of different benchmarks are not on one scale, and what is good today is not tomorrow.
 */
export function tiersOf(coders: readonly Coder[]): ReadonlyMap<Coder, Tier> {
  const scores = coders.map(({ score }) => score).sort((left, right) => right - left);
  const others = Math.max(1, coders.length - 1);
  return new Map(coders.map((coder) => [coder, tierOf(1 - scores.indexOf(coder.score) / others)]));
}

/** How a tier is ordered. */
interface TierOrder {
  /** Tokens per second, where the fastest is wanted. */
  readonly speedOf?: ((coder: Coder) => number | undefined) | undefined;
  /** True: the scores only stand for prices, so that there is no value to compare. The dearest comes first. */
  readonly byPrice: boolean;
}

/** The models of a tier, or of the nearest one that has any; the best quality per cost first. */
export function codersOfTier(
  coders: readonly Coder[],
  wanted: Tier,
  { speedOf, byPrice }: TierOrder,
): { readonly tier: Tier; readonly coders: readonly Coder[] } {
  const tiers = tiersOf(coders);
  const tier = NEIGHBOURS[wanted].find((one) => coders.some((coder) => tiers.get(coder) === one)) ?? wanted;
  const inside = coders.filter((coder) => tiers.get(coder) === tier);
  const own = byPrice
    ? inside.sort((left, right) => right.score - left.score)
    : byValue(inside, ({ score, price }) => ({ quality: score, price }));
  if (speedOf === undefined) return { tier, coders: own };
  // A stable sort: what nobody measured stays in its order, behind the rest.
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
function cheapestFirst(left: Coder, right: Coder): number {
  const [first, second] = [left.price ?? Infinity, right.price ?? Infinity];
  return first === second ? right.score - left.score : first - second;
}

/**
 * The pareto frontier: models for which no other is both as cheap and better, or as good and cheaper. Best score first,
 * which is also the dearest first.
 */
export function frontier(coders: readonly Coder[]): readonly Coder[] {
  const found: Coder[] = [];
  let best = -Infinity;
  for (const coder of [...coders].sort(cheapestFirst)) {
    if (coder.price === undefined || coder.score <= best) continue;
    best = coder.score;
    found.push(coder);
  }
  return found.toReversed();
}

/** Models at or under a cap: those on the frontier by score, then the others by score (gaps 5.9). */
export function codersUnder(coders: readonly Coder[], cap: number): readonly Coder[] {
  const affordable = coders.filter(({ price }) => price !== undefined && price <= cap);
  const best = frontier(affordable);
  const others = affordable.filter((coder) => !best.includes(coder));
  return [...best, ...others.sort((left, right) => right.score - left.score || cheapestFirst(left, right))];
}
