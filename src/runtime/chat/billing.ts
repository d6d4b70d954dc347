/** Computes what calls cost, failed and hedged ones included. */
import { piecesOf } from '../../core/stream/pieces.ts';
import { nanoFromUsd, usdFromNano } from '../../catalog/cost.ts';
import type { Endpoint } from '../../catalog/endpoint.ts';
import type { RoutedRequest } from '../../contracts/request.ts';
import { calibrated } from '../../core/tokens/likely-tokens.ts';
import { type EstimatedPrompt, likelyPromptTokens } from '../../core/tokens/token-estimate.ts';
import { type Estimate, settleUsage, type Settlement } from '../../core/stream/usage.ts';
import type { AttemptCall, AttemptedCall, CallEnd } from './attempt-call.ts';
import { StreamTracker } from '../../core/stream/stream-tracker.ts';
import type { AttemptFailure } from '../../contracts/failure.ts';
import type { Attempt } from '../../core/fallback/attempt.ts';
import type { ReportedUsage, UpstreamResult } from '../../contracts/stream-piece.ts';
import type { Usage } from '../../protocol/usage.ts';
import type { AnswerCall } from './answer.ts';

/**
 * What a failed call cost, in whole nano-dollars; undefined where its price is unknown. Providers charge for what they have generated, also where an answer
 * does not come to its end: the greater of what they reported and what was likely generated. A call that failed before
 * it said anything costs nothing; where the client disconnected, it is guessed what will be billed.
 */
export function spentOnFailed(
  answer: AttemptedCall,
  request: RoutedRequest,
  failed: AttemptFailure,
): number | undefined {
  return isCharged(answer, failed) ? settleUnanswered(answer, request).costNanoUsd : 0;
}

function isCharged({ call: { reported } }: AttemptedCall, { kind }: AttemptFailure): boolean {
  return reported.usage !== undefined || (reported.likelyTokens ?? 0) > 0 || ABANDONED.has(kind);
}

/** What the loser of a hedge may have cost, in US dollars; undefined for other calls, and without a price. */
export function lostOnHedge(made: AttemptedCall, request: RoutedRequest, failed: AttemptFailure): number | undefined {
  if (failed.kind !== 'superseded' || made.endpoint.price === undefined) return undefined;
  return usdFromNano(spentOnFailed(made, request, failed) ?? 0);
}

/** The same of all attempts of a request. */
export function lostOnHedges(attempts: readonly Attempt[]): number {
  return attempts.reduce((sum, { costUsd = 0 }) => sum + costUsd, 0);
}

/** What a provider charges for a call that is given up, in US dollars; undefined without a price. */
export function givenUpUsd(answer: UnansweredCall, request: RoutedRequest): number | undefined {
  return settleUnanswered(answer, request).usage.cost_details?.upstream_inference_cost ?? undefined;
}

/** What the cost of a call without an answer depends on. */
export type UnansweredCall = Pick<AttemptedCall, 'endpoint' | 'tokens'> & {
  readonly call: Pick<AttemptCall<unknown>, 'reported'>;
};

function settleUnanswered({ endpoint, tokens, call }: UnansweredCall, request: RoutedRequest): Settlement {
  const { usage, serviceTier, outputImages, likelyTokens = 0, isComplete = false } = call.reported;
  // Some report a prompt of no tokens until they have counted it.
  const billed = billingOf(request, serviceTier, isComplete || (usage?.prompt_tokens ?? 0) > 0 ? usage : undefined);
  return settleUsage(endpoint, usage, {
    ...billed,
    promptTokens: calibrated(billed.promptTokens, tokens),
    completionTokens: likelyTokens,
    outputImages,
    isCut: !isComplete,
  });
}

/** What is charged for a call that has ended, in nano-dollars; undefined where its price is unknown. */
export function chargedFor(made: AttemptedCall, request: RoutedRequest, end: CallEnd): number | undefined {
  if ('failure' in end) {
    return end.kept === undefined ? spentOnFailed(made, request, end.failure) : end.kept.costNanoUsd;
  }
  const { cost } = end.facts.usage;
  return cost === undefined ? undefined : nanoFromUsd(cost);
}

/** Failures after which the provider may go on, and charges for it. */
export const ABANDONED: ReadonlySet<AttemptFailure['kind']> = new Set(['aborted', 'superseded']);

/** Usage of a call that failed and is charged for, although its caller may not pay for it. */
export function usageOfFailed(made: AttemptedCall, request: RoutedRequest, failed: AttemptFailure): Usage | undefined {
  return isCharged(made, failed) ? settleUnanswered(made, request).usage : undefined;
}

/**
 * What a cost breakdown needs of a request, non-streaming or streaming, so that both cost the same.
 *
 * @param reported - Usage that the provider reported: then the prompt need not be estimated, which takes time.
 */
export function billingOf(
  request: Pick<RoutedRequest, 'needs' | 'created'> & EstimatedPrompt,
  serviceTier: string | null | undefined,
  reported?: ReportedUsage,
): Omit<Estimate, 'completionTokens' | 'outputImages'> {
  const { needs, created } = request;
  const promptTokens = reported === undefined ? likelyPromptTokens(request) : 0;
  return { promptTokens, images: needs.images, at: created, serviceTier };
}

/** An answer, as far as its cost depends on it. */
interface Billed {
  readonly endpoint: Endpoint;
  readonly call: Pick<AnswerCall, 'tracker'>;
  readonly result?: UpstreamResult | undefined;
}

/** What was counted in an answer. */
interface Counted {
  /** Undefined when the provider reported nothing. */
  readonly reported: ReportedUsage | undefined;
  /** The likely number of tokens in everything the model wrote. */
  readonly likelyTokens: number;
  readonly images: number;
  /** The tier in which the provider says it served. */
  readonly serviceTier: string | null | undefined;
}

/** What an answer used and cost: a whole one, or a stream as far as it was read. Both cost the same. */
export function billAnswer(request: RoutedRequest, { endpoint, call, result }: Billed): Settlement {
  const { reported, likelyTokens, images, serviceTier } =
    result === undefined ? countedIn(call.tracker) : countedInWhole(call.tracker, result);
  return settleUsage(endpoint, reported, {
    ...billingOf(request, serviceTier, reported),
    completionTokens: likelyTokens,
    outputImages: images,
  });
}

function countedIn({ usage, likelyTokens, images, facts }: StreamTracker): Counted {
  return { reported: usage, likelyTokens, images, serviceTier: facts.serviceTier };
}

function countedInWhole(tracker: StreamTracker, result: UpstreamResult): Counted {
  return {
    reported: result.usage,
    likelyTokens: result.usage === undefined ? likelyTokensOf(tracker, result) : 0,
    images: result.choices.reduce((count, { message }) => count + (message.images?.length ?? 0), 0),
    serviceTier: result.serviceTier,
  };
}

/** Counts an answer exactly as it would be counted in a stream. */
function likelyTokensOf(seen: StreamTracker, result: UpstreamResult): number {
  if (seen.likelyTokens > 0) return seen.likelyTokens;
  const tracker = new StreamTracker();
  for (const piece of piecesOf(result)) if (typeof piece !== 'string') tracker.observe(piece);
  return tracker.likelyTokens;
}
