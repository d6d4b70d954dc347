/** The plugin behind `router/pareto-code`: the best coding model for its price. */
import type { ModelTarget, NormalizedRequest } from '../../contracts/request.ts';
import { callable, type OptionShape } from '../../options/values.ts';
import { checkShape } from '../../platform/check-options.ts';
import type { Plugin } from '../../contracts/plugin.ts';
import { definePlugin } from '../../core/pipeline/define-plugin.ts';
import { type ParetoRouterEntry, parseParetoRouterOptions } from '../../protocol/inner-model-options.ts';
import {
  bySize,
  type Candidate,
  type ChosenModels,
  candidatesFor,
  inPlaceOfRouter,
  safeScores,
  stickyCandidate,
  withFirst,
} from '../services/inner-call/candidates.ts';
import type { Endpoint } from '../../catalog/endpoint.ts';
import { requestPrice, requestRates } from '../../core/selection/adaptive/expected-cost.ts';
import type { bestOfTier as BestOfTier } from '../services/inner-call/value.ts';
import type { CandidatesContext } from '../../contracts/plugin-context.ts';

/** Options of {@link paretoRouter}. */
export interface ParetoRouterOptions {
  /**
   * How good a model is at code, from 0 to 1, or undefined when unknown; must answer at once, and the same for the
   * same question. Default: the score `coding` of the catalog, or `code`.
   */
  readonly codingScore?: ((candidate: Candidate) => number | undefined) | undefined;
}

const OPTIONS: OptionShape<ParetoRouterOptions> = { codingScore: callable };

const SLUG = 'router/pareto-code';
/** A first choice and up to two fallbacks (gaps 5.9). */
const MAX_MODELS = 3;

/**
 * The plugin `pareto-router`, which resolves `router/pareto-code` (contract: plugin objects; gaps 5.9): of a third of
 * the pool by coding score, the model with the best quality per cost, or with `:nitro` the fastest, and two more of that
 * tier, or of the nearest other ones where it has no more, for when it is not there; another model in the place of one that it beats in both; with `max_price` the best one for that price. It costs nothing and calls nobody.
 *
 * Models without a coding score are no candidates as long as some have one. Where none has, the third of them with the
 * longest contexts stands for the high tier, and so on; of equals, as are all of 128,000 tokens and more, the newest, then
 * the most expensive first; the stage and a warning say so.
 */
export function paretoRouter(options: ParetoRouterOptions = {}): Plugin<ParetoRouterEntry> {
  checkShape(OPTIONS, options, 'paretoRouter');
  const { codingScore = catalogScore } = options;
  const isOurs = (target: ModelTarget): boolean => target.model === SLUG;
  return definePlugin<ParetoRouterEntry>({
    id: 'pareto-router',
    onlyRoutes: true,
    whenItThrows: 'fail',
    models: [SLUG],
    parseOptions: parseParetoRouterOptions,
    load: loadValue,
    onCandidates(targets, request, entry, context) {
      const router = targets.find(isOurs);
      if (router === undefined) return targets;
      const speedOf = router.sort === 'throughput' ? speedsFor(context) : undefined;
      const chosen = choose(request, entry, { codingScore, speedOf }, context);
      return inPlaceOfRouter(targets, isOurs, chosen, { strategy: 'pareto', refusedTogether: true });
    },
  });
}

let bestOfTier: typeof BestOfTier | undefined;

/** What compares models, loaded by the first request for the router model. */
export async function loadValue(): Promise<void> {
  bestOfTier ??= (await import('../services/inner-call/value.ts')).bestOfTier;
}

function loadedBestOfTier(): typeof BestOfTier {
  if (bestOfTier === undefined) throw new Error('the plugin has not been loaded');
  return bestOfTier;
}

/** What operators and callers hear of a choice that no score stood behind. */
const BY_SIZE_ONLY =
  'ranks models by context length, age and price only, because none of them has a coding score: declare `scores.coding` of models (`models.*.scores`), or give `paretoRouter({ codingScore })`';

/** What candidates are compared by. */
interface Comparison {
  readonly codingScore: (candidate: Candidate) => number | undefined;
  /** Tokens per second, where the fastest is wanted. */
  readonly speedOf: TierOrder['speedOf'];
}

