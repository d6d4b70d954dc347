/** The plugins behind `router/auto` and `router/auto-beta`: choose a model by the kind of prompt. */
import type { ModelTarget, NormalizedRequest } from '../../contracts/request.ts';
import { wholeNumber, callable, type OptionShape, nonEmptyString } from '../../options/values.ts';
import { checkShape } from '../../platform/check-options.ts';
import { array } from '../../schema/collections.ts';
import type { Plugin } from '../../contracts/plugin.ts';
import { definePlugin } from '../../core/pipeline/define-plugin.ts';
import {
  type AutoRouterEntry,
  parseAutoBetaRouterOptions,
  parseAutoRouterOptions,
} from '../../protocol/inner-model-options.ts';
import type { OptionsParser } from '../../protocol/options.ts';
import {
  byPrice,
  type Candidate,
  type ChosenModels,
  candidatesFor,
  FAR_WORSE,
  inPlaceOfRouter,
  stickyCandidate,
  withFirst,
} from '../services/inner-call/candidates.ts';
import {
  classifySafely,
  localClassifier,
  promptOf,
  type SafeClassification,
  type TaskClassifier,
} from './classifier.ts';
import { catalogScores, type RankingSource } from './catalog-scores.ts';
import type * as Ranking from './ranking.ts';
import type { RankedBy, Rated } from './ranking.ts';
import type { StageRecord, CandidatesContext } from '../../contracts/plugin-context.ts';

/** Options of {@link autoRouter} and {@link autoBetaRouter}. */
export interface AutoRouterOptions {
  /** Classifies the task of a prompt. Default: a classifier of ours that calls nobody. */
  readonly classify?: TaskClassifier | undefined;
  /** Returns how good a model is at a task. Default: the scores of the catalog. */
  readonly rank?: RankingSource | undefined;
  /**
   * Ids of models in the order that holds where no candidate has a score. Default: the longest context first, of 128,000
   * tokens and more the newest, then the most expensive.
   */
  readonly defaultModels?: readonly string[] | undefined;
  /**
   * Models that a request may be answered by: the first choice and its fallbacks, of which those outside of the cost band
   * come last. Default 8, as many as a request has attempts (`fallback.maxAttempts`).
   */
  readonly maxModels?: number | undefined;
}

const OPTIONS: OptionShape<AutoRouterOptions> = {
  classify: callable,
  rank: callable,
  defaultModels: array(nonEmptyString),
  maxModels: wholeNumber(1),
};

/**
 * The plugin `auto-router`, which resolves `router/auto` (contract: plugin objects; gaps 5.1): of the models that the
 * request can use and its caller allows, it takes the best one overall, or one that is better at the task of the prompt
 * by more than chance explains. A request that requires a cost band gets the best quality per cost within it, and never
 * a model that another one beats in both; models outside of the band follow, for when none of it answers. It costs nothing and calls nobody. When the classifier or the ranking fails,
 * the request goes on without it, and the stage says so; without any score it ranks by context length, age and price
 * alone and says that too; when nothing is left, it is a 404.
 */
export function autoRouter(options: AutoRouterOptions = {}): Plugin<AutoRouterEntry> {
  checkShape(OPTIONS, options, 'autoRouter');
  return modelRouter('auto-router', 'router/auto', parseAutoRouterOptions, options);
}

/** The plugin `auto-beta-router`, which resolves `router/auto-beta`: the same without `pin_model` (gaps 5.2). */
export function autoBetaRouter(options: AutoRouterOptions = {}): Plugin<AutoRouterEntry> {
  checkShape(OPTIONS, options, 'autoBetaRouter');
  return modelRouter('auto-beta-router', 'router/auto-beta', parseAutoBetaRouterOptions, options);
}

/** As many as a request has attempts where nothing else is set: a further one would never be asked. */
const MOST_MODELS = 8;

