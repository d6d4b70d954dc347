import type { Endpoint } from '../../catalog/endpoint.ts';
import { selectorIndex } from '../../catalog/model.ts';
import type { SortKey } from '../../protocol/provider-preferences.ts';
import type { Cutoffs, ModelTarget, Preferences, RoutedRequest } from '../normalize/normalized-request.ts';
import {
  type DecisionFigures,
  type PlanStep,
  type Rejection,
  type RoutePlan,
  wholePromptsFirst,
} from './route-plan.ts';
import { tightContextsLast } from './tight-contexts.ts';
import { usableTargets } from './usable.ts';
import { latencyOf, type PercentileValues, throughputOf, type World } from './performance.ts';
import { stabilityOf } from '../fallback/health.ts';
import { areComparable, toolQualities } from './exacto.ts';
import { rankAdaptively } from './adaptive/rank-adaptive.ts';
import { wellnessOf } from './adaptive/wellness.ts';
import { requestPrice } from './request-price.ts';
import { PREFERENCE_WINDOW_MS, sortEndpoints } from './sort.ts';
import { blendedPrice } from '../../catalog/price.ts';

/**
 * Decides, from the request and what is known of the world, which endpoints may answer and in which order they are
 * tried. The same inputs always give the same plan; `explain` and the live path both call this.
 */
export function planRoute(request: RoutedRequest, world: World): RoutePlan {
  const rejected: Rejection[] = [];
  const candidates = request.targets.map((target) =>
    usableTargets([target], request, world.policy, rejected).flatMap(({ endpoints }) => endpoints),
  );
  const steps = request.preferences.sortWithinModel
    ? fittingFirst(
        request.targets.flatMap((target, index) => rankTarget(target, index, candidates[index] ?? [], request, world)),
        request,
        world,
      )
    : rankTogether(request, candidates, world);
  const planned = request.targets.length > 1 ? withoutRepetitions(steps) : steps;
  return { requested: request.requested, steps: withinFallbacks(planned, request, rejected), rejected };
}

/** An endpoint that several of the requested models lead to stands where it comes first. */
function withoutRepetitions(steps: readonly PlanStep[]): readonly PlanStep[] {
  const seen = new Set<string>();
  return steps.filter(({ endpoint: { id } }) => {
    if (seen.has(id)) return false;
    seen.add(id);
    return true;
  });
}

/**
 * Soft thresholds hold over all requested models: one to fall back to that meets them stands before the first model's
 * endpoints that do not (gaps 3.2). What the session sticks to stays where it is.
 */
function fittingFirst(
  steps: readonly PlanStep[],
  { targets, preferences }: RoutedRequest,
  world: World,
): readonly PlanStep[] {
  if (targets.length < 2 || preferences.order.length > 0 || !hasThresholds(preferences)) return steps;
  const fits = ({ endpoint }: PlanStep): boolean =>
    endpoint.id === world.sticky || meetsThresholds(endpoint, preferences, world);
  return [...steps.filter(fits), ...steps.filter((step) => !fits(step))];
}

function rankTarget(
  target: ModelTarget,
  index: number,
  endpoints: readonly Endpoint[],
  request: RoutedRequest,
  world: World,
): readonly PlanStep[] {
  const choice = choiceOf(target, index, request);
  const sort = sortOf(request, target);
  const atRandom = target.shuffled === true && request.preferences.order.length === 0 && sort === undefined;
  const ranked = atRandom
    ? ownKeysAround(endpoints, (group) => shuffled(group, world.roll))
    : rankEndpoints(endpoints, request, world, sort);
  const steps = ranked.map((one) => ({ ...one, target: index, ...choice }));
  return tightContextsLast(target.shortened === undefined ? steps : wholePromptsFirst(steps, request), request);
}

/** The models that a router model stands for are one choice; the others after the first are fallbacks. */
function choiceOf(
  { strategy, router, refusedTogether }: ModelTarget,
  index: number,
  { targets }: RoutedRequest,
): Pick<PlanStep, 'strategy' | 'refusedTogether'> {
  if (index > 0 && (router === undefined || router !== targets[0]?.router)) return { strategy: 'fallback' };
  return refusedTogether === true ? { strategy, refusedTogether } : { strategy };
}

