import type { FactOrigin } from './catalog/facts.ts';
import { settleUsage } from './core/stream/usage.ts';
import type { NormalizedRequest } from './core/normalize/normalized-request.ts';
import { likelyPromptTokens } from './core/normalize/token-estimate.ts';
import type { ExclusionReason, RoutePlan } from './core/selection/route-plan.ts';

/** Tokens of an answer that an estimate assumes when the request sets no limit. */
const ASSUMED_OUTPUT_TOKENS = 500;

/** One endpoint in the order in which it would be tried. */
export interface ExplainedStep {
  readonly provider: string;
  readonly model: string;
  /** Slug that names the endpoint in preferences. */
  readonly tag: string;
  readonly why: string;
  /** US dollars for this prompt and the answer's limit, or 500 tokens without one; undefined without a price. */
  readonly estimatedCostUsd?: number | undefined;
  /** Where the price comes from; absent when the program declared it. */
  readonly priceOrigin?: FactOrigin | undefined;
  /** True when it would be passed over right now, because it is cooling down. */
  readonly coolingDown: boolean;
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

/** What a request would do, without calling anybody. */
export interface Explanation {
  readonly requested: string;
  readonly steps: readonly ExplainedStep[];
  readonly rejected: readonly ExplainedRejection[];
}

/** Puts a plan into words and estimates. */
export function explainPlan(
  plan: RoutePlan,
  request: NormalizedRequest,
  coolingDown: (endpoint: RoutePlan['steps'][number]['endpoint']) => boolean,
): Explanation {
  const { needs, created } = request;
  const promptTokens = likelyPromptTokens(needs.promptTokens);
  const completionTokens = needs.outputTokens ?? ASSUMED_OUTPUT_TOKENS;
  const estimate = { promptTokens, completionTokens, images: needs.images, at: created };
  return {
    requested: plan.requested,
    steps: plan.steps.map(({ endpoint, why }) => ({
      provider: endpoint.provider,
      model: endpoint.model,
      tag: endpoint.tag,
      why,
      estimatedCostUsd:
        settleUsage(endpoint, undefined, estimate).usage.cost_details?.upstream_inference_cost ?? undefined,
      priceOrigin: endpoint.origins?.price,
      coolingDown: coolingDown(endpoint),
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
