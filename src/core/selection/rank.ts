/** Ranks the endpoints of one model. */
import type { Endpoint } from '../../catalog/endpoint.ts';
import type { SortKey } from '../../protocol/provider-preferences.ts';
import type { Cutoffs, Preferences, RoutedRequest } from '../../contracts/request.ts';
import { latencyOf, type PercentileValues, throughputOf } from './performance.ts';
import type { World } from './world.ts';
import { stabilityOf } from '../fallback/health.ts';
import { areComparable, hasSchema, poorAt, poorAtAnswers, toolQualities } from './exacto.ts';
import { ONLY_ENDPOINT, rankAdaptively } from './adaptive/rank-adaptive.ts';
import { healthScore } from './adaptive/health-score.ts';
import { requestPrice } from './adaptive/expected-cost.ts';
import { PREFERENCE_WINDOW_MS, sortEndpoints } from './sort.ts';
import { blendedPrice } from '../../catalog/price.ts';
import type { DecisionFigures } from '../../contracts/events.ts';
import { selectorIndex } from '../../catalog/selectors.ts';

/** An endpoint in its place, and why it is there. */
export interface Ranked {
  readonly endpoint: Endpoint;
  readonly why: string;
  readonly figures?: DecisionFigures | undefined;
}

/**
 * Puts the endpoints of one model in the order in which they are tried (gaps 3.3).
 * From the outside in: the account's own keys before and after the shared capacity, then the sticky endpoint, then
 * `order`, then soft thresholds, then the sort or the strategy.
 */
export function rankEndpoints(
  endpoints: readonly Endpoint[],
  request: RoutedRequest,
  world: World,
  sort: SortKey | undefined,
): readonly Ranked[] {
  if (!endpoints.some(isOwn)) return rankGroup(endpoints, request, world, sort);
  return ownKeysAround(endpoints, (group) => rankGroup(group, request, world, sort));
}

/** Ranks the account's own keys before the shared capacity, and those that are only a fallback after it. */
export function ownKeysAround(
  endpoints: readonly Endpoint[],
  rank: (group: readonly Endpoint[]) => readonly Ranked[],
): readonly Ranked[] {
  const own = endpoints.filter((endpoint) => endpoint.byok?.fallback === false);
  const shared = endpoints.filter((endpoint) => endpoint.byok === undefined);
  const reserve = endpoints.filter((endpoint) => endpoint.byok?.fallback === true);
  const rankedShared = rank(shared);
  if (shared.length === endpoints.length) return rankedShared;
  return [
    ...placed(rank(own), 'own key'),
    ...placed(rankedShared, own.length > 0 ? 'behind own keys' : 'before own keys'),
    ...placed(rank(reserve), 'own key'),
  ];
}

/** Endpoints that come before or behind others, with the reason. None of them is the only one. */
function placed(ranked: readonly Ranked[], reason: string): readonly Ranked[] {
  return ranked.map((one) => ({ ...one, why: one.why === ONLY_ENDPOINT ? reason : `${reason}, ${one.why}` }));
}

function isOwn({ byok }: Endpoint): boolean {
  return byok !== undefined;
}

function rankGroup(
  endpoints: readonly Endpoint[],
  request: RoutedRequest,
  world: World,
  sort: SortKey | undefined,
): readonly Ranked[] {
  const { order } = request.preferences;
  if (order.length > 0) return ordered(endpoints, order, request, world);
  const ranked =
    request.serviceTier === 'priority'
      ? priorityFirst(endpoints, request, world, sort)
      : thresholded(endpoints, request, world, sort);
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
  const others = unsorted(
    endpoints.filter((endpoint) => selectorIndex(order, endpoint) < 0),
    request,
    world,
  );
  return named.length === 0 ? others : [...named, ...placed(others, 'behind those in order')];
}

/** With `service_tier: 'priority'` the priority endpoints come first, each group by itself (gaps 2.7). */
function priorityFirst(
  endpoints: readonly Endpoint[],
  request: RoutedRequest,
  world: World,
  sort: SortKey | undefined,
): readonly Ranked[] {
  const rank = (group: readonly Endpoint[]): readonly Ranked[] => thresholded(group, request, world, sort);
  const first = rank(endpoints.filter((endpoint) => endpoint.tier === 'priority'));
  const rest = rank(endpoints.filter((endpoint) => endpoint.tier !== 'priority'));
  if (first.length === 0) return rest;
  return [...first.map((one) => ({ ...one, why: 'priority tier' })), ...placed(rest, 'behind the priority tier')];
}

