/** Ranks endpoints by the expected cost of starting a request there. */
import type { Endpoint } from '../../../catalog/endpoint.ts';
import type { RoutedRequest } from '../../../contracts/request.ts';
import {
  cachedTokens,
  expectedCost,
  type ExpectedTokens,
  PER_ANSWER_TOKEN,
  requestRates,
  roughPromptTokens,
  warmthOf,
} from './expected-cost.ts';
import { chargedNow } from './charges.ts';
import type { CachedPrompts, World } from '../world.ts';
import { type AdaptivePolicy, PROMPT_CACHE_MS } from './policy.ts';
import { addQueues, bestOf, breakTie, cheapestOf, type Timed } from './ties.ts';
import { type RememberedFailures, healthScore } from './health-score.ts';
import type { DecisionFigures } from '../../../contracts/events.ts';

/** An endpoint in its place, with the numbers that put it there. */
export interface AdaptivelyRanked {
  readonly endpoint: Endpoint;
  readonly why: string;
  readonly figures: DecisionFigures;
}

/** An endpoint under comparison. What is said of it is filled in as it becomes known, because a plan may have hundreds. */
interface Weighed extends AdaptivelyRanked, Timed {
  why: string;
  readonly figures: { -readonly [Name in keyof DecisionFigures]: DecisionFigures[Name] };
  /** Undefined where no failure is remembered. */
  readonly failures: RememberedFailures | undefined;
  /** What it is expected to cost to start there, with what further requests will cost: what endpoints are compared by. */
  value: number;
}

/** What all endpoints of one ranking are compared for: its request, with the tokens that it is expected to have. */
interface Comparison extends ExpectedTokens {
  readonly request: RoutedRequest;
  readonly world: World;
  readonly policy: AdaptivePolicy;
}

/**
 * Draws the first endpoint by what it is expected to cost to start there, and puts the others behind it from the best to the worst. The
 * requests of a named session draw the same number at each endpoint, in every instance: they stay together as long as
 * the endpoints are about equally good. Endpoints that must not be called now come last.
 */
export function rankAdaptively(
  endpoints: readonly Endpoint[],
  request: RoutedRequest,
  world: World,
  policy: AdaptivePolicy,
): readonly AdaptivelyRanked[] {
  const comparison: Comparison = {
    request,
    world,
    policy,
    prompt: roughPromptTokens(request.needs) * (world.promptRatio ?? 1),
    answer: expectedAnswer(request, world),
  };
  const weighed = endpoints.map((endpoint) => weigh(endpoint, comparison));
  if (isAlone(weighed)) return weighed;
  compare(weighed, comparison, lookAhead(weighed, comparison));
  const drawn = drawnOf(weighed, sessionDraw(request), world.roll);
  inOrder(weighed);
  if (drawn === undefined) return weighed;
  drawn.why = whyFirst(drawn, endpoints.length);
  const place = weighed.indexOf(drawn);
  return place === 0 ? weighed : [drawn, ...weighed.slice(0, place), ...weighed.slice(place + 1)];
}

/** Whether a single endpoint may be called that nothing is wrong with: it is not compared with anything. */
function isAlone(weighed: readonly Weighed[]): boolean {
  const [only] = weighed;
  if (only === undefined || weighed.length > 1 || only.isRefused || only.failures !== undefined) return false;
  if (only.figures.warmth > 0 || !((only.endpoint.weight ?? 1) > 0)) return false;
  only.figures.share = 1;
  only.why = ONLY_ENDPOINT;
  return true;
}

/** The number by which a named session draws its endpoints. Sessions of accounts are their own. */
export function sessionDraw({
  account,
  session: { key, draw: recorded },
}: Pick<RoutedRequest, 'account' | 'session'>): number | undefined {
  return recorded ?? (key === undefined ? undefined : drawOf(`${account.id}\n${key}`));
}

/** Why one comes first that nothing was compared with. */
export const ONLY_ENDPOINT = 'only endpoint';
const NEXT = 'next by expected cost and health';
const REFUSED = 'no call is let through now';

function whyFirst(one: Weighed, count: number): string {
  if (count === 1) return ONLY_ENDPOINT;
  return one.figures.warmth > 0 ? 'drawn by expected cost and health: the prompt is cached there' : DRAWN;
}