function modelRouter(
  id: string,
  slug: string,
  parseOptions: OptionsParser<AutoRouterEntry>,
  {
    classify = localClassifier(),
    rank = catalogScores(),
    defaultModels = [],
    maxModels = MOST_MODELS,
  }: AutoRouterOptions,
): Plugin<AutoRouterEntry> {
  const isOurs = (target: ModelTarget): boolean => target.model === slug;

  return definePlugin<AutoRouterEntry>({
    id,
    onlyRoutes: true,
    whenItThrows: 'fail',
    models: [slug],
    parseOptions,
    async load() {
      await Promise.all([classify.load?.(), loadRanking()]);
    },
    onCandidates(targets, request, entry, context) {
      // Settings for a router that was not asked for are accepted and mean nothing.
      if (!targets.some(isOurs)) return targets;
      const chosen = choose(request, entry, context);
      return inPlaceOfRouter(targets, isOurs, chosen, { strategy: 'auto' });
    },
  });

  function choose(request: NormalizedRequest, entry: AutoRouterEntry, context: CandidatesContext) {
    const prompt = promptOf(request.messages, { hasTools: request.needs.tools });
    const classified = classifySafely(classify, prompt);
    const candidates = candidatesFor(request, context, entry);
    const { isScored } = loadedRanking();
    const { rated, failed } = rateSafely(candidates, rank, classified);
    const choice = chooseModels(rated, classified, {
      defaultModels,
      maxModels,
      band: hasCostSetting(entry) || rated.some(isScored) ? costBandOf(entry) : ANY_COST,
      pinned: entry.pin_model === true ? pinnedModel(request, context) : undefined,
      context,
    });
    const degraded = [...(classified.failed ? ['classifier'] : []), ...(failed ? ['ranking'] : [])];
    context.stage(describeChoice(id, classified, choice, degraded));
    if (choice.by === 'size' && candidates.length > 0) context.warn(`The plugin "${id}" ${BY_SIZE_ONLY}`);
    return choice;
  }
}

/** What compares models, loaded by the first request for a router model. */
type RankingModule = Pick<typeof Ranking, 'isScored' | 'ranked' | 'rate'>;

let ranking: RankingModule | undefined;

async function loadRanking(): Promise<void> {
  ranking ??= await import('./ranking.ts');
}

function loadedRanking(): RankingModule {
  if (ranking === undefined) throw new Error('the plugin has not been loaded');
  return ranking;
}

/** What operators and callers hear of a choice that no score stood behind. */
const BY_SIZE_ONLY =
  'ranks models by context length, age and price only, because none of them has a score: declare scores of models (`models.*.scores`), or an order (`autoRouter({ defaultModels })`)';

/** Asks for the scores of all candidates. A source that throws knows none. */
function rateSafely(
  candidates: readonly Candidate[],
  rank: RankingSource,
  { shares }: SafeClassification,
): { readonly rated: readonly Rated[]; readonly failed: boolean } {
  const { rate } = loadedRanking();
  try {
    return { rated: rate(candidates, rank, shares), failed: false };
  } catch {
    // What it threw may repeat a prompt, so it is told to nobody; that it threw is in the stage.
    return { rated: rate(candidates, () => undefined, shares), failed: true };
  }
}

/** Id of the model that made the latest turn of the assistant, if the message tells and somebody here serves it. */
function pinnedModel({ messages }: NormalizedRequest, context: CandidatesContext): string | undefined {
  const latest = messages.findLast((message) => message.role === 'assistant');
  return latest?.model == null ? undefined : context.target(latest.model)?.model;
}

const RANKED_BY: Readonly<Record<RankedBy, string>> = {
  scores: 'ranked by scores',
  default_models: 'in the default order, because no candidate has a score',
  size: 'ranked by context length, age and price only, because no candidate has a score',
};

const FIRST: Readonly<Record<Choice['first'], string>> = {
  rank: '',
  session: '; the session keeps its model',
  pin_model: '; the conversation keeps its model',
};

