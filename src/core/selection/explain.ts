/** Describes a routing plan for a dry run. */
import type { Endpoint, FactOrigin } from '../../catalog/endpoint.ts';
import { ratesAt } from '../../catalog/price-at.ts';
import { describeRefusal } from '../fallback/refusal.ts';
import { type Estimate, estimateCost } from '../stream/billing.ts';
import type { NormalizedRequest } from '../../contracts/request.ts';
import type { ActivePlugin } from '../pipeline/choose-plugins.ts';
import type { FilteredCandidates } from '../pipeline/filter-candidates.ts';
import type { OfferedTool } from '../pipeline/offer-tools.ts';
import type { PluginCause, StageRecord } from '../../contracts/plugin-context.ts';
import { calibrated } from '../tokens/likely-tokens.ts';
import { likelyPromptTokens } from '../tokens/token-estimate.ts';
import type { RoutePlan } from './route-plan.ts';
import { medianLatency, medianThroughput } from './sort.ts';
import type { World } from './world.ts';
import type { ExclusionReason } from '../../contracts/exclusion-reason.ts';
import type { DecisionFigures } from '../../contracts/events.ts';
import type { RefusedWord } from '../../contracts/failure.ts';

const HOOKS = ['onRequest', 'onCandidates', 'onAttempt', 'onChunks', 'onAnswer', 'onResult'] as const;

/** Tokens of an answer that an estimate assumes when the request sets no limit. */
const ASSUMED_OUTPUT_TOKENS = 500;

/** One endpoint in the order in which it would be tried. */
export interface ExplainedStep {
  readonly provider: string;
  readonly model: string;
  /** Slug that names the endpoint in preferences. */
  readonly tag: string;
  /** Name of the provider's key, where it has several. */
  readonly key?: string | undefined;
  readonly why: string;
  /** US dollars for this prompt and the answer's limit, or 500 tokens without one; undefined without a price. */
  readonly estimatedCostUsd?: number | undefined;
  /** USD per million tokens, for a prompt of this length at this time; absent where the price is unknown. */
  readonly price?: { readonly prompt: number; readonly completion: number } | undefined;
  /** Where the price comes from; absent when the program declared it. */
  readonly priceOrigin?: FactOrigin | undefined;
  /** Median of the milliseconds to the first token, measured here in the last five minutes; absent without any. */
  readonly latencyMs?: number | undefined;
  /** Median of the tokens per second after the first, measured likewise. */
  readonly tokensPerSecond?: number | undefined;
  /** True when it would be passed over right now, because it is cooling down. */
  readonly coolingDown: boolean;
  /** What its provider has refused lately, so that it is not called with it; absent where it has refused nothing. */
  readonly refuses?: readonly string[] | undefined;
  /** The numbers that put it in its place; absent where an order, a sort or prices alone decided. */
  readonly decision?: DecisionFigures | undefined;
}

/** One endpoint that would not be used, and why. */
export interface ExplainedRejection {
  readonly provider: string;
  readonly model: string;
  readonly tag: string;
  readonly reason: ExclusionReason;
  readonly detail?: string | undefined;
  /**
   * True when nobody declared whether the endpoint can do it, and `selection.unknownCapability` is `exclude`. What
   * would help is a declaration, or `unknownCapability: 'allow'`.
   */
  readonly undeclared?: boolean | undefined;
}

/** A plugin that would take part. */
export interface ExplainedPlugin {
  readonly id: string;
  /** Who wants it: the request, a default of the account or the router, the model that was requested, or itself. */
  readonly because: PluginCause;
  /** Hooks that would run. Of those, only `onCandidates` was run for this explanation. */
  readonly hooks: readonly string[];
  /** What it noted while it chose models, as it would be in `router_metadata.pipeline`. */
  readonly stages: readonly StageRecord[];
}

