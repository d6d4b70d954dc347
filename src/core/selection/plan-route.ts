import { type Ranked, rankEndpoints, ownKeysAround, hasThresholds, meetsThresholds } from './rank.ts';
import type { Endpoint } from '../../catalog/endpoint.ts';
import { selectorIndex } from '../../catalog/model.ts';
import type { SortKey } from '../../protocol/provider-preferences.ts';
import type { ModelTarget, Preferences, RoutedRequest } from '../normalize/normalized-request.ts';
import { areOfPolicy } from '../normalize/preset.ts';
import {
  type PlanStep,
  type Rejection,
  type RoutePlan,
  readersFirst,
  wholePromptsFirst,
  isShortened,
} from './route-plan.ts';
import type { World, SelectionPolicy } from './performance.ts';
import { filtersFor, firstExclusion, preferCapable } from './filters.ts';
import type { Account } from '../account.ts';
import { calibrated } from '../normalize/likely-tokens.ts';
import { likelyPromptTokens } from '../normalize/token-estimate.ts';

/**
 * Decides, from the request and what is known of the world, which endpoints may answer and in which order they are
 * tried. The same inputs always give the same plan; `explain` and the live path both call this.
 */
export function planRoute(request: RoutedRequest, world: World): RoutePlan {
  const rejected: Rejection[] = [];
  const candidates = request.targets.map((target) => usableEndpoints(target, request, world.policy, rejected));
  const steps = request.preferences.sortWithinModel
    ? fittingFirst(
        joined(
          request.targets.map((target, index) => rankTarget(target, index, candidates[index] ?? [], request, world)),
        ),
        request,
        world,
      )
    : rankTogether(request, candidates, world);
  const planned = request.targets.length > 1 ? withoutRepetitions(steps) : steps;
  const { requested, applied } = request;
  const { origins } = world;
  const readable = origins === undefined ? planned : readersFirst(planned, request, origins, world.admission);
  const kept = withinFallbacks(readable, request, rejected);
  return {
    requested,
    ...(applied === undefined ? {} : { applied }),
    steps: kept,
    rejected,
    ...(origins === undefined ? {} : { origins }),
  };
}