/** One sort over the endpoints of all requested models (`partition: 'none'`). */
function rankTogether(
  request: RoutedRequest,
  candidates: readonly (readonly Endpoint[])[],
  world: World,
): readonly PlanStep[] {
  const [first] = request.targets;
  const indexOf = new Map(candidates.flatMap((list, index) => list.map((endpoint) => [endpoint, index] as const)));
  const ranked = rankEndpoints(candidates.flat(), request, world, first && sortOf(request, first));
  const steps = ranked.map((one) => {
    const index = indexOf.get(one.endpoint) ?? 0;
    const target = request.targets[index];
    const choice = target === undefined ? ({ strategy: 'direct' } as const) : choiceOf(target, index, request);
    return { ...one, target: index, ...choice };
  });
  const shortened = request.targets.some((target) => target.shortened !== undefined);
  return tightContextsLast(shortened ? wholePromptsFirst(steps, request) : steps, request);
}

/** What the request says in so many words wins over the variant of a slug, and both over that of a service tier. */
function sortOf({ preferences, serviceTier }: RoutedRequest, target: ModelTarget): SortKey | undefined {
  const asked = preferences.sort ?? target.sort;
  if (asked !== undefined || serviceTier === undefined) return asked;
  if (serviceTier === 'priority') return 'throughput';
  const flexible = serviceTier === 'flex' && target.endpoints.some((endpoint) => endpoint.tier === 'flex');
  return flexible ? 'price' : undefined;
}

/** `allow_fallbacks: false` keeps the first candidate, or those named in `order` (gaps 3.1). */
function withinFallbacks(
  steps: readonly PlanStep[],
  { preferences }: RoutedRequest,
  rejected: Rejection[],
): readonly PlanStep[] {
  if (preferences.allowFallbacks) return steps;
  const { order } = preferences;
  const kept = steps.filter(({ endpoint }, index) =>
    order.length > 0 ? selectorIndex(order, endpoint) >= 0 : index === 0,
  );
  for (const step of steps) {
    if (!kept.includes(step)) rejected.push({ endpoint: step.endpoint, reason: 'allow_fallbacks' });
  }
  return kept;
}

/** Shuffles the models, whatever number of endpoints each has, and then the endpoints of each. */
function shuffled(endpoints: readonly Endpoint[], roll: number): readonly Ranked[] {
  const draw = drawing(roll);
  const models = draw([...new Set(endpoints.map((endpoint) => endpoint.model))]);
  return models
    .flatMap((model) => draw(endpoints.filter((endpoint) => endpoint.model === model)))
    .map((endpoint) => ({ endpoint, why: 'random' }));
}

/** Shuffles by one number: each position draws from what is left with the next digits of the roll. */
function drawing(roll: number): <Item>(items: readonly Item[]) => readonly Item[] {
  let digits = roll;
  return (items) => {
    const left = [...items];
    return items.flatMap(() => {
      digits *= left.length;
      const taken = left.splice(Math.min(left.length - 1, Math.floor(digits)), 1);
      digits -= Math.floor(digits);
      return taken;
    });
  };
}

/** An endpoint in its place, and why it is there. */
interface Ranked {
  readonly endpoint: Endpoint;
  readonly why: string;
  readonly figures?: DecisionFigures | undefined;
}

/**
 * Puts the endpoints of one model in the order in which they are tried (gaps 3.3).
 * From the outside in: the account's own keys before and after the shared capacity, then the sticky endpoint, then
 * `order`, then soft thresholds, then the sort or the strategy.
 */
function rankEndpoints(
  endpoints: readonly Endpoint[],
  request: RoutedRequest,
  world: World,
  sort: SortKey | undefined,
): readonly Ranked[] {
  return ownKeysAround(endpoints, (group) => rankGroup(group, request, world, sort));
}

/** Ranks the account's own keys before the shared capacity, and those that are only a fallback after it. */
function ownKeysAround(
  endpoints: readonly Endpoint[],
  rank: (group: readonly Endpoint[]) => readonly Ranked[],
): readonly Ranked[] {
  const own = endpoints.filter((endpoint) => endpoint.byok?.fallback === false);
  const shared = endpoints.filter((endpoint) => endpoint.byok === undefined);
  const reserve = endpoints.filter((endpoint) => endpoint.byok?.fallback === true);
  if (shared.length === endpoints.length) return rank(shared);
  return [own, shared, reserve].flatMap((group, index) =>
    rank(group).map((one) => (index === 1 ? one : { ...one, why: `own key, ${one.why}` })),
  );
}

function rankGroup(
  endpoints: readonly Endpoint[],
  request: RoutedRequest,
  world: World,
  sort: SortKey | undefined,
): readonly Ranked[] {
  const { order } = request.preferences;
  if (order.length > 0) return ordered(endpoints, order, request, world);
  const ranked = tiered(endpoints, request, (group) => thresholded(group, request, world, sort));
  return staysWithSession(sort, world) ? stickyFirst(ranked, world) : ranked;
}