/** A server tool that would be offered to the model. */
export interface ExplainedServerTool {
  readonly type: string;
  /** Name of the function that the model would see. */
  readonly name: string;
}

/** Who takes part in a request besides providers. */
interface Participants {
  readonly plugins: readonly ActivePlugin[];
  readonly tools: ReadonlyMap<string, OfferedTool>;
  /** What plugins noted while the route was planned. */
  readonly stages: FilteredCandidates['stages'];
}

/**
 * What a request would do, without calling anybody. Plugins' `onRequest` is not run, so a plugin that changes requests
 * there may lead to another plan.
 */
export interface Explanation {
  readonly requested: string;
  /** Rules that changed something, models that aliases divide, who would get a copy; absent where there are none. */
  readonly applied?: RoutePlan['applied'];
  /** In the order in which their hooks run. */
  readonly plugins: readonly ExplainedPlugin[];
  readonly serverTools: readonly ExplainedServerTool[];
  readonly steps: readonly ExplainedStep[];
  readonly rejected: readonly ExplainedRejection[];
  /** What has no effect, a sentence for each: names in `order`, `only` and `ignore` that are no provider of the router. */
  readonly warnings?: readonly string[];
}

/** What is known of the endpoints at the moment. */
interface EndpointsNow {
  readonly world: World;
  readonly coolingDown: (endpoint: Endpoint) => boolean;
  readonly refusals: (endpoint: Endpoint) => readonly RefusedWord[];
}

/** Puts a plan into words and estimates. */
export function explainPlan(
  plan: RoutePlan,
  request: NormalizedRequest,
  { plugins, tools, stages }: Participants,
  { world, coolingDown, refusals }: EndpointsNow,
): Explanation {
  const { needs, created } = request;
  const promptTokens = likelyPromptTokens(request);
  const completionTokens = needs.outputTokens ?? ASSUMED_OUTPUT_TOKENS;
  const estimateAt = (endpoint: Endpoint): Estimate => ({
    promptTokens: calibrated(promptTokens, world.record(endpoint)?.tokens),
    completionTokens,
    images: needs.images,
    at: created,
  });
  return {
    requested: plan.requested,
    ...(plan.applied && { applied: plan.applied }),
    plugins: plugins.map(({ plugin, because }) => ({
      id: plugin.id,
      because,
      hooks: HOOKS.filter((hook) => plugin[hook] !== undefined),
      stages: stages.filter(({ id }) => id === plugin.id).map(({ record }) => record),
    })),
    serverTools: [...tools.values()].map(({ definition, name }) => ({ type: definition.type, name })),
    steps: plan.steps.map(({ endpoint, why, figures }) => ({
      provider: endpoint.provider,
      model: endpoint.model,
      tag: endpoint.tag,
      key: endpoint.key,
      why,
      estimatedCostUsd: estimateCost(endpoint, estimateAt(endpoint)),
      price: ratesOf(endpoint, promptTokens, created),
      priceOrigin: endpoint.origins?.price,
      latencyMs: medianLatency(endpoint, world),
      tokensPerSecond: medianThroughput(endpoint, world),
      coolingDown: coolingDown(endpoint),
      ...refusesOf(refusals(endpoint)),
      ...(figures === undefined ? {} : { decision: figures }),
    })),
    rejected: plan.rejected.map(({ endpoint, reason, detail, undeclared }) => ({
      provider: endpoint.provider,
      model: endpoint.model,
      tag: endpoint.tag,
      reason,
      detail,
      undeclared,
    })),
  };
}

function refusesOf(refusals: readonly RefusedWord[]): Pick<ExplainedStep, 'refuses'> {
  return refusals.length === 0 ? {} : { refuses: refusals.map(describeRefusal) };
}

function ratesOf({ price }: Endpoint, promptTokens: number, at: number): ExplainedStep['price'] {
  const rates = price && ratesAt(price, { promptTokens, at });
  return rates && { prompt: rates.prompt, completion: rates.completion };
}