function choose(
  request: NormalizedRequest,
  entry: ParetoRouterEntry,
  { codingScore, speedOf }: Comparison,
  context: CandidatesContext,
): ChosenModels {
  const { max_price: cap, min_coding_score: score = 1, price_source: source = 'prompt' } = entry;
  const candidates = candidatesFor(request, context);
  const { scores, failed } = safeScores(candidates, codingScore);
  const coders = [...(scores.size > 0 ? scores : scoresBySize(candidates))].map(([candidate, own]): Coder => ({
    candidate,
    score: own,
    price: priceOf(candidate.endpoints, source, (endpoint) => requestRates(endpoint, request)?.prompt),
    cost: priceOf(candidate.endpoints, source, (endpoint) => requestPrice(endpoint, request)),
  }));
  const hasScores = scores.size > 0;
  const tierOrder = { speedOf, sizeOnly: !hasScores };
  const found = cap === undefined ? codersOfTier(coders, tierOf(score), tierOrder) : undefined;
  const order = (found?.coders ?? codersUnder(coders, cap ?? 0)).map(({ candidate }) => candidate);
  const sticky = stickyCandidate(order, context);
  const spares = found === undefined ? [] : sparesFor(found, coders).map(({ candidate }) => candidate);
  const chosen = withFirst(sticky, [...order, ...spares]).slice(0, MAX_MODELS);
  const outside = chosen.filter((one) => !order.includes(one));
  for (const one of candidates) if (!chosen.includes(one)) context.leaveOut(one.target, reasonFor(one, order, cap));
  context.stage({
    type: 'router',
    name: 'pareto-router',
    summary: summaryOf(chosen, { tier: found?.tier, requested: tierOf(score), cap, hasScores, sticky }),
    data: {
      ...(found === undefined ? { max_price: cap ?? 0 } : { tier: found.tier, requested_tier: tierOf(score) }),
      price_source: source,
      ranking: hasScores ? 'scores' : 'size',
      first_by:
        sticky === undefined ? (speedOf !== undefined && found !== undefined ? 'throughput' : 'rank') : 'session',
      candidates: coders.length,
      models: chosen.map(({ model }) => model.id),
      ...(outside.length === 0 ? {} : { outside_tier: outside.map(({ model }) => model.id) }),
      ...(hasScores ? {} : { warnings: [BY_SIZE_ONLY] }),
      ...(failed ? { degraded: ['ranking'] } : {}),
    },
  });
  if (!hasScores && candidates.length > 0) context.warn(`The plugin "pareto-router" ${BY_SIZE_ONLY}`);
  return { chosen, outside };
}

/** Without any score, a place in the order of size is in: larger, newer and more expensive models are mostly better. */
function scoresBySize(candidates: readonly Candidate[]): ReadonlyMap<Candidate, number> {
  const inOrder = [...candidates].sort(bySize);
  return new Map(inOrder.map((candidate, index) => [candidate, 1 - (index + 0.5) / inOrder.length]));
}

function catalogScore({ endpoints }: Candidate): number | undefined {
  for (const name of ['coding', 'code']) {
    const scores = endpoints.flatMap(({ scores: own }) => own?.[name] ?? []);
    if (scores.length > 0) return Math.max(...scores);
  }
  return undefined;
}

/** How fast models are: each as fast as its fastest endpoint. */
function speedsFor(context: CandidatesContext): (coder: Coder) => number | undefined {
  return ({ candidate }) => {
    const speeds = candidate.endpoints.flatMap((endpoint) => context.throughput(endpoint) ?? []);
    return speeds.length === 0 ? undefined : Math.max(...speeds);
  };
}

function reasonFor(one: Candidate, order: readonly Candidate[], cap: number | undefined): string {
  if (order.includes(one)) return `ranked below the first ${MAX_MODELS}`;
  return cap === undefined
    ? 'in another tier, or without a coding score'
    : 'above max_price, or without a coding score';
}

/** How models were chosen. */
interface ChoiceFacts {
  /** Undefined where a price was the limit. */
  readonly tier: Tier | undefined;
  readonly requested: Tier;
  readonly cap: number | undefined;
  readonly hasScores: boolean;
  /** The model that the session keeps. */
  readonly sticky: Candidate | undefined;
}