function thresholded(
  endpoints: readonly Endpoint[],
  request: RoutedRequest,
  world: World,
  sort: SortKey | undefined,
): readonly Ranked[] {
  if (!hasThresholds(request.preferences)) return sortedOrNot(endpoints, request, world, sort);
  const meets = (endpoint: Endpoint): boolean => meetsThresholds(endpoint, request.preferences, world);
  const fast = endpoints.filter(meets);
  if (fast.length === 0 || fast.length === endpoints.length) return sortedOrNot(endpoints, request, world, sort);
  const others = endpoints.filter((endpoint) => !fast.includes(endpoint));
  return [
    ...placed(sortedOrNot(fast, request, world, sort), 'as fast as preferred'),
    ...placed(sortedOrNot(others, request, world, sort), 'behind those as fast as preferred'),
  ];
}

function sortedOrNot(
  endpoints: readonly Endpoint[],
  request: RoutedRequest,
  world: World,
  sort: SortKey | undefined,
): readonly Ranked[] {
  return sort === undefined ? unsorted(endpoints, request, world) : sorted(endpoints, sort, request, world);
}

/**
 * Sorts by what the request requires; an endpoint that fails or hangs does not stay in front because it was good once.
 */
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
  const degraded = inOrder.filter(({ endpoint }) => !isWell(endpoint, world));
  if (degraded.length === 0) return inOrder;
  return [
    ...inOrder.filter((one) => !degraded.includes(one)),
    ...degraded.map((one) => ({ ...one, why: `${one.why}, behind the others: it fails or is slow` })),
  ];
}

/** Whether an endpoint keeps the place that a sort or a session gives it. */
function isWell(endpoint: Endpoint, world: World): boolean {
  const { adaptive } = world;
  if (adaptive === undefined) return true;
  const admitted = world.admission?.(endpoint);
  if (admitted !== undefined && (!admitted.ok || admitted.probe === true)) return admitted.ok;
  return healthScore(world.record(endpoint), adaptive, world.now).health >= adaptive.degradedBelow;
}

/** Where nothing says in which order: by the strategy. */
function unsorted(endpoints: readonly Endpoint[], request: RoutedRequest, world: World): readonly Ranked[] {
  const { strategy, adaptive } = world;
  if (strategy !== 'adaptive' || adaptive === undefined) return balanced(endpoints, request, world);
  const poor = poorAtAnswers(endpoints, request, world);
  if (poor === undefined || poor.size === 0) return rankAdaptively(endpoints, request, world, adaptive);
  const isPoor = (endpoint: Endpoint): boolean => poor.has(endpoint.id);
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
  if (endpoints.length <= 1) return endpoints.map((endpoint) => ({ endpoint, why: ONLY_ENDPOINT }));
  const { needs } = request;
  const qualities = needs.tools && areComparable(endpoints) ? toolQualities(endpoints, world) : undefined;
  const misfitting = hasSchema(needs) ? poorAt('schema', endpoints, world) : undefined;
  const classes = endpoints.map((endpoint) => {
    const record = world.record(endpoint);
    const poor = qualities?.get(endpoint.id) === 2 || misfitting?.has(endpoint.id) === true ? 1 : 0;
    return record === undefined ? poor : poor + 2 * stabilityOf(record.health, world.now);
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

const DEMOTED = 'behind the others: recent failures, bad tool calls, or answers that do not fit their schema';

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
 * Where some cost nothing, only those are picked from, all alike. An unknown price counts as the most expensive known
 * one. The weight of an endpoint is a factor of all that.
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
  const known = endpoints.map(priceOf);
  const dearest = known.reduce<number>((most, price) => Math.max(most, price ?? 0), 0);
  const prices = known.map((price) => price ?? dearest);
  const free = prices.includes(0);
  const weights = prices.map((price, index) => {
    const share = free ? Number(price === 0) : 1 / price ** 2;
    return share * (endpoints[index]?.weight ?? 1);
  });
  let left = roll * weights.reduce((sum, weight) => sum + weight, 0);
  for (const [index, weight] of weights.entries()) {
    left -= weight;
    if (left < 0) return endpoints[index];
  }
  return endpoints.at(-1);
}

/** True when a request states any soft threshold. */
export function hasThresholds(preferences: Preferences): boolean {
  return preferences.minThroughput !== undefined || preferences.maxLatency !== undefined;
}

/** Whether an endpoint is known to meet every cutoff (gaps 3.2). What was never measured does not. */
export function meetsThresholds(endpoint: Endpoint, preferences: Preferences, world: World): boolean {
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
