import { type Ranked, rankEndpoints, ownKeysAround, hasThresholds, meetsThresholds } from './rank.ts';
import type { Endpoint } from '../../catalog/endpoint.ts';
import type { SortKey } from '../../protocol/provider-preferences.ts';
import type { ModelTarget, Preferences, RoutedRequest } from '../../contracts/request.ts';
import {
  type PlanStep,
  type Rejection,
  type RoutePlan,
  readersFirst,
  wholePromptsFirst,
  isShortened,
} from './route-plan.ts';
import type { World } from './world.ts';
import { rankAdaptively } from './adaptive/rank-adaptive.ts';
import type { AdaptivePolicy } from './adaptive/policy.ts';
import { usableEndpoints } from './usable-endpoints.ts';
import { calibrated } from '../tokens/likely-tokens.ts';
import { likelyPromptTokens } from '../tokens/token-estimate.ts';
import { selectorIndex } from '../../catalog/selectors.ts';

/**
 * Decides, from the request and what is known of the world, which endpoints may answer and in which order they are
 * tried. The same inputs always give the same plan; `explain` and the live path both call this.
 */
export function planRoute(request: RoutedRequest, world: World): RoutePlan {
  const rejected: Rejection[] = [];
  const { targets, preferences, requested, applied, adjustments, native } = request;
  const [only] = targets;
  const planned =
    only !== undefined && targets.length === 1 && preferences.sortWithinModel
      ? rankTarget(request, 0, usableEndpoints(only, request, world.policy, rejected), world)
      : rankSeveral(
          request,
          targets.map((target) => usableEndpoints(target, request, world.policy, rejected)),
          world,
        );
  const { origins } = world;
  const readable =
    origins === undefined ? planned : sparesLast(readersFirst(planned, request, origins, world.admission));
  const kept = preferences.allowFallbacks ? readable : withoutFallbacks(readable, preferences, rejected);
  return { requested, applied, adjustments, native: native?.apiFormat, steps: kept, rejected, origins };
}

/** Ranks the endpoints of each requested model by themselves, or all of them together. */
function rankSeveral(
  request: RoutedRequest,
  usable: readonly (readonly Endpoint[])[],
  world: World,
): readonly PlanStep[] {
  if (!request.preferences.sortWithinModel) return withoutRepetitions(sparesLast(rankTogether(request, usable, world)));
  const steps = usable.flatMap((endpoints, index) => rankTarget(request, index, endpoints, world));
  return withoutRepetitions(sparesLast(fittingFirst(steps, request, world)));
}