function summaryOf([best]: readonly Candidate[], { tier, requested, cap, hasScores, sticky }: ChoiceFacts): string {
  const found = best?.model.id ?? 'no model';
  const where = tier === undefined ? `at or under ${cap} USD per million input tokens` : `in the ${tier} tier`;
  const missing = tier === undefined || tier === requested ? '' : ` (the ${requested} tier is empty)`;
  const guessed = hasScores ? '' : '; tiers by context length, age and price, because no candidate has a coding score';
  return `${found} ${where}${missing}${guessed}${sticky !== undefined ? '; the session keeps its model' : ''}`;
}

/** Classes of models by where their coding score stands among the others. */
export const TIERS = ['high', 'medium', 'low'] as const;

/** One of {@link TIERS}. */
type Tier = (typeof TIERS)[number];

/** The tier that a request requires with `min_coding_score` (contract), and that a share of the pool falls into. */
export function tierOf(score: number): Tier {
  if (score >= 0.66) return 'high';
  return score >= 0.33 ? 'medium' : 'low';
}

/** Tiers by how near they are: the one that was requested, then the better one, then the weaker one. */
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

/** Models of the nearest other tiers, for when none of the tier answers; in each the best first, and of equals the cheaper. */
function sparesFor(
  { tier, coders: own }: { readonly tier: Tier; readonly coders: readonly Coder[] },
  all: readonly Coder[],
) {
  const tiers = tiersOf(all);
  const nearness = (coder: Coder): number => NEIGHBOURS[tier].indexOf(tiers.get(coder) ?? tier);
  return all
    .filter((coder) => !own.includes(coder))
    .sort(
      (left, right) =>
        nearness(left) - nearness(right) ||
        right.score - left.score ||
        (left.cost ?? Infinity) - (right.cost ?? Infinity),
    );
}

/** How a tier is ordered. */
interface TierOrder {
  /** Tokens per second, where the fastest is wanted. */
  readonly speedOf?: ((coder: Coder) => number | undefined) | undefined;
  /** True: the scores only stand for sizes, so that there is no value to compare. The largest comes first. */
  readonly sizeOnly: boolean;
}

/**
 * The models of a tier, or of the nearest one that has any; the best quality per cost first. Models of other tiers come
 * before those that they beat in both; not where the fastest is wanted.
 */
export function codersOfTier(
  coders: readonly Coder[],
  wanted: Tier,
  { speedOf, sizeOnly }: TierOrder,
): { readonly tier: Tier; readonly coders: readonly Coder[] } {
  const tiers = tiersOf(coders);
  const tier = NEIGHBOURS[wanted].find((one) => coders.some((coder) => tiers.get(coder) === one)) ?? wanted;
  const inside = coders.filter((coder) => tiers.get(coder) === tier);
  const own = sizeOnly
    ? inside.sort((left, right) => right.score - left.score)
    : loadedBestOfTier()(coders, ({ score, cost }) => ({ quality: score, price: cost }), {
        isInside: (coder) => tiers.get(coder) === tier,
      });
  if (speedOf === undefined) return { tier, coders: own };
  // A stable sort: what nobody measured stays in its order, behind the rest.
  const speeds = new Map(inside.map((coder) => [coder, speedOf(coder) ?? 0]));
  const ofTier = own.filter((coder) => speeds.has(coder));
  return { tier, coders: ofTier.sort((left, right) => (speeds.get(right) ?? 0) - (speeds.get(left) ?? 0)) };
}

/** A candidate with what a pareto router compares: how good it is at code, and what its input costs. */
export interface Coder {
  readonly candidate: Candidate;
  /** From 0 to 1. */
  readonly score: number;
  /** USD per million input tokens; undefined when unknown. */
  readonly price: number | undefined;
  /** USD per million tokens, input plus output; undefined when unknown. */
  readonly cost: number | undefined;
}

/** What the price of a model is, which several providers may serve. */
type PriceSource = NonNullable<ParetoRouterEntry['price_source']>;

/**
 * What a million tokens of a model cost. `prompt` is the cheapest endpoint's price; `weighted_avg` is the average over
 * its endpoints, each weighted as often as load balancing would pick it, by 1/price² (gaps 3.3).
 */
export function priceOf(
  endpoints: readonly Endpoint[],
  source: PriceSource,
  rateOf: (endpoint: Endpoint) => number | undefined,
): number | undefined {
  const prices = endpoints.flatMap((endpoint) => rateOf(endpoint) ?? []);
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
 * which is also the most expensive first.
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