/** The entry of `router_metadata.pipeline` that explains a choice (gaps 6.5: router stage, `task_type`). */
function describeChoice(
  id: string,
  { task, confidence, shares }: SafeClassification,
  { chosen, outside, candidates, inBand, band, by, first, bestOverall }: Choice,
  degraded: readonly string[],
): StageRecord {
  const [best] = chosen;
  const found = `${task}: ${best?.model.id ?? 'no model'}`;
  const spares = outside.length === 0 ? '' : `, ${outside.length} outside of it as fallbacks`;
  const broken = degraded.length === 0 ? '' : `; went on without ${degraded.join(' and ')}`;
  return {
    type: 'router',
    name: id,
    summary: `${found} of ${candidates}, ${inBand} in the cost band${spares}, ${RANKED_BY[by]}${FIRST[first]}${broken}`,
    data: {
      task_type: task,
      confidence: hundredths(confidence),
      tasks: Object.fromEntries(shares.map(({ task: one, probability }) => [one, hundredths(probability)])),
      ranking: by,
      ranked_for: band.farWorse === undefined ? 'quality' : 'value',
      first_by: first,
      cost_band: [band.from, band.to],
      candidates,
      in_cost_band: inBand,
      models: chosen.map(({ model }) => model.id),
      ...(outside.length === 0 ? {} : { outside_cost_band: outside.map(({ model }) => model.id) }),
      ...(bestOverall === undefined ? {} : { best_overall: bestOverall.model.id }),
      ...(by === 'size' ? { warnings: [BY_SIZE_ONLY] } : {}),
      ...(degraded.length === 0 ? {} : { degraded: [...degraded] }),
    },
  };
}

function hundredths(share: number): number {
  return Math.round(share * 100) / 100;
}

/** What decides among the candidates. */
interface ChoosingRules {
  readonly defaultModels: readonly string[];
  readonly maxModels: number;
  readonly band: CostBand;
  /** Model that comes first wherever it is a candidate, whatever it costs. */
  readonly pinned?: string | undefined;
  readonly context: CandidatesContext;
}

/** What was chosen, and why. */
interface Choice extends ChosenModels {
  /** How many models the request could have used. */
  readonly candidates: number;
  /** How many of those were in the cost band. */
  readonly inBand: number;
  readonly band: CostBand;
  readonly by: RankedBy;
  /** The best model in the band before the task counts; undefined without scores. */
  readonly bestOverall: Candidate | undefined;
  /** Why the first is the first. */
  readonly first: 'rank' | 'session' | 'pin_model';
}

/** Orders candidates: the pinned one, that of the session, and the cost band by rank. */
function chooseModels(rated: readonly Rated[], { shares }: SafeClassification, rules: ChoosingRules): Choice {
  const { band, context, defaultModels, maxModels, pinned } = rules;
  const candidates = rated.map(({ candidate }) => candidate);
  const inside = new Set(withinBand(candidates, band));
  const {
    ranking: chain,
    by,
    bestOverall,
  } = loadedRanking().ranked(rated, {
    shares,
    defaultModels,
    farWorse: band.farWorse,
    places: maxModels,
    isInBand: (candidate) => inside.has(candidate),
  });
  const kept = pinned === undefined ? undefined : candidates.find(({ model }) => model.id === pinned);
  const sticky = kept === undefined ? stickyCandidate(chain, context) : undefined;
  const isRanked = new Set(chain);
  const outside = outsideOfBand(
    candidates.filter((one) => !isRanked.has(one)),
    inside,
  );
  const chosen = withFirst(kept ?? sticky, [...chain, ...outside]).slice(0, maxModels);
  const isChosen = new Set(chosen);
  for (const one of candidates) {
    if (isChosen.has(one)) continue;
    context.leaveOut(
      one.target,
      `${isRanked.has(one) ? 'ranked' : 'outside of the cost band, and'} below the first ${maxModels}`,
    );
  }
  return {
    chosen,
    outside: chosen.filter((one) => !isRanked.has(one) && one !== kept),
    candidates: candidates.length,
    inBand: inside.size,
    band,
    by,
    bestOverall,
    first: kept !== undefined ? 'pin_model' : sticky !== undefined ? 'session' : 'rank',
  };
}

/** Models between two percentiles of price. */
interface CostBand {
  readonly from: number;
  readonly to: number;
  /** Whether models exactly at `to` belong to it. */
  readonly closed: boolean;
  /** How much worse than the best in the band a good value may be. Undefined where quality alone counts, at any cost. */
  readonly farWorse: number | undefined;
}