const DRAWN = 'drawn by expected cost and health';

function weigh(endpoint: Endpoint, comparison: Comparison): Weighed {
  const { world, policy } = comparison;
  const { served, prompts } = world;
  const ofSession =
    served === undefined || served.length === 0 ? 0 : cachedTokens(served, endpoint, PROMPT_CACHE_MS, world.now);
  const known = prompts && promptAt(prompts, endpoint);
  const cached = known === undefined ? ofSession : Math.max(ofSession, known.share * comparison.prompt);
  const admission = world.admission?.(endpoint);
  const { health, slowness, failures } = healthScore(world.record(endpoint), policy, world.now);
  const headroom = admission?.headroom ?? 1;
  // Whoever comes when an endpoint may be tried again finds out whether it is back.
  const isProbe = admission?.ok === true && admission.probe === true;
  const healthNow = isProbe ? Math.max(health, policy.afterProbe) : health;
  return {
    endpoint,
    figures: {
      expectedCostUsd: costAt(endpoint, comparison, comparison, cached),
      warmth: warmthOf(cached, comparison.prompt),
      health: headroom < 0 ? crowdedHealth(healthNow, headroom, policy) : healthNow,
      slowness,
      headroom,
      share: 0,
    },
    why: admission?.ok === false ? REFUSED : NEXT,
    isRefused: admission?.ok === false,
    failures: isProbe ? fewAtMost(failures, 1 - policy.afterProbe) : failures,
    value: 0,
    cost: 0,
    late: 1,
    known: known?.before ?? 0,
    ms: undefined,
    queueMs: 0,
    isTimed: false,
    slower: 1,
  };
}

function promptAt(prompts: CachedPrompts, { id }: Endpoint): CachedPrompts[number] | undefined {
  for (const prompt of prompts) if (prompt.endpoint === id) return prompt;
  return undefined;
}

/** Health as it counts for a call that is one too many: it will wait. */
function crowdedHealth(health: number, headroom: number, { concurrencyLimit }: AdaptivePolicy): number {
  return health * (1 - headroom) ** -concurrencyLimit.weight;
}

/** Failures as if they were no larger a share. */
function fewAtMost(failures: RememberedFailures | undefined, most: number): RememberedFailures | undefined {
  if (failures === undefined || failures.share <= most) return failures;
  return { share: most, lostUsd: (failures.lostUsd * most) / failures.share };
}

/** US dollars that so many tokens are expected to cost at an endpoint, by what it declares and what it was seen to charge. */
function costAt(
  endpoint: Endpoint,
  { request, world }: Comparison,
  expected: ExpectedTokens,
  cached: number,
): number | undefined {
  const usd = expectedCost(requestRates(endpoint, request), expected, cached, cachedRateOf(request));
  return usd === undefined ? undefined : usd * chargedNow(world.record(endpoint)?.charges, world.now);
}

/** What a cached token costs where the endpoint does not say: named sessions are worth keeping together all the same. */
function cachedRateOf({ session }: RoutedRequest): number {
  return session.key === undefined ? 1 : UNKNOWN_CACHED_RATE;
}

/**
 * How many further requests count, and what each is expected to cost where it finds its prompt in the cache. Only for
 * sessions whose prompt is cached somewhere: the others have nothing to leave. Where rates are nearly used up, a session
 * that moves takes a place that others would miss, so less of what follows counts. Not where calls at a time are used up:
 * those are soon over.
 */
function lookAhead(weighed: readonly Weighed[], comparison: Comparison): number {
  const { prompt, answer, policy } = comparison;
  let isWarm = false;
  let headroom = 1;
  for (const { figures } of weighed) {
    if (figures.warmth > 0) isWarm = true;
    if (figures.headroom >= 0 && figures.headroom < headroom) headroom = figures.headroom;
  }
  const further = isWarm ? policy.furtherRequests * headroom : 0;
  if (further === 0) return 0;
  const later = { prompt: prompt + answer, answer };
  for (const { endpoint, figures } of weighed) {
    figures.laterCostUsd = costAt(endpoint, comparison, later, prompt);
  }
  return further;
}

