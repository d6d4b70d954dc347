/** Finds the models that a model router may choose among. */
import type { Catalog } from '../../../catalog/catalog.ts';
import type { Endpoint, Model } from '../../../catalog/endpoint.ts';
import { modelPatterns } from '../../../catalog/model-patterns.ts';
import type { ModelTarget, NormalizedRequest } from '../../../contracts/request.ts';
import { requestPrice } from '../../../core/selection/adaptive/expected-cost.ts';
import type { CandidatesContext, UsableTarget } from '../../../contracts/plugin-context.ts';

/** A model that a model router may choose for a request. */
export interface Candidate {
  readonly model: Model;
  readonly target: ModelTarget;
  /** Those of its endpoints that the request can use; at least one. */
  readonly endpoints: readonly Endpoint[];
  /** Input plus output at the cheapest of them, USD per million tokens; undefined when unknown. */
  readonly price: number | undefined;
}

/** A model whose score is lower by more than this is far worse: no price makes it a bargain. */
export const FAR_WORSE = 0.05;

/** Which models a caller wants to be chosen from. */
interface RequestedModels {
  readonly allowed_models?: readonly string[] | undefined;
  readonly excluded_models?: readonly string[] | undefined;
}

/**
 * The models that a request can use and its caller wants. Models that write no text are none, unless the request wants
 * no text; static variants such as `:free`, and models on their way out, are only where a pattern allows them.
 */
export function candidatesFor(
  request: NormalizedRequest,
  context: CandidatesContext,
  { allowed_models: allowed, excluded_models: excluded = [] }: RequestedModels = {},
): readonly Candidate[] {
  const isAllowed = allowed && modelPatterns(allowed);
  const isExcluded = modelPatterns(excluded);
  const wantsText = request.outputModalities?.includes('text') ?? true;
  const wanted = servedModels(context).filter(({ target, model, isUsual, writesText }) => {
    if (wantsText && !writesText) return false;
    if (isAllowed === undefined ? !isUsual : !isAllowed.matches(model.id)) {
      if (isAllowed !== undefined) context.leaveOut(target, 'not in allowed_models');
      return false;
    }
    if (!isExcluded.matches(model.id)) return true;
    context.leaveOut(target, 'in excluded_models');
    return false;
  });
  const models = new Map(wanted.map(({ target, model }) => [target, model]));
  return usableModels(
    wanted.map(({ target }) => target),
    context,
  ).map(({ target, endpoints }) => ({
    target,
    endpoints,
    model: models.get(target) ?? { id: target.model },
    price: cheapest(endpoints, request),
  }));
}

/**
 * Models that the request can use. Where the prompt is too long for all of them, those that would do otherwise: a plugin
 * behind this one may shorten it, and if none does, the error says what is too long.
 */
function usableModels(targets: readonly ModelTarget[], context: CandidatesContext): readonly UsableTarget[] {
  const usable = context.usable(targets);
  if (usable.length > 0) return usable;
  const own = new Map(targets.map((target) => [target.model, target]));
  return context
    .usable(targets.map((target) => ({ ...target, shortened: target.endpoints })))
    .map(({ target, endpoints }) => ({ target: own.get(target.model) ?? target, endpoints }));
}

interface Served {
  readonly model: Model;
  readonly target: ModelTarget;
  /** True when it may be chosen without being allowed by a pattern. */
  readonly isUsual: boolean;
  readonly writesText: boolean;
}

/** All models of a catalog that somebody serves. A catalog never changes, so this is found out once. */
function servedModels(context: CandidatesContext): readonly Served[] {
  const { catalog } = context;
  const known = SERVED.get(catalog);
  if (known !== undefined) return known;
  const served = [...catalog.models.values()].flatMap((model): readonly Served[] => {
    const target = context.target(model.id);
    const variant = target?.endpoints[0]?.variant;
    if (target === undefined || variant === 'batch') return [];
    const writesText = target.endpoints.some(({ outputModalities }) => outputModalities?.has('text') !== false);
    return [{ model, target, writesText, isUsual: variant === undefined && model.status !== 'deprecated' }];
  });
  SERVED.set(catalog, served);
  return served;
}

