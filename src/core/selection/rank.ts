import type { Endpoint } from '../../catalog/endpoint.ts';
import { selectorIndex } from '../../catalog/provider-selector.ts';
import type { SortKey } from '../../protocol/provider-preferences.ts';
import { stabilityOf } from '../fallback/health.ts';
import type { RoutedRequest } from '../normalize/normalized-request.ts';
import { areComparable, toolQualities } from './exacto.ts';
import { requestPrice } from './request-price.ts';
import { sortEndpoints } from './sort.ts';
import { hasThresholds, meetsThresholds } from './thresholds.ts';
import { pickByPrice } from './weighted-pick.ts';
import type { World } from './world.ts';

/** An endpoint in its place, and why it is there. */
export interface Ranked {
  readonly endpoint: Endpoint;
  readonly why: string;
}

/**
 * Puts the endpoints of one model in the order in which they are tried (gaps 3.3).
 * From the outside in: the account's own keys before and after the shared capacity, then the sticky endpoint, then
 * `order`, then soft thresholds, then the sort or the price-weighted balance.
 */
export function rankEndpoints(
  endpoints: readonly Endpoint[],
  request: RoutedRequest,
  world: World,
  sort: SortKey | undefined,
): readonly Ranked[] {
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
  if (shared.length === endpoints.length) return rank(shared);
  return [own, shared, reserve].flatMap((group, index) =>
    rank(group).map(({ endpoint, why }) => ({ endpoint, why: index === 1 ? why : `own key, ${why}` })),
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
  return stickyFirst(ranked, world.sticky);
}

/** `order` switches balancing and sticky sessions off; the rest follows by the default algorithm. */
function ordered(
  endpoints: readonly Endpoint[],
  order: readonly string[],
  request: RoutedRequest,
  world: World,
): readonly Ranked[] {
  const named = order.flatMap((_, position) =>
    balanced(
      endpoints.filter((endpoint) => selectorIndex(order, endpoint) === position),
      request,
      world,
    ).map(({ endpoint }) => ({ endpoint, why: `order[${position}]` })),
  );
  const others = endpoints.filter((endpoint) => selectorIndex(order, endpoint) < 0);
  return [...named, ...balanced(others, request, world)];
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
  return [...first.map(({ endpoint }) => ({ endpoint, why: 'priority tier' })), ...rest];
}

function thresholded(
  endpoints: readonly Endpoint[],
  request: RoutedRequest,
  world: World,
  sort: SortKey | undefined,
): readonly Ranked[] {
  const rank = (group: readonly Endpoint[]): readonly Ranked[] =>
    sort === undefined ? balanced(group, request, world) : sorted(group, sort, request, world);
  if (!hasThresholds(request.preferences)) return rank(endpoints);
  const meets = (endpoint: Endpoint): boolean => meetsThresholds(endpoint, request.preferences, world);
  return [...rank(endpoints.filter(meets)), ...rank(endpoints.filter((endpoint) => !meets(endpoint)))];
}

function sorted(
  endpoints: readonly Endpoint[],
  sort: SortKey,
  request: RoutedRequest,
  world: World,
): readonly Ranked[] {
  return sortEndpoints(endpoints, sort, request, world).map((endpoint) => ({ endpoint, why: `sort: ${sort}` }));
}

/**
 * The default: stable endpoints before unstable ones; among the stable ones the first by a price-weighted draw and
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

function stickyFirst(ranked: readonly Ranked[], sticky: string | undefined): readonly Ranked[] {
  const found = sticky === undefined ? undefined : ranked.find(({ endpoint }) => endpoint.id === sticky);
  if (found === undefined) return ranked;
  return [{ endpoint: found.endpoint, why: 'sticky session' }, ...ranked.filter((one) => one !== found)];
}