const UNKNOWN_CACHED_RATE = 0.5;
/** Tokens of an answer that are expected where nothing is known of the account and the model. */
export const ANSWER_TOKENS = 500;

/** Tokens that the answer is likely to have: what is usual, within what the request allows. */
export function expectedAnswer({ needs }: RoutedRequest, world: World): number {
  const usual = world.usualAnswerTokens ?? ANSWER_TOKENS;
  return needs.outputTokens === undefined ? usual : Math.min(usual, needs.outputTokens);
}

/** Costs are a guess until it is known how long the answers are that the account gets from the model: then it is twice as much. */
function sharpnessIn({ usualAnswerTokens }: World, { sharpness }: AdaptivePolicy): number {
  return usualAnswerTokens === undefined ? sharpness : 2 * sharpness;
}

/** What costs nothing is compared as if it cost this share of the most expensive, so that health still tells. */
const NEXT_TO_NOTHING = 1e-6;

/**
 * An unknown price counts as the most expensive known one. What is wrong with an endpoint passes, so it weighs on this
 * request and not on those that follow. A session under way has been drawn before: it moves by what that saves, not by
 * chance.
 *
 * @param further - Further requests that count.
 */
function compare(weighed: readonly Weighed[], { request, world, policy }: Comparison, further: number): void {
  let dearest = 0;
  for (const { figures } of weighed) dearest = Math.max(dearest, figures.expectedCostUsd ?? 0);
  if (dearest === 0) dearest = 1;
  let best = compareCosts(weighed, dearest, further);
  const { timing } = world;
  if (timing !== undefined && weighed.length > 1) {
    const answer = request.stream || request.operation !== 'chat' ? 0 : expectedAnswer(request, world);
    const work = { prompt: roughPromptTokens(request.needs), answer: PER_ANSWER_TOKEN * answer, timing };
    const cheapest = cheapestOf(weighed);
    // Whoever takes the place of one with a long queue may have one, too.
    while (addQueues(weighed, best, work, policy)) best = compareCosts(weighed, dearest, further);
    breakTie(cheapest);
    if (!cheapest.some(({ value }) => value === best)) breakTie(bestOf(weighed, best));
  }
  const sharpness = sharpnessIn(world, policy) * (1 + further);
  let total = 0;
  for (const one of weighed) {
    if (one.isRefused) continue;
    const share = power(best / (one.value * one.slower), sharpness) * (one.endpoint.weight ?? 1);
    one.figures.share = share;
    total += share;
  }
  for (const { figures } of weighed) if (figures.share > 0) figures.share /= total;
}

/** Finds what each endpoint is compared by, and gives the least. */
function compareCosts(weighed: readonly Weighed[], dearest: number, further: number): number {
  let isFailing = false;
  for (const one of weighed) {
    one.value = Math.max(one.figures.expectedCostUsd ?? dearest, dearest * NEXT_TO_NOTHING);
    if (one.failures !== undefined) isFailing = true;
  }
  if (isFailing) addFailures(weighed);
  let best = Infinity;
  for (const one of weighed) {
    const { expectedCostUsd = dearest, laterCostUsd = expectedCostUsd, health } = one.figures;
    const promptness = one.failures === undefined ? health : health / (1 - one.failures.share + Number.EPSILON);
    one.late = promptness < AS_USUAL ? 1 / power(Math.max(promptness, Number.EPSILON), LATE_WEIGHT) : 1;
    const later = further > 0 ? further * laterCostUsd : 0;
    one.cost = one.value + later;
    one.value = one.value * one.late + later;
    if (one.value < best && !one.isRefused) best = one.value;
  }
  return best;
}

/** Quotients are this exact. */
const AS_USUAL = 1 - 1e-12;

/** Power by which lateness beyond what is tolerated counts: at twice that, an endpoint must cost a sixteenth. */
const LATE_WEIGHT = 4;

/**
 * Calls that a failure is taken to cost beside the next one. The share of failures is a mean over the last calls, which
 * knows too late that an endpoint has begun to fail; then it mostly fails all of them.
 */
const FURTHER_CALLS = 3;

