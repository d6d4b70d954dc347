import type { ModelTarget, NormalizedRequest } from '../../core/normalize/normalized-request.ts';
import type { CandidatesContext } from '../../core/pipeline/candidates-context.ts';
import { callable, checkShape, listOf, type OptionShape, text } from '../../platform/option-kinds.ts';
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
  candidatesFor,
  inPlaceOfRouter,
  safeScores,
  stickyCandidate,
  withFirst,
} from '../inner-call/candidates.ts';
import {
  classifySafely,
  localClassifier,
  promptOf,
  type SafeClassification,
  type TaskClassifier,
} from './classifier.ts';
import { catalogScores, ranked, type RankedBy, type RankingSource } from './ranking.ts';
import { positive } from '../option-kinds.ts';
import type { StageRecord } from '../../contracts/plugin-context.ts';

/** Options of {@link autoRouter} and {@link autoBetaRouter}. */
export interface AutoRouterOptions {
  /** Tells the task of a prompt. Default: a classifier of ours that calls nobody. */
  readonly classify?: TaskClassifier | undefined;
  /** Tells how good a model is at a task. Default: the scores of the catalog. */
  readonly rank?: RankingSource | undefined;
  /** Ids of models in the order that holds where no candidate has a score. Default: by price, the cheapest first. */
  readonly defaultModels?: readonly string[] | undefined;
  /** Models that a request may be answered by: the first choice and its fallbacks. Default 4. */
  readonly maxModels?: number | undefined;
}

const OPTIONS: OptionShape<AutoRouterOptions> = {
  classify: callable,
  rank: callable,
  defaultModels: listOf(text),
  maxModels: positive,
};

/**
 * The plugin `auto-router`, which resolves `router/auto` (contract: plugin objects; gaps 5.1): classifies the prompt,
 * takes the models that the request can use and its caller allows, keeps those in the cost band, and ranks them by how
 * good they are at the task. It costs nothing and calls nobody. When the classifier or the ranking fails, the request
 * goes on with the default order, and the stage says so; when nothing is left, it is a 404.
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

function modelRouter(
  id: string,
  slug: string,
  parseOptions: OptionsParser<AutoRouterEntry>,
  { classify = localClassifier(), rank = catalogScores(), defaultModels = [], maxModels = 4 }: AutoRouterOptions,
): Plugin<AutoRouterEntry> {
  const isOurs = (target: ModelTarget): boolean => target.model === slug;

  return definePlugin<AutoRouterEntry>({
    id,
    onlyRoutes: true,
    whenItThrows: 'fail',
    models: [slug],
    parseOptions,
    load: () => classify.load?.(),
    onCandidates(targets, request, entry, context) {
      // Settings for a router that was not asked for are accepted and mean nothing.
      if (!targets.some(isOurs)) return targets;
      const chosen = choose(request, entry, context);
      return inPlaceOfRouter(targets, isOurs, chosen, { strategy: 'auto' });
    },
  });

  function choose(request: NormalizedRequest, entry: AutoRouterEntry, context: CandidatesContext) {
    const prompt = promptOf(request.messages, request.needs.tools);
    const classified = classifySafely(classify, prompt);
    const candidates = candidatesFor(request, context, entry);
    const { scores, failed } = safeScores(candidates, (candidate) => rank(candidate, classified.task));
    const choice = chooseModels(candidates, {
      scoreOf: (candidate) => scores.get(candidate),
      defaultModels,
      maxModels,
      band: costBandOf(entry),
      pinned: entry.pin_model === true ? pinnedModel(request, context) : undefined,
      context,
    });
    const degraded = [...(classified.failed ? ['classifier'] : []), ...(failed ? ['ranking'] : [])];
    context.stage(describeChoice(id, classified, choice, degraded));
    return choice.chosen;
  }
}

/** Id of the model that made the latest turn of the assistant, if the message tells and somebody here serves it. */
function pinnedModel({ messages }: NormalizedRequest, context: CandidatesContext): string | undefined {
  const latest = messages.findLast((message) => message.role === 'assistant');
  return latest?.model == null ? undefined : context.target(latest.model)?.model;
}

const RANKED_BY: Readonly<Record<RankedBy, string>> = {
  scores: 'ranked by scores',
  default_models: 'in the default order, because no candidate has a score for this task',
  price: 'ranked by price, because no candidate has a score for this task',
};

const FIRST: Readonly<Record<Choice['first'], string>> = {
  rank: '',
  session: '; the session keeps its model',
  pin_model: '; the conversation keeps its model',
};