/** An adaptive draw knows by itself what a cached prompt is worth. */
function staysWithSession(sort: SortKey | undefined, { strategy, adaptive }: World): boolean {
  return sort !== undefined || strategy !== 'adaptive' || adaptive === undefined;
}

/** `order` switches balancing and sticky sessions off; the rest follows by the default algorithm. */
function ordered(
  endpoints: readonly Endpoint[],
  order: readonly string[],
  request: RoutedRequest,
  world: World,
): readonly Ranked[] {
  const named = order.flatMap((_, position) =>
    unsorted(
      endpoints.filter((endpoint) => selectorIndex(order, endpoint) === position),
      request,
      world,
    ).map((one) => ({ ...one, why: `order[${position}]` })),
  );
  const others = endpoints.filter((endpoint) => selectorIndex(order, endpoint) < 0);
  return [...named, ...unsorted(others, request, world)];
}

/** With `service_tier: 'priority'` the priority endpoints come first, each group by itself (gaps 2.7). */
function tiered(
  endpoints: readonly Endpoint[],
  { serviceTier }: RoutedRequest,
  rank: (group: readonly Endpoint[]) => readonly Ranked[],
): readonly Ranked[] {
  if (serviceTier !== 'priority') return rank(endpoints);
  const first = rank(endpoints.filter((endpoint) => endpoint.tier === 'priority'));
  const rest = rank(endpoints.filter((endpoint) => endpoint.tier !== 'priority'));
  return [...first.map((one) => ({ ...one, why: 'priority tier' })), ...rest];
}

function thresholded(
  endpoints: readonly Endpoint[],
  request: RoutedRequest,
  world: World,
  sort: SortKey | undefined,
): readonly Ranked[] {
  const rank = (group: readonly Endpoint[]): readonly Ranked[] =>
    sort === undefined ? unsorted(group, request, world) : sorted(group, sort, request, world);
  if (!hasThresholds(request.preferences)) return rank(endpoints);
  const meets = (endpoint: Endpoint): boolean => meetsThresholds(endpoint, request.preferences, world);
  return [...rank(endpoints.filter(meets)), ...rank(endpoints.filter((endpoint) => !meets(endpoint)))];
}

/** Sorts by what the request asks for; an endpoint that fails or hangs does not stay in front because it was good once. */
function sorted(
  endpoints: readonly Endpoint[],
  sort: SortKey,
  request: RoutedRequest,
  world: World,
): readonly Ranked[] {
  const inOrder = sortEndpoints(endpoints, sort, request, world).map((endpoint) => ({
    endpoint,
    why: `sort: ${sort}`,
  }));
  if (world.adaptive === undefined) return inOrder;
  const unwell = inOrder.filter(({ endpoint }) => !isWell(endpoint, world));
  if (unwell.length === 0) return inOrder;
  return [
    ...inOrder.filter((one) => !unwell.includes(one)),
    ...unwell.map((one) => ({ ...one, why: `${one.why}, behind the others: it fails or is slow` })),
  ];
}

/** Whether an endpoint keeps the place that a sort or a session gives it. */
function isWell(endpoint: Endpoint, world: World): boolean {
  const { adaptive } = world;
  if (adaptive === undefined) return true;
  const admitted = world.admission?.(endpoint, true);
  if (admitted !== undefined && (!admitted.ok || admitted.probe === true)) return admitted.ok;
  return wellnessOf(world.record(endpoint), adaptive, world.now).health >= adaptive.unwellBelow;
}

/** Where nothing says in which order: by the strategy. */
function unsorted(endpoints: readonly Endpoint[], request: RoutedRequest, world: World): readonly Ranked[] {
  const { strategy, adaptive } = world;
  if (strategy !== 'adaptive' || adaptive === undefined) return balanced(endpoints, request, world);
  const qualities = request.needs.tools && areComparable(endpoints) ? toolQualities(endpoints, world) : undefined;
  if (qualities === undefined) return rankAdaptively(endpoints, request, world, adaptive);
  const isPoor = (endpoint: Endpoint): boolean => qualities.get(endpoint.id) === 2;
  return [
    ...rankAdaptively(
      endpoints.filter((endpoint) => !isPoor(endpoint)),
      request,
      world,
      adaptive,
    ),
    ...rankAdaptively(endpoints.filter(isPoor), request, world, adaptive).map((one) => ({ ...one, why: DEMOTED })),
  ];
}

/**
 * The strategy `balanced`: stable endpoints before unstable ones; among the stable ones the first by a price-weighted draw and
 * the others by price. Requests with tools put endpoints with clearly bad tool calls behind the others.
 */