/**
 * Adds what failures are expected to cost: for the share of the calls that fail what is charged for those, the next
 * tries, and the time that is lost. The next try is at the cheapest of the others. That it may be cheaper there is no merit
 * of the failure, and nothing here depends on how others do: more or slower failures never make an endpoint better.
 */
function addFailures(weighed: readonly Weighed[]): void {
  let least = Infinity;
  let second = Infinity;
  for (const { value, isRefused } of weighed) {
    if (isRefused) continue;
    second = Math.min(second, Math.max(least, value));
    least = Math.min(least, value);
  }
  for (const one of weighed) {
    const { failures, figures, value: cost } = one;
    if (failures === undefined) continue;
    const other = cost === least ? second : least;
    const next = other === Infinity ? cost : Math.max(cost, other);
    const added = failures.share * (FURTHER_CALLS * cost + next) + failures.lostUsd;
    one.value += added;
    if (figures.expectedCostUsd !== undefined) figures.failureCostUsd = added;
  }
}

/** A power; of the usual whole exponents by multiplying, which is many times as fast. */
function power(base: number, exponent: number): number {
  if (!Number.isInteger(exponent) || exponent < 0 || exponent > MOST_MULTIPLIED) return base ** exponent;
  let result = 1;
  for (let left = exponent, factor = base; left > 0; left >>= 1, factor *= factor)
    if ((left & 1) === 1) result *= factor;
  return result;
}

const MOST_MULTIPLIED = 128;

function drawnOf(weighed: readonly Weighed[], session: number | undefined, roll: number): Weighed | undefined {
  if (session !== undefined) return rendezvous(weighed, session);
  let left = roll;
  let last: Weighed | undefined;
  for (const one of weighed) {
    const { share } = one.figures;
    if (share === 0) continue;
    last = one;
    left -= share;
    if (left < 0) return one;
  }
  return last;
}

/** Each endpoint draws a time to wait, the shorter the larger its share; who is first serves. */
function rendezvous(weighed: readonly Weighed[], session: number): Weighed | undefined {
  let first: Weighed | undefined;
  let soonest = Infinity;
  for (const one of weighed) {
    const { share } = one.figures;
    // A share this small is never drawn.
    if (share < NEVER_DRAWN) continue;
    const chance = spread(hashed(session, one.endpoint.id));
    // −ln x is at least 1 − x, so most need no logarithm.
    if (1 - chance >= soonest * share) continue;
    const time = -Math.log(chance) / share;
    if (time < soonest) [first, soonest] = [one, time];
  }
  return first;
}

const NEVER_DRAWN = 1e-12;

/** Sorts, keeping the order of equals; few are put in their places by hand, which is many times as fast. */
function inOrder(weighed: Weighed[]): void {
  if (weighed.length > MOST_BY_HAND) weighed.sort(byPlaceAndValue);
  else insertInOrder(weighed);
}

function insertInOrder(weighed: Weighed[]): void {
  for (let end = 1; end < weighed.length; end += 1) {
    const one = weighed[end];
    if (one === undefined) break;
    let place = end;
    for (let other = weighed[place - 1]; other !== undefined && byPlaceAndValue(other, one) > 0;) {
      weighed[place] = other;
      place -= 1;
      other = weighed[place - 1];
    }
    weighed[place] = one;
  }
}

const MOST_BY_HAND = 12;

function byPlaceAndValue(left: Weighed, right: Weighed): number {
  if (left.isRefused !== right.isRefused) return left.isRefused ? 1 : -1;
  return left.value - right.value || left.slower - right.slower || 0;
}

/** A 32-bit number that stands for a session when endpoints are drawn; the session cannot be read from it. */
export function drawOf(session: string): number {
  return hashed(FNV_OFFSET, session) >>> 0;
}

const FNV_OFFSET = 0x811c9dc5;

/** Goes on with a hash: FNV-1a. */
function hashed(begun: number, text: string): number {
  let hash = begun;
  for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash;
}

/** Spreads the low bits of a hash, as Murmur3 does at its end. */
function spread(begun: number): number {
  let hash = Math.imul(begun ^ (begun >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (((hash ^ (hash >>> 16)) >>> 0) + 1) / 2 ** 32;
}
