/** Provider selection: `planRoute` decides which endpoints serve a request, and in which order. */
import type { ApiFormatName } from '../../protocol/api-format.ts';
import type { Endpoint } from '../../catalog/endpoint.ts';
import type { World } from './world.ts';
import { originOf, type ReasoningOrigins } from '../normalize/reasoning-origin.ts';
import type { RoutingStrategy } from '../../protocol/metadata.ts';
import type { AppliedConfiguration, ModelTarget, RoutedRequest } from '../../contracts/request.ts';
import type { Admission } from '../fallback/health.ts';
import type { ObservedState } from './observed-endpoint.ts';
import type { ExclusionReason } from '../../contracts/exclusion-reason.ts';
import type { DecisionFigures } from '../../contracts/events.ts';

/** One endpoint in the order in which it will be tried, and the reason for its place. */
export interface PlanStep {
  readonly endpoint: Endpoint;
  /** Index of the requested model that this endpoint serves. */
  readonly target: number;
  readonly strategy: RoutingStrategy;
  /** True: when a model of such a step refuses the request, those of the others are not called. */
  readonly refusedTogether?: boolean | undefined;
  /** True for one that is only called after all others failed, and not beside a call that is late. */
  readonly spare?: boolean | undefined;
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
  /** API format of the caller's own body, for endpoints that support it natively. Absent for that of chat. */
  readonly native?: ApiFormatName | undefined;
  readonly steps: readonly PlanStep[];
  readonly rejected: readonly Rejection[];
  /** What the decision saw of the world. Absent unless a ledger keeps it. */
  readonly seen?: ObservedWorld | undefined;
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
  const annotated = steps.map((step) =>
    isShort(step) ? { ...step, why: `${step.why}, with a shortened prompt` } : step,
  );
  if (preferences.order.length > 0) return annotated;
  return [...annotated.filter((step) => !isShort(step)), ...annotated.filter(isShort)];
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
    originOf(endpoint) === latest && admission?.(endpoint).ok !== false;
  const readers = steps
    .filter(reads)
    .map((step) => ({ ...step, why: 'made the encrypted reasoning of the conversation' }));
  return readers.length === 0 ? steps : [...readers, ...steps.filter((step) => !reads(step))];
}

/**
 * What a decision saw of the world. Small, because a ledger in memory keeps many of them: of the thousands of counts that
 * are known of an endpoint there are only those numbers here that a decision looks at.
 */
export interface ObservedWorld extends Pick<
  World,
  'now' | 'roll' | 'served' | 'prompts' | 'usualAnswerTokens' | 'promptRatio'
> {
  /** What was known of each endpoint that was compared. Without those that were never called. */
  readonly states: readonly ObservedState[];
  /** Answers to whether an endpoint may be called that were more than a plain yes. */
  readonly admissions: readonly ObservedAnswer[];
}

/** Whether an endpoint could be called when a plan was made. */
export interface ObservedAnswer {
  readonly endpoint: Endpoint;
  readonly admission: Admission;
}