/** Models that a router model would not choose come behind all others, also where endpoints are sorted across models. */
function sparesLast(steps: readonly PlanStep[]): readonly PlanStep[] {
  const isSpare = ({ spare }: PlanStep): boolean => spare === true;
  return steps.some(isSpare) ? [...steps.filter((step) => !isSpare(step)), ...steps.filter(isSpare)] : steps;
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
 * Soft thresholds hold over all requested models: one to fall back to that meets them comes before the first model's
 * endpoints that do not (gaps 3.2). What the session sticks to stays where it is. An account's own keys stay before the
 * shared capacity, and those that are a fallback behind it.
 */
function fittingFirst(steps: readonly PlanStep[], { preferences }: RoutedRequest, world: World): readonly PlanStep[] {
  if (preferences.order.length > 0 || !hasThresholds(preferences)) return steps;
  const meets = ({ endpoint }: PlanStep): boolean =>
    endpoint.id === world.sticky || meetsThresholds(endpoint, preferences, world);
  const withFitting = new Set(steps.filter(meets).map(({ target }) => target));
  const fits = (step: PlanStep): boolean => {
    const { byok } = step.endpoint;
    if (byok === undefined) return meets(step);
    return !byok.fallback && (step.target === 0 || withFitting.has(step.target));
  };
  return [...steps.filter(fits), ...steps.filter((step) => !fits(step))];
}

/** Ranks the endpoints of one requested model, given by its place among them. */
function rankTarget(
  request: RoutedRequest,
  index: number,
  endpoints: readonly Endpoint[],
  world: World,
): readonly PlanStep[] {
  const target = request.targets[index];
  if (target === undefined) return [];
  const choice = choiceOf(target, index, request);
  const sort = sortOf(request, target);
  const atRandom = target.shuffled === true && request.preferences.order.length === 0 && sort === undefined;
  const ranked = atRandom
    ? ownKeysAround(endpoints, (group) => shuffled(group, world.roll))
    : isAdaptive(request, world, sort)
      ? rankAdaptively(endpoints, request, world, world.adaptive)
      : rankEndpoints(endpoints, request, world, sort);
  const { strategy, refusedTogether, spare } = choice;
  const steps = ranked.map(({ endpoint, why, figures }): PlanStep => {
    const step = { endpoint, why, figures, target: index, strategy };
    return refusedTogether === undefined && spare === undefined ? step : { ...step, refusedTogether, spare };
  });
  const whole = target.shortened === undefined ? steps : wholePromptsFirst(steps, request);
  return tightContextsLast(whole, request, world.record);
}

/**
 * Whether nothing but costs and health decides: no keys of the account, no preference, and no shape of the answer that some
 * endpoints are known to break. So in most requests, and the ranking need not look for each of these.
 */
function isAdaptive(
  { account, preferences, needs, serviceTier }: RoutedRequest,
  world: World,
  sort: SortKey | undefined,
): world is World & { readonly adaptive: AdaptivePolicy } {
  if (world.strategy !== 'adaptive' || world.adaptive === undefined || sort !== undefined) return false;
  const { order, minThroughput, maxLatency } = preferences;
  if (order.length > 0 || minThroughput !== undefined || maxLatency !== undefined) return false;
  if (account.providerKeys !== undefined || serviceTier === 'priority') return false;
  return !needs.tools && !needs.parameters.includes('structured_outputs');
}

/** The models that a router model stands for are one choice; the others after the first are fallbacks. */
function choiceOf(
  { strategy, router, refusedTogether, spare }: ModelTarget,
  index: number,
  { targets }: RoutedRequest,
): Pick<PlanStep, 'strategy' | 'refusedTogether' | 'spare'> {
  if (index > 0 && (router === undefined || router !== targets[0]?.router)) return { strategy: 'fallback' };
  if (spare === true) return { strategy, refusedTogether, spare };
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
  const steps = ranked.map(({ endpoint, why, figures }) => {
    const index = indexOf.get(endpoint) ?? 0;
    const target = request.targets[index];
    const choice = target === undefined ? ({ strategy: 'direct' } as const) : choiceOf(target, index, request);
    return { endpoint, why, figures, target: index, ...choice };
  });
  const shortened = request.targets.some((target) => target.shortened !== undefined);
  const whole = shortened ? wholePromptsFirst(steps, request) : steps;
  return tightContextsLast(whole, request, world.record);
}

/** What the request says in so many words wins over the variant of a slug, and both over that of a service tier. */
function sortOf({ preferences, serviceTier }: RoutedRequest, target: ModelTarget): SortKey | undefined {
  const requested = preferences.sort ?? target.sort;
  if (requested !== undefined || serviceTier === undefined) return requested;
  if (serviceTier === 'priority') return 'throughput';
  const flexible = serviceTier === 'flex' && target.endpoints.some((endpoint) => endpoint.tier === 'flex');
  return flexible ? 'price' : undefined;
}

/** `allow_fallbacks: false` keeps the first candidate, or those named in `order` (gaps 3.1). */
function withoutFallbacks(
  steps: readonly PlanStep[],
  { order }: Preferences,
  rejected: Rejection[],
): readonly PlanStep[] {
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

/**
 * Moves endpoints whose context is shorter than the prompt and its answer likely are behind the others. Only what is
 * certainly too long is left out (gaps 3.4), so they stay for the case that the estimate was too high. Providers that
 * the request orders by name keep their order.
 */
function tightContextsLast(
  steps: readonly PlanStep[],
  request: RoutedRequest,
  record: World['record'] = () => undefined,
): readonly PlanStep[] {
  const { targets, needs } = request;
  if (!mayBeTight(steps, request)) return steps;
  const likely = likelyPromptTokens(request);
  const isTight = ({ endpoint, target: index }: PlanStep): boolean => {
    const { contextLength = Infinity, maxPromptTokens = Infinity } = endpoint;
    // In tokens as this endpoint has counted them so far.
    const prompt = calibrated(likely, record(endpoint)?.tokens);
    if (prompt + (needs.outputTokens ?? 0) <= contextLength && prompt <= maxPromptTokens) return false;
    const target = targets[index];
    return target === undefined || !isShortened(target, endpoint);
  };
  const tight = steps.filter(isTight);
  if (tight.length === 0 || tight.length === steps.length) return steps;
  const annotated = tight.map((step) => ({ ...step, why: `${step.why}, and its context is likely too short` }));
  return [...steps.filter((step) => !isTight(step)), ...annotated];
}

/** Whether the context of an endpoint may be too short, so that it matters how it counts tokens. */
export function mayBeTight(
  steps: readonly Pick<PlanStep, 'endpoint'>[],
  { needs, preferences }: RoutedRequest,
): boolean {
  if (preferences.order.length > 0) return false;
  // The floor is a token for eight characters at most, so a prompt that fits eight times over need not be looked at.
  const most = MOST_PER_FLOOR * (needs.promptTokens + 1) + (needs.outputTokens ?? 0);
  for (const { endpoint } of steps) {
    const { contextLength = Infinity, maxPromptTokens = Infinity } = endpoint;
    if (most > contextLength || most > maxPromptTokens) return true;
  }
  return false;
}

/** Characters that a token of the floor stands for. */
const MOST_PER_FLOOR = 8;