function balanced(endpoints: readonly Endpoint[], request: RoutedRequest, world: World): readonly Ranked[] {
  if (endpoints.length <= 1) return endpoints.map((endpoint) => ({ endpoint, why: 'only endpoint' }));
  const qualities = request.needs.tools && areComparable(endpoints) ? toolQualities(endpoints, world) : undefined;
  const classes = endpoints.map((endpoint) => {
    const record = world.record(endpoint);
    const poorTools = qualities?.get(endpoint.id) === 2 ? 1 : 0;
    return record === undefined ? poorTools : poorTools + 2 * stabilityOf(record.health, world.now);
  });
  const ranked: Ranked[] = [];
  for (const level of [...new Set(classes)].sort((left, right) => left - right)) {
    const group = byPrice(
      endpoints.filter((_, index) => classes[index] === level),
      request,
    );
    const first = pickByPrice(group, world.roll, (endpoint) => requestPrice(endpoint, request));
    if (first !== undefined) ranked.push({ endpoint: first, why: level === 0 ? 'weighted by price' : DEMOTED });
    for (const endpoint of group) {
      if (endpoint !== first) ranked.push({ endpoint, why: level === 0 ? 'next by price' : DEMOTED });
    }
  }
  return ranked;
}

const DEMOTED = 'behind the others: recent failures or bad tool calls';

function byPrice(endpoints: readonly Endpoint[], request: RoutedRequest): readonly Endpoint[] {
  return [...endpoints].sort(
    (left, right) => (requestPrice(left, request) ?? Infinity) - (requestPrice(right, request) ?? Infinity) || 0,
  );
}

function stickyFirst(ranked: readonly Ranked[], world: World): readonly Ranked[] {
  const { sticky } = world;
  const found = sticky === undefined ? undefined : ranked.find(({ endpoint }) => endpoint.id === sticky);
  if (found === undefined || (world.strategy === 'adaptive' && !isWell(found.endpoint, world))) return ranked;
  return [{ ...found, why: 'sticky session' }, ...ranked.filter((one) => one !== found)];
}

/**
 * Picks one endpoint at random with weight 1/price² (gaps 3.3): at a third of the price it is nine times as likely.
 * Where some cost nothing, only those are picked from, all alike. An unknown price counts as the dearest known one.
 *
 * @param roll - Random number from 0 (included) to 1 (excluded).
 * @param priceOf - Price that endpoints are compared by. Default: that of a short prompt.
 */
export function pickByPrice(
  endpoints: readonly Endpoint[],
  roll: number,
  priceOf: (endpoint: Endpoint) => number | undefined = (endpoint) => blendedPrice(endpoint.price),
): Endpoint | undefined {
  if (endpoints.length <= 1) return endpoints[0];
  const prices = endpoints.map(priceOf);
  const dearest = prices.reduce<number>((most, price) => Math.max(most, price ?? 0), 0);
  const weights = prices.map((price) => weightOf(price ?? dearest));
  const free = weights.includes(Infinity);
  const total = weights.reduce((sum, weight) => sum + (free ? Number(weight === Infinity) : weight), 0);
  let left = roll * total;
  for (const [index, weight] of weights.entries()) {
    left -= free ? Number(weight === Infinity) : weight;
    if (left < 0) return endpoints[index];
  }
  return endpoints.at(-1);
}

function weightOf(price: number): number {
  return price === 0 ? Infinity : 1 / price ** 2;
}

/** True when a request states any soft threshold. */
function hasThresholds(preferences: Preferences): boolean {
  return preferences.minThroughput !== undefined || preferences.maxLatency !== undefined;
}

/** Whether an endpoint is known to meet every cutoff (gaps 3.2). What was never measured does not. */
function meetsThresholds(endpoint: Endpoint, preferences: Preferences, world: World): boolean {
  const performance = world.record(endpoint)?.performance;
  if (performance === undefined) return false;
  const { minThroughput, maxLatency } = preferences;
  if (minThroughput !== undefined) {
    const own = throughputOf(performance, world.now, PREFERENCE_WINDOW_MS);
    if (!holds(minThroughput, own, (value, limit) => value >= limit)) return false;
  }
  if (maxLatency === undefined) return true;
  const own = latencyOf(performance, world.now, PREFERENCE_WINDOW_MS);
  return holds(maxLatency, own, (value, limit) => value / 1_000 <= limit);
}

function holds(
  cutoffs: Cutoffs,
  own: PercentileValues | undefined,
  fits: (value: number, limit: number) => boolean,
): boolean {
  if (own === undefined) return false;
  for (const percentile of ['p50', 'p75', 'p90', 'p99'] as const) {
    const limit = cutoffs[percentile];
    if (limit !== undefined && !fits(own[percentile], limit)) return false;
  }
  return true;
}
