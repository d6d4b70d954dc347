import type { Endpoint } from '../../../catalog/endpoint.ts';
import type { Admission } from '../../fallback/health.ts';
import type { RoutedRequest } from '../../normalize/normalized-request.ts';
import { requestRates, cachedTokens, expectedCost, type ExpectedTokens, warmthOf } from './expected-cost.ts';
import type { DecisionFigures } from '../route-plan.ts';
import type { World } from '../performance.ts';
import type { AdaptivePolicy } from './policy.ts';
import { wellnessOf } from './wellness.ts';

/** An endpoint in its place, with the numbers that put it there. */
export interface AdaptivelyRanked {
  readonly endpoint: Endpoint;
  readonly why: string;
  readonly figures: DecisionFigures;
}

interface Weighed {
  readonly endpoint: Endpoint;
  readonly costUsd: number | undefined;
  readonly warmth: number;
  readonly health: number;
  readonly slowness: number;
  readonly admission: Admission | undefined;
  /** Cost over health: what endpoints are compared by. */
  value: number;
  share: number;
}

/**
 * Draws the first endpoint by expected cost and health, and puts the others behind it from the best to the worst. The
 * requests of a named session draw the same number at each endpoint, in every instance: they stay together as long as
 * the endpoints are about equally good. Endpoints that must not be called now come last.
 */
export function rankAdaptively(
  endpoints: readonly Endpoint[],
  request: RoutedRequest,
  world: World,
  policy: AdaptivePolicy,
): readonly AdaptivelyRanked[] {
  const expected = {
    // Twice the floor: endpoints are compared with each other, so a rough length does, and the text is not looked at.
    prompt: Math.max(1, request.needs.promptTokens * 2),
    answer: expectedAnswer(request, world, policy),
  };
  const weighed = endpoints.map((endpoint) => weigh(endpoint, request, expected, world, policy));
  compareCosts(weighed, policy);
  const drawn = draw(weighed, sessionDraw(request), world.roll);
  const ordered = weighed.filter((one) => one !== drawn).sort(byPlaceAndValue);
  return [...(drawn === undefined ? [] : [drawn]), ...ordered].map((one) => ({
    endpoint: one.endpoint,
    why: one === drawn ? whyFirst(one, endpoints.length) : isRefused(one) ? 'no call is let through now' : NEXT,
    figures: figuresOf(one),
  }));
}

/** The number by which a named session draws its endpoints. Sessions of accounts are their own. */
export function sessionDraw({
  account,
  session: { key, draw },
}: Pick<RoutedRequest, 'account' | 'session'>): number | undefined {
  return draw ?? (key === undefined ? undefined : drawOf(`${account.id}\n${key}`));
}

const NEXT = 'next by expected cost and health';

function whyFirst(one: Weighed, count: number): string {
  if (count === 1) return 'only endpoint';
  return one.warmth > 0 ? 'drawn by expected cost and health: the prompt is cached there' : DRAWN;
}

const DRAWN = 'drawn by expected cost and health';

function weigh(
  endpoint: Endpoint,
  request: RoutedRequest,
  expected: ExpectedTokens,
  world: World,
  policy: AdaptivePolicy,
): Weighed {
  const { served } = world;
  const cached =
    served === undefined || served.length === 0 ? 0 : cachedTokens(served, endpoint, policy.cacheMs, world.now);
  const admission = world.admission?.(endpoint, cached > 0);
  const { health, slowness } = wellnessOf(world.record(endpoint), policy, world.now);
  return {
    endpoint,
    costUsd: expectedCost(
      requestRates(endpoint, request),
      expected,
      cached,
      request.session.key === undefined ? 1 : policy.unknownCachedRate,
    ),
    warmth: warmthOf(cached, expected.prompt),
    // Whoever comes when an endpoint may be tried again finds out whether it is back.
    health: admission?.ok === true && admission.probe === true ? Math.max(health, policy.afterProbe) : health,
    slowness,
    admission,
    value: 0,
    share: 0,
  };
}

/** Tokens that the answer is likely to have: what is usual, within what the request allows. */
export function expectedAnswer({ needs }: RoutedRequest, world: World, policy: AdaptivePolicy): number {
  const usual = world.usualAnswerTokens ?? policy.answerTokens;
  return needs.outputTokens === undefined ? usual : Math.min(usual, needs.outputTokens);
}

/** What costs nothing is compared as if it cost this share of the dearest, so that health still tells. */
const NEXT_TO_NOTHING = 1e-6;

/** An unknown price counts as the dearest known one. */
function compareCosts(weighed: readonly Weighed[], policy: AdaptivePolicy): void {
  const dearest = weighed.reduce((most, { costUsd = 0 }) => Math.max(most, costUsd), 0) || 1;
  let best = Infinity;
  for (const one of weighed) {
    const cost = Math.max(one.costUsd ?? dearest, dearest * NEXT_TO_NOTHING);
    one.value = cost / Math.max(one.health, Number.EPSILON) ** policy.healthWeight;
    if (one.value < best && !isRefused(one)) best = one.value;
  }
  let total = 0;
  for (const one of weighed) {
    if (isRefused(one)) continue;
    one.share = (best / one.value) ** policy.sharpness;
    total += one.share;
  }
  for (const one of weighed) if (one.share > 0) one.share /= total;
}

function isRefused({ admission }: Weighed): boolean {
  return admission?.ok === false;
}

function draw(weighed: readonly Weighed[], session: number | undefined, roll: number): Weighed | undefined {
  if (session !== undefined) return rendezvous(weighed, session);
  let left = roll;
  let last: Weighed | undefined;
  for (const one of weighed) {
    if (one.share === 0) continue;
    last = one;
    left -= one.share;
    if (left < 0) return one;
  }
  return last;
}

/** Each endpoint draws a time to wait, the shorter the larger its share; who is first serves. */
function rendezvous(weighed: readonly Weighed[], session: number): Weighed | undefined {
  let first: Weighed | undefined;
  let soonest = Infinity;
  for (const one of weighed) {
    if (one.share === 0) continue;
    const time = -Math.log(chanceOf(session, one.endpoint.id)) / one.share;
    if (time < soonest) [first, soonest] = [one, time];
  }
  return first;
}

function byPlaceAndValue(left: Weighed, right: Weighed): number {
  return Number(isRefused(left)) - Number(isRefused(right)) || left.value - right.value || 0;
}

function figuresOf({ costUsd, warmth, health, slowness, admission, share }: Weighed): DecisionFigures {
  return { expectedCostUsd: costUsd, warmth, health, slowness, headroom: admission?.headroom ?? 1, share };
}

/** A 32-bit number that stands for a session in {@link chanceOf}; the session cannot be read from it. */
export function drawOf(session: string): number {
  // FNV-1a.
  let hash = 0x811c9dc5;
  for (let index = 0; index < session.length; index += 1)
    hash = Math.imul(hash ^ session.charCodeAt(index), 0x01000193);
  return hash >>> 0;
}

/**
 * A number above 0 and at most 1 that a session has at an endpoint: the same in every instance and at any time.
 *
 * @param draw - Of the session; see {@link drawOf}.
 */
export function chanceOf(draw: number, endpoint: string): number {
  let hash = draw;
  for (let index = 0; index < endpoint.length; index += 1) {
    hash = Math.imul(hash ^ endpoint.charCodeAt(index), 0x01000193);
  }
  // A finish that spreads its low bits (Murmur3).
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (((hash ^ (hash >>> 16)) >>> 0) + 1) / 2 ** 32;
}