/** The entry of `router_metadata.pipeline` that explains a choice (gaps 6.5: router stage, `task_type`). */
function describeChoice(
  id: string,
  { task, confidence }: SafeClassification,
  { chosen, candidates, inBand, band, by, first }: Choice,
  degraded: readonly string[],
): StageRecord {
  const [best] = chosen;
  const found = `${task}: ${best?.model.id ?? 'no model'}`;
  const broken = degraded.length === 0 ? '' : `; went on without ${degraded.join(' and ')}`;
  return {
    type: 'router',
    name: id,
    summary: `${found} of ${candidates}, ${inBand} in the cost band, ${RANKED_BY[by]}${FIRST[first]}${broken}`,
    data: {
      task_type: task,
      confidence: Math.round(confidence * 100) / 100,
      ranking: by,
      first_by: first,
      cost_band: [band.from, band.to],
      candidates,
      in_cost_band: inBand,
      models: chosen.map(({ model }) => model.id),
      ...(degraded.length === 0 ? {} : { degraded: [...degraded] }),
    },
  };
}

/** What decides among the candidates. */
interface ChoosingRules {
  readonly scoreOf: (candidate: Candidate) => number | undefined;
  readonly defaultModels: readonly string[];
  readonly maxModels: number;
  readonly band: CostBand;
  /** Model that comes first wherever it is a candidate, whatever it costs. */
  readonly pinned?: string | undefined;
  readonly context: CandidatesContext;
}

/** What was chosen, and why. */
interface Choice {
  /** The first choice and its fallbacks. */
  readonly chosen: readonly Candidate[];
  /** How many models the request could have used. */
  readonly candidates: number;
  /** How many of those were in the cost band. */
  readonly inBand: number;
  readonly band: CostBand;
  readonly by: RankedBy;
  /** Why the first is the first. */
  readonly first: 'rank' | 'session' | 'pin_model';
}

/** Orders candidates: the pinned one, that of the session, the cost band by rank, and stand-ins by price. */
function chooseModels(candidates: readonly Candidate[], rules: ChoosingRules): Choice {
  const { band, context, maxModels, pinned } = rules;
  const { inside, reserve } = withinBand(candidates, band);
  const { ranking, by } = ranked(inside, rules.scoreOf, rules.defaultModels);
  const chain = [...ranking, ...reserve];
  const kept = pinned === undefined ? undefined : candidates.find(({ model }) => model.id === pinned);
  const sticky = kept === undefined ? stickyCandidate(chain, context) : undefined;
  const chosen = withFirst(kept ?? sticky, chain).slice(0, maxModels);
  const isChosen = new Set(chosen);
  const isRanked = new Set(chain);
  for (const one of candidates) {
    if (isChosen.has(one)) continue;
    context.leaveOut(
      one.target,
      isRanked.has(one) ? `ranked below the first ${maxModels}` : 'outside of the cost band',
    );
  }
  return {
    chosen,
    candidates: candidates.length,
    inBand: inside.length,
    band,
    by,
    first: kept !== undefined ? 'pin_model' : sticky !== undefined ? 'session' : 'rank',
  };
}

/** Models between two percentiles of price. */
interface CostBand {
  readonly from: number;
  readonly to: number;
  /** Whether models exactly at `to` belong to it. */
  readonly closed: boolean;
  /** False when the caller said nothing of costs: then models outside may stand in as the last fallbacks. */
  readonly strict: boolean;
}

/** Candidates inside a band, and those that may stand in when all of them fail. */
interface Banded {
  readonly inside: readonly Candidate[];
  readonly reserve: readonly Candidate[];
}

/** `cost_quality_tradeoff` when nothing is said of costs (contract). */
const DEFAULT_TRADEOFF = 9;

const TIERS: Readonly<Record<NonNullable<AutoRouterEntry['cost_tier']>, CostBand>> = {
  low: { from: 0, to: 20, closed: false, strict: true },
  medium: { from: 20, to: 40, closed: false, strict: true },
  high: { from: 40, to: 60, closed: false, strict: true },
  xhigh: { from: 60, to: 80, closed: false, strict: true },
  max: { from: 80, to: 100, closed: true, strict: true },
};

/**
 * The band that a request asks for. A tier is a band and wins; the deprecated number is a ceiling, from the 90th
 * percentile at 0 down to the 10th at 10.
 */
export function costBandOf({ cost_tier: tier, cost_quality_tradeoff: tradeoff }: AutoRouterEntry): CostBand {
  if (tier !== undefined) return TIERS[tier];
  const ceiling = 90 - 8 * (tradeoff ?? DEFAULT_TRADEOFF);
  return { from: 0, to: ceiling, closed: true, strict: tradeoff !== undefined };
}

/**
 * Splits candidates by a band of price percentiles, counted among these candidates alone. With few models a band may be
 * empty; then it is those nearest to it. Where no price is known there are no bands, and where some are, models without
 * one are outside of all.
 */
export function withinBand(candidates: readonly Candidate[], band: CostBand): Banded {
  const priced = candidates.filter((one) => one.price !== undefined).sort(byPrice);
  if (priced.length === 0) return { inside: candidates, reserve: [] };
  const distances = percentiles(priced).map((percentile) => distance(percentile, band));
  const nearest = Math.min(...distances);
  const inside = new Set(priced.filter((_, index) => distances[index] === nearest));
  const reserve = band.strict ? [] : [...candidates].sort(byPrice).filter((one) => !inside.has(one));
  return { inside: [...inside], reserve };
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