const SERVED = new WeakMap<Catalog, readonly Served[]>();

function cheapest(endpoints: readonly Endpoint[], request: NormalizedRequest): number | undefined {
  const prices = endpoints.flatMap((endpoint) => requestPrice(endpoint, request) ?? []);
  return prices.length === 0 ? undefined : Math.min(...prices);
}

/** Orders by price, the cheapest first and unknown prices last. */
export function byPrice(left: Candidate, right: Candidate): number {
  if (left.price === right.price) return 0;
  return (left.price ?? Infinity) - (right.price ?? Infinity);
}

/** Contexts from here on count as equal where models are compared by them: longer ones hold more and answer no better. */
const LONG_CONTEXT = 128_000;

/**
 * Orders by what is known of models without scores: the longest context first, where it is below 128,000 tokens, then the
 * newest, then the most expensive. What is not known comes last.
 */
export function bySize(left: Candidate, right: Candidate): number {
  return (
    descending(contextOf(left), contextOf(right)) ||
    descending(left.model.created, right.model.created) ||
    descending(left.price, right.price)
  );
}

function contextOf({ endpoints }: Candidate): number | undefined {
  const known = endpoints.flatMap(({ contextLength }) => contextLength ?? []);
  return known.length === 0 ? undefined : Math.min(LONG_CONTEXT, Math.max(...known));
}

function descending(left = -Infinity, right = -Infinity): number {
  return left === right ? 0 : right - left;
}

/** The candidate that a session was last served by, if it is still one. */
export function stickyCandidate(
  candidates: readonly Candidate[],
  { sticky }: CandidatesContext,
): Candidate | undefined {
  if (sticky === undefined) return undefined;
  return candidates.find(({ target }) => target.endpoints.some((endpoint) => endpoint.id === sticky));
}

/** Puts one candidate before all others. */
export function withFirst(first: Candidate | undefined, candidates: readonly Candidate[]): readonly Candidate[] {
  return first === undefined ? candidates : [first, ...candidates.filter((one) => one !== first)];
}

/** What a model router chose. */
export interface ChosenModels {
  /** The first choice and its fallbacks. */
  readonly chosen: readonly Candidate[];
  /** Those of them that it would not choose, and that only answer when nobody else does. */
  readonly outside: readonly Candidate[];
}

/** Puts the chosen models in the place of a router model; the other targets stay where they are. */
export function inPlaceOfRouter(
  targets: readonly ModelTarget[],
  isRouter: (target: ModelTarget) => boolean,
  { chosen, outside }: ChosenModels,
  how: Pick<ModelTarget, 'strategy' | 'refusedTogether'>,
): readonly ModelTarget[] {
  const spares = new Set(outside);
  const targetOf = (one: Candidate): ModelTarget =>
    spares.has(one) ? { ...one.target, ...how, spare: true } : { ...one.target, ...how };
  return targets.flatMap((target) => (isRouter(target) ? chosen.map(targetOf) : [target]));
}

/** Scores of the candidates that have one, and whether their source failed. */
interface SafeScores {
  readonly scores: ReadonlyMap<Candidate, number>;
  readonly failed: boolean;
}

/** Requests the score of every candidate. A source that throws knows none; a value that is no number is none. */
export function safeScores(
  candidates: readonly Candidate[],
  scoreOf: (candidate: Candidate) => number | undefined,
): SafeScores {
  try {
    const scores = candidates.map((candidate) => [candidate, scoreOf(candidate)] as const);
    const known = scores.filter((entry): entry is readonly [Candidate, number] => Number.isFinite(entry[1]));
    return { scores: new Map(known), failed: false };
  } catch {
    // What it threw may repeat a prompt, so it is told to nobody; that it threw is in the stage.
    return { scores: new Map(), failed: true };
  }
}