const ANY_COST: CostBand = { from: 0, to: 100, closed: true, farWorse: undefined };
/** What `cost_quality_tradeoff` is where a request has no cost setting (contract). */
const DEFAULT_TRADEOFF = 9;
/** How much worse than the best a good value may be, for each step of `cost_quality_tradeoff`. */
const WORSE_PER_STEP = 0.02;

const TIERS: Readonly<Record<NonNullable<AutoRouterEntry['cost_tier']>, CostBand>> = {
  low: { from: 0, to: 20, closed: false, farWorse: FAR_WORSE },
  medium: { from: 20, to: 40, closed: false, farWorse: FAR_WORSE },
  high: { from: 40, to: 60, closed: false, farWorse: FAR_WORSE },
  xhigh: { from: 60, to: 80, closed: false, farWorse: FAR_WORSE },
  max: { from: 80, to: 100, closed: true, farWorse: FAR_WORSE },
};

/** Whether a request says what its answer may cost. */
function hasCostSetting({ cost_tier: tier, cost_quality_tradeoff: tradeoff }: AutoRouterEntry): boolean {
  return (tier ?? tradeoff) !== undefined;
}

/**
 * The band of a request's cost setting. A tier is a band and wins. The deprecated number is a ceiling, from the 82nd
 * percentile at 1 down to the 10th at 10, and below it costs count the more, the higher it is: at 5 a model may be worse
 * than the best by up to a tenth, at 10 by up to a fifth, where its quality per cost is better. 0 takes the best model
 * at any cost.
 */
export function costBandOf({
  cost_tier: tier,
  cost_quality_tradeoff: tradeoff = DEFAULT_TRADEOFF,
}: AutoRouterEntry): CostBand {
  if (tier !== undefined) return TIERS[tier];
  if (tradeoff === 0) return ANY_COST;
  return { from: 0, to: 90 - 8 * tradeoff, closed: true, farWorse: WORSE_PER_STEP * tradeoff };
}

/**
 * Candidates inside a band of price percentiles, counted among these candidates alone. With few models a band may be
 * empty; then it is those nearest to it. Where no price is known there are no bands, and where some are, models without
 * one are outside of all. At any cost all are inside.
 */
export function withinBand(candidates: readonly Candidate[], band: CostBand): readonly Candidate[] {
  const priced = candidates.filter((one) => one.price !== undefined).sort(byPrice);
  if (band.farWorse === undefined || priced.length === 0) return candidates;
  const distances = percentiles(priced).map((percentile) => distance(percentile, band));
  const nearest = Math.min(...distances);
  return priced.filter((_, index) => distances[index] === nearest);
}

/**
 * Candidates that only answer when no model of the cost band does: those below it first, which cost less than requested,
 * then those above it; of each the nearest first, so that as little as possible changes. Unknown prices come last.
 */
function outsideOfBand(others: readonly Candidate[], band: ReadonlySet<Candidate>): readonly Candidate[] {
  const least = Math.min(...[...band].map(({ price = Infinity }) => price));
  const sorted = [...others].sort(byPrice);
  const isBelow = ({ price = Infinity }: Candidate): boolean => price < least;
  return [...sorted.filter(isBelow).toReversed(), ...sorted.filter((one) => !isBelow(one))];
}

/** Percentile of each price in a sorted list: the middle of the places that it takes. */
function percentiles(sorted: readonly Candidate[]): readonly number[] {
  const result: number[] = [];
  while (result.length < sorted.length) {
    const first = result.length;
    const end = sorted.findIndex(({ price }, index) => index > first && price !== sorted[first]?.price);
    const count = (end < 0 ? sorted.length : end) - first;
    const middle = ((first + count / 2) / sorted.length) * 100;
    for (let index = 0; index < count; index += 1) result.push(middle);
  }
  return result;
}

/** How far a percentile is from a band; 0 inside. */
function distance(percentile: number, { from, to, closed }: CostBand): number {
  if (percentile < from) return from - percentile;
  if (percentile < to || (closed && percentile === to)) return 0;
  // The open end is outside, if only just.
  return Math.max(percentile - to, Number.EPSILON);
}
