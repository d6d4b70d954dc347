import type { ModelTarget, NormalizedRequest } from '../../core/normalize/normalized-request.ts';
import type { CandidatesContext } from '../../core/pipeline/candidates-context.ts';
import { callable, checkShape, listOf, type OptionShape, text } from '../../core/options/option-kinds.ts';
import { type Plugin, definePlugin } from '../../core/pipeline/plugin.ts';
import {
  type AutoRouterEntry,
  parseAutoBetaRouterOptions,
  parseAutoRouterOptions,
} from '../../protocol/model-router-options.ts';
import type { OptionsParser } from '../../protocol/options.ts';
import { candidatesFor } from '../model-choice/candidates.ts';
import { inPlaceOfRouter } from '../model-choice/in-place.ts';
import { safeScores } from '../model-choice/safe-scores.ts';
import { chooseModels } from './choose-models.ts';
import { classifySafely } from './classify-safely.ts';
import { type TaskClassifier, localClassifier } from './classifier.ts';
import { costBandOf } from './cost-band.ts';
import { promptOf } from './prompt-text.ts';
import { type RankingSource, catalogScores } from './ranking.ts';
import { describeChoice } from './stage.ts';
import { positive } from '../option-kinds.ts';

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
    whenItThrows: 'fail',
    models: [slug],
    parseOptions,
    onCandidates(targets, request, entry, context) {
      // Settings for a router that was not asked for are accepted and mean nothing.
      if (!targets.some(isOurs)) return targets;
      const chosen = choose(request, entry, context);
      return inPlaceOfRouter(targets, isOurs, chosen, 'auto');
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
