import type { DialectName } from '../../protocol/dialect.ts';
import type { Endpoint } from '../../catalog/endpoint.ts';
import type { World } from './world.ts';
import { originOf, type ReasoningOrigins } from '../normalize/reasoning-origin.ts';
import type { RoutingStrategy } from '../../protocol/metadata.ts';
import type { SeenWorld } from '../ledger/plan-seen.ts';
import type { AppliedConfiguration, ModelTarget, RoutedRequest } from '../normalize/normalized-request.ts';

/** Which rule left an endpoint out (gaps 7.4, `excluded_by`). */
export type ExclusionReason =
  | 'rule'
  | 'allowed_models'
  | 'allowed_providers'
  | 'data_policy:training'
  | 'data_policy:zdr'
  | 'distillable'
  | 'max_price'
  | 'quantization'
  | 'require_parameters'
  | 'input_modality'
  | 'output_modality'
  | 'dimensions'
  | 'tools'
  | 'tool_choice'
  | 'reasoning'
  | 'service_tier'
  | 'response_format'
  | 'max_output_tokens'
  | 'context_length'
  | 'dialect'
  | 'allow_fallbacks'
  | 'plugin';

/** The numbers that decided about an endpoint. */
export interface DecisionFigures {
  /** US dollars that the request is expected to cost there; undefined without a price. */
  readonly expectedCostUsd: number | undefined;
  /**
   * US dollars that each further request of the session is expected to cost there once its prompt is cached; absent where
   * that did not count, or without a price.
   */
  readonly laterCostUsd?: number | undefined;
  /**
   * US dollars that its failures are expected to add: what is charged for them, the tries that follow, and the time that
   * they take. Absent where none is remembered, or without a price.
   */
  readonly failureCostUsd?: number | undefined;
  /** Share of the prompt that is likely to be in the endpoint's cache. */
  readonly warmth: number;
  /** From 0 to 1: what is left after failures, slowness, and more calls at a time than it takes. */
  readonly health: number;
  /** How many times as long as usual its calls take at the moment. */
  readonly slowness: number;
  /** Share of its rate that is free; below 0 where it has more calls at a time than it answers in time. */
  readonly headroom: number;
  /**
   * Probability with which it was drawn to be the first of those that it was compared with: an order, own keys, tiers and
   * thresholds put groups behind each other, and so do models. 0 for one that must not be called now.
   */
  readonly share: number;
}

/** One endpoint in the order in which it will be tried, and the reason for its place. */
export interface PlanStep {
  readonly endpoint: Endpoint;
  /** Index of the requested model that this endpoint serves. */
  readonly target: number;
  readonly strategy: RoutingStrategy;
  /** True: when a model of such a step refuses the request, those of the others are not asked. */
  readonly refusedTogether?: boolean | undefined;
  /** In words, for `explain`. */
  readonly why: string;
  /** Absent where an order or prices alone decided. */
  readonly figures?: DecisionFigures | undefined;
}

/** An endpoint that was left out. */
export interface Rejection {
  readonly endpoint: Endpoint;
  readonly reason: ExclusionReason;
  /** What exactly did not fit, for example `image` or `context 8,192`. */
  readonly detail?: string | undefined;
  /** True when the endpoint was left out because nobody declared whether it can do it. */
  readonly undeclared?: boolean | undefined;
}

/** The whole decision about one request, before anybody is called. */
export interface RoutePlan {
  readonly requested: string;
  /** What the configuration has made of the request; absent where neither rules nor splits took part. */
  readonly applied?: AppliedConfiguration | undefined;
  /** What was changed in the request for whoever answers it; see {@link RoutedRequest.adjustments}. */
  readonly adjustments?: readonly string[] | undefined;
  /** API format of the caller's own body, which endpoints get that speak it. Absent for that of chat. */
  readonly native?: DialectName | undefined;
  readonly steps: readonly PlanStep[];
  readonly rejected: readonly Rejection[];
  /** What the decision saw of the world. Absent unless a ledger keeps it. */
  readonly seen?: SeenWorld | undefined;
  /** Who made the encrypted reasoning of the conversation: other endpoints get it without. Absent where there is none. */
  readonly origins?: ReasoningOrigins | undefined;
}

/** True for an endpoint that a plugin will shorten the prompt for. The own keys of an account share that. */
export function isShortened({ shortened }: ModelTarget, { model, tag }: Endpoint): boolean {
  return shortened?.some((one) => one.tag === tag && one.model === model) === true;
}

/**
 * Moves endpoints that get a shortened prompt behind those that take all of it: leaving things out is better than
 * failing, and worse than anything else. Providers that the request orders by name keep their order.
 */
export function wholePromptsFirst(
  steps: readonly PlanStep[],
  { targets, preferences }: RoutedRequest,
): readonly PlanStep[] {
  const isShort = ({ target: index, endpoint }: PlanStep): boolean => {
    const target = targets[index];
    return target !== undefined && isShortened(target, endpoint);
  };
  const told = steps.map((step) => (isShort(step) ? { ...step, why: `${step.why}, with a shortened prompt` } : step));
  if (preferences.order.length > 0) return told;
  return [...told.filter((step) => !isShort(step)), ...told.filter(isShort)];
}

/**
 * Moves the endpoints that can read the latest encrypted reasoning of the conversation before those that cannot.
 * Providers that the request orders by name keep their order, and who must not be called now its place.
 */
export function readersFirst(
  steps: readonly PlanStep[],
  { preferences }: RoutedRequest,
  origins: ReasoningOrigins,
  admission: World['admission'],
): readonly PlanStep[] {
  const latest = [...origins.values()].at(-1);
  if (latest === undefined || preferences.order.length > 0) return steps;
  const reads = ({ endpoint }: PlanStep): boolean =>
    originOf(endpoint) === latest && admission?.(endpoint, true).ok !== false;
  const readers = steps
    .filter(reads)
    .map((step) => ({ ...step, why: 'made the encrypted reasoning of the conversation' }));
  return readers.length === 0 ? steps : [...readers, ...steps.filter((step) => !reads(step))];
}