/** All lists as one; a single one is not copied. */
function joined<Item>(lists: readonly (readonly Item[])[]): readonly Item[] {
  const [only] = lists;
  return only !== undefined && lists.length === 1 ? only : lists.flat();
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
  const { strategy, refusedTogether } = choice;
  const steps = ranked.map(({ endpoint, why, figures }): PlanStep => {
    const step = { endpoint, why, figures, target: index, strategy };
    return refusedTogether === undefined ? step : { ...step, refusedTogether };
  });
  return tightContextsLast(
    target.shortened === undefined ? steps : wholePromptsFirst(steps, request),
    request,
    world.record,
  );
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
  return tightContextsLast(shortened ? wholePromptsFirst(steps, request) : steps, request, world.record);
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
export function drawing(roll: number): <Item>(items: readonly Item[]) => readonly Item[] {
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

/** A model with those of its endpoints that a request may use; there is at least one. */
export interface UsableTarget {
  readonly target: ModelTarget;
  readonly endpoints: readonly Endpoint[];
}

/**
 * Leaves out every endpoint that breaks a hard filter of the request or lacks an ability that another one has
 * (gaps 3.4), notes why, and drops the models that have none left. The order stays.
 */
export function usableTargets(
  targets: readonly ModelTarget[],
  request: RoutedRequest,
  policy: SelectionPolicy,
  rejected: Rejection[],
): readonly UsableTarget[] {
  const filters = filtersFor(request);
  const passed = targets.map((target) =>
    accountEndpoints(target.endpoints, request.account).filter((endpoint) => {
      const exclusion = firstExclusion(endpoint, request, policy, target, filters);
      if (exclusion !== undefined) rejected.push({ endpoint, ...exclusion });
      return exclusion === undefined;
    }),
  );
  const all = joined(passed);
  const preferred = preferCapable(all, request, policy);
  if (preferred.length === all.length) {
    return targets.flatMap((target, index) => {
      const endpoints = passed[index] ?? [];
      return endpoints.length === 0 ? [] : [{ target, endpoints }];
    });
  }
  const capable = new Set(preferred);
  for (const endpoint of all) {
    if (!capable.has(endpoint)) rejected.push({ endpoint, reason: 'response_format', detail: 'another has it' });
  }
  return targets.flatMap((target, index) => {
    const endpoints = (passed[index] ?? []).filter((endpoint) => capable.has(endpoint));
    return endpoints.length === 0 ? [] : [{ target, endpoints }];
  });
}

/**
 * The endpoints of one model that a request may use, as {@link usableTargets} finds them. For requests of one kind it
 * finds the same each time, unless their length makes a difference, so that is remembered.
 */
export function usableEndpoints(
  target: ModelTarget,
  request: RoutedRequest,
  policy: SelectionPolicy,
  rejected: Rejection[],
): readonly Endpoint[] {
  if (!isShared(target, request)) return filtered(target, request, policy, rejected);
  let kinds = USABLE.get(target.endpoints);
  if (kinds === undefined) USABLE.set(target.endpoints, (kinds = []));
  let known = kinds.find((one) => isOfKind(one, target, request));
  if (known?.policy !== policy || known.preferences !== request.preferences) {
    const out: Rejection[] = [];
    const endpoints = filtered(target, request, policy, out);
    const { preferences } = request;
    if (known !== undefined) kinds.splice(kinds.indexOf(known), 1);
    else if (kinds.length >= MOST_KINDS) kinds.length = 0;
    known = { policy, preferences, ...kindOf(target, request), endpoints, rejected: out };
    kinds.push(known);
  }
  for (const one of known.rejected) rejected.push(one);
  return known.endpoints;
}

/** What requests of one kind may use. */
interface Usable extends Kind {
  readonly policy: SelectionPolicy;
  readonly preferences: Preferences;
  readonly endpoints: readonly Endpoint[];
  readonly rejected: readonly Rejection[];
}

const USABLE = new WeakMap<readonly Endpoint[], Usable[]>();
/** Kinds that are remembered of one model. */
const MOST_KINDS = 100;

/** Everything but the policies and lengths that the filters look at. */
interface Kind
  extends
    Pick<RoutedRequest, 'operation' | 'serviceTier'>,
    Pick<ModelTarget, 'strategy' | 'admitTier'>,
    Pick<RoutedRequest['needs'], 'tools' | 'toolChoice' | 'inputModalities' | 'outputModalities' | 'parameters'> {
  readonly requiredBy: string | undefined;
  readonly dialect: string | undefined;
  readonly effort: string | undefined;
}

function kindOf({ strategy, admitTier }: ModelTarget, request: RoutedRequest): Kind {
  const { operation, serviceTier, native, reasoning, needs } = request;
  const { tools, toolChoice, inputModalities, outputModalities, parameters } = needs;
  const [requiredBy, dialect, effort] = [native?.requiredBy, native?.dialect, reasoning?.effort];
  const ofTarget = { strategy, admitTier };
  const lists = { inputModalities, outputModalities, parameters };
  return { operation, serviceTier, requiredBy, dialect, effort, ...ofTarget, tools, toolChoice, ...lists };
}

/** Compares without making anything: every plan asks this. */
function isOfKind(kind: Kind, { strategy, admitTier }: ModelTarget, request: RoutedRequest): boolean {
  const { needs, native, reasoning } = request;
  return (
    kind.operation === request.operation &&
    kind.tools === needs.tools &&
    kind.strategy === strategy &&
    kind.serviceTier === request.serviceTier &&
    kind.toolChoice === needs.toolChoice &&
    kind.admitTier === admitTier &&
    kind.effort === reasoning?.effort &&
    kind.dialect === native?.dialect &&
    kind.requiredBy === native?.requiredBy &&
    areEqual(kind.parameters, needs.parameters) &&
    areEqual(kind.inputModalities, needs.inputModalities) &&
    areEqual(kind.outputModalities, needs.outputModalities)
  );
}

function areEqual(one: readonly string[], other: readonly string[]): boolean {
  if (one.length !== other.length) return false;
  for (let index = 0; index < one.length; index += 1) if (one[index] !== other[index]) return false;
  return true;
}

/**
 * Whether a request may use what others of its kind may: not one that has keys or preferences of its own, or that is
 * long enough to be too long for somebody.
 */
function isShared(target: ModelTarget, { needs, preferences, account }: RoutedRequest): boolean {
  if (account.providerKeys !== undefined || target.shortened !== undefined || preferences.maxPrice !== undefined) {
    return false;
  }
  if (!areOfPolicy(preferences)) return false;
  const { input, output, total } = shortestOf(target.endpoints);
  const { promptTokens, outputTokens = 0 } = needs;
  return promptTokens <= input && outputTokens <= output && promptTokens + outputTokens <= total;
}

/** The lowest limits of some endpoints. */
interface Limits {
  readonly input: number;
  readonly output: number;
  readonly total: number;
}

const SHORTEST = new WeakMap<readonly Endpoint[], Limits>();

function shortestOf(endpoints: readonly Endpoint[]): Limits {
  let limits = SHORTEST.get(endpoints);
  if (limits === undefined) {
    let [input, output, total] = [Infinity, Infinity, Infinity];
    for (const { maxPromptTokens = Infinity, maxOutputTokens = Infinity, contextLength = Infinity } of endpoints) {
      input = Math.min(input, maxPromptTokens);
      output = Math.min(output, maxOutputTokens);
      total = Math.min(total, contextLength);
    }
    limits = { input, output, total };
    SHORTEST.set(endpoints, limits);
  }
  return limits;
}

function filtered(
  target: ModelTarget,
  request: RoutedRequest,
  policy: SelectionPolicy,
  rejected: Rejection[],
): readonly Endpoint[] {
  return usableTargets([target], request, policy, rejected)[0]?.endpoints ?? [];
}

/**
 * Adds, for every provider that the account has its own key for, a second endpoint that uses this key. Its health
 * and cooldown are its own: what happens to one account's key says nothing about another's.
 */
function accountEndpoints(endpoints: readonly Endpoint[], account: Account): readonly Endpoint[] {
  const keys = account.providerKeys;
  if (keys === undefined) return endpoints;
  return endpoints.flatMap((endpoint) => {
    const key = Object.hasOwn(keys, endpoint.provider) ? keys[endpoint.provider] : undefined;
    if (key === undefined) return [endpoint];
    const own: Endpoint = {
      ...endpoint,
      id: `${endpoint.id}@${account.id}`,
      byok: { account: account.id, fallback: key.fallback ?? false },
    };
    return [own, endpoint];
  });
}

/**
 * Moves endpoints whose context is shorter than the prompt and its answer likely are behind the others. Only what is
 * certainly too long is left out (gaps 3.4), so they stay for the case that the estimate was too high. Providers that
 * the request orders by name keep their order.
 */
export function tightContextsLast(
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
  const told = tight.map((step) => ({ ...step, why: `${step.why}, and its context is likely too short` }));
  return [...steps.filter((step) => !isTight(step)), ...told];
}

/** Whether the context of an endpoint may be too short, so that it matters how it counts tokens. */
export function mayBeTight(steps: readonly PlanStep[], { needs, preferences }: RoutedRequest): boolean {
  if (preferences.order.length > 0) return false;
  // The floor is a token for eight characters at most, so a prompt that fits eight times over need not be looked at.
  const most = MOST_PER_FLOOR * (needs.promptTokens + 1) + (needs.outputTokens ?? 0);
  return steps.some(({ endpoint }) => most > limitOf(endpoint));
}

/** Characters that a token of the floor stands for. */
const MOST_PER_FLOOR = 8;

function limitOf({ contextLength = Infinity, maxPromptTokens = Infinity }: Endpoint): number {
  return Math.min(contextLength, maxPromptTokens);
}
