/** Computes what answers and calls used and cost, failed and hedged ones included. */
import { type Cost, type CostPart, nanoFromUsd, priceUsage, usdFromNano } from '../../catalog/cost.ts';
import type { Endpoint } from '../../catalog/endpoint.ts';
import { billedTier, ratesAt } from '../../catalog/price-at.ts';
import type { AttemptFailure } from '../../contracts/failure.ts';
import type { RoutedRequest } from '../../contracts/request.ts';
import type { ModelRefusal, ReportedUsage, UpstreamResult } from '../../contracts/stream-piece.ts';
import { isJsonObject } from '../../protocol/json.ts';
import type { CostDetails, Usage } from '../../protocol/usage.ts';
import type { Attempt } from '../fallback/attempt.ts';
import { calibrated, type TokenCalibration } from '../tokens/likely-tokens.ts';
import { type EstimatedPrompt, likelyPromptTokens } from '../tokens/token-estimate.ts';
import { piecesOf } from './pieces.ts';
import { StreamTracker } from './stream-tracker.ts';

/** What an answer used and cost, and in whole nano-dollars what is charged for it. */
export interface Settlement {
  readonly usage: Usage;
  /** Undefined when neither the provider reported a cost nor a price is known. */
  readonly costNanoUsd?: number | undefined;
  /**
   * What the provider charges for, part by part. Absent when it reported a cost itself, or when no price is known.
   * The parts add up to `upstream_inference_cost`.
   */
  readonly costParts?: readonly CostPart[] | undefined;
}

/** What a cost needs besides the usage report, and where the counts come from when a provider reported none. */
export interface Estimate {
  readonly promptTokens: number;
  readonly completionTokens: number;
  /** Images in the request. */
  readonly images: number;
  /** Images in the answer. Default 0. */
  readonly outputImages?: number | undefined;
  /** Unix seconds of the request, for prices that change with time. */
  readonly at: number;
  /** The tier in which the provider says it served. Default: that of the endpoint. */
  readonly serviceTier?: string | null | undefined;
  /**
   * True for an answer that did not come to its end: what was reported of it may be older than its last words, so that
   * the greater of reported and estimated counts.
   */
  readonly isCut?: boolean | undefined;
}

/**
 * Prices a usage report for the caller (gaps 4.7, 6.2). A cost that the provider reports wins over one we compute; an
 * account that paid with its own key is charged nothing here, and what its provider charges is in the details.
 */
export function settleUsage(endpoint: Endpoint, reported: ReportedUsage | undefined, estimate: Estimate): Settlement {
  const known = reported === undefined || estimate.isCut !== true ? reported : asGenerated(reported, estimate);
  const counted = known ?? estimated(estimate);
  const { reportedCost, reportedCostDetails } = counted;
  const usage = 'reportedCost' in counted || 'reportedCostDetails' in counted ? withoutCost(counted) : counted;
  // A cost goes with the counts that it was reported with.
  const isComplete = reportedCost !== undefined && counted === reported;
  const priced = isComplete ? undefined : costOf(endpoint, usage, estimate);
  const total = priced?.totalNanoUsd;
  const cost = reportedCost === undefined ? undefined : nanoFromUsd(reportedCost);
  const upstream = cost === undefined || total === undefined ? (cost ?? total) : Math.max(cost, total);
  const byok = endpoint.byok !== undefined;
  // Member by member: every answer comes by here, and a literal is slow where something follows a spread.
  const settled: Writable<Usage> = { ...(usage.server_tool_use === undefined ? usage : withSearchDetails(usage)) };
  if (counted !== reported) settled.estimated = true;
  settled.is_byok = byok;
  if (upstream === undefined) return { usage: settled };
  const charged = byok ? 0 : upstream;
  settled.cost = usdFromNano(charged);
  const split: Writable<CostDetails> = isJsonObject(reportedCostDetails) ? { ...reportedCostDetails } : splitOf(priced);
  split.upstream_inference_cost = usdFromNano(upstream);
  settled.cost_details = split;
  return { usage: settled, costNanoUsd: charged, costParts: priced?.parts };
}

/** US dollars that a provider would charge for an answer of this size; undefined without a price. */
export function estimateCost(endpoint: Endpoint, estimate: Estimate): number | undefined {
  const cost = costOf(endpoint, estimated(estimate), estimate);
  return cost && usdFromNano(cost.totalNanoUsd);
}

/** The report of an answer that was cut, or where more than that was likely generated, one of that much. */
function asGenerated(reported: ReportedUsage, { promptTokens, completionTokens }: Estimate): ReportedUsage {
  const prompt = Math.max(reported.prompt_tokens, promptTokens);
  const completion = Math.max(reported.completion_tokens, completionTokens);
  if (prompt === reported.prompt_tokens && completion === reported.completion_tokens) return reported;
  const counts = { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
  return { ...reported, ...counts };
}

function withoutCost({ reportedCost: _, reportedCostDetails: __, ...usage }: ReportedUsage): Usage {
  return usage;
}

/** A settlement that also has what calls may have cost which were given up for this one. */
export function withGivenUp(settlement: Settlement, lostUsd: number): Settlement {
  if (lostUsd <= 0) return settlement;
  const { usage } = settlement;
  return { ...settlement, usage: { ...usage, cost_details: { ...usage.cost_details, given_up_cost: lostUsd } } };
}

/** A provider's own searches count in both members that tell of them (gaps 5.4). */
function withSearchDetails<Report extends Usage>(usage: Report): Report {
  const searches = usage.server_tool_use?.web_search_requests;
  if (searches === undefined || usage.server_tool_use_details?.web_search_requests !== undefined) return usage;
  return { ...usage, server_tool_use_details: { ...usage.server_tool_use_details, web_search_requests: searches } };
}

function costOf(endpoint: Endpoint, usage: Usage, estimate: Estimate): Cost | undefined {
  if (endpoint.price === undefined) return undefined;
  const own = endpoint.variant === 'batch' ? 'batch' : endpoint.tier;
  const rates = ratesAt(endpoint.price, {
    at: estimate.at,
    promptTokens: usage.prompt_tokens,
    otherTier: billedTier(own, estimate.serviceTier),
  });
  return rates && priceUsage(rates, usage, { input: estimate.images, output: estimate.outputImages ?? 0 });
}

function splitOf(cost: Cost | undefined): CostDetails {
  if (cost === undefined) return {};
  const split: Writable<CostDetails> = {
    upstream_inference_prompt_cost: usdFromNano(cost.promptNanoUsd),
    upstream_inference_completions_cost: usdFromNano(cost.completionNanoUsd),
  };
  if (cost.toolsNanoUsd > 0) split.server_tool_cost = usdFromNano(cost.toolsNanoUsd);
  return split;
}

type Writable<Value> = { -readonly [Name in keyof Value]: Value[Name] };

function estimated({ promptTokens, completionTokens }: Estimate): ReportedUsage {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
  };
}

/**
 * What a failed call cost, in whole nano-dollars; undefined where its price is unknown. Providers charge for what they have generated, also where an answer
 * does not come to its end: the greater of what they reported and what was likely generated. A call that failed before
 * it said anything costs nothing; where the client disconnected, it is guessed what will be billed.
 */
export function spentOnFailed(
  answer: UnansweredCall,
  request: RoutedRequest,
  failed: AttemptFailure,
): number | undefined {
  return isCharged(answer, failed) ? settleUnanswered(answer, request).costNanoUsd : 0;
}

function isCharged({ call: { reported } }: UnansweredCall, { kind }: AttemptFailure): boolean {
  return reported.usage !== undefined || (reported.likelyTokens ?? 0) > 0 || ABANDONED.has(kind);
}

/** What the loser of a hedge may have cost, in US dollars; undefined for other calls, and without a price. */
export function lostOnHedge(made: UnansweredCall, request: RoutedRequest, failed: AttemptFailure): number | undefined {
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
export interface UnansweredCall {
  readonly endpoint: Endpoint;
  readonly call: { readonly reported: Reported };
  /** How its endpoint counts tokens, where that is known. */
  readonly tokens?: TokenCalibration | undefined;
}

/** What the cost of a call may depend on, as far as its provider has said it. */
export interface Reported {
  readonly usage: ReportedUsage | undefined;
  /** The tier in which the provider says it served. */
  readonly serviceTier?: string | null | undefined;
  readonly outputImages?: number | undefined;
  /** Tokens that the answer has likely had so far. */
  readonly likelyTokens?: number | undefined;
  /** True once everything in the answer has come to its end, so that its usage is that of all of it. */
  readonly isComplete?: boolean | undefined;
  /** What was said of the refusal that the answer is. */
  readonly refusal?: ModelRefusal | undefined;
}

/** How a call ended, as far as its cost depends on it. */
type BilledEnd =
  | { readonly facts: { readonly usage: Usage } }
  | { readonly failure: AttemptFailure; readonly kept?: Settlement | undefined };

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
export function chargedFor(made: UnansweredCall, request: RoutedRequest, end: BilledEnd): number | undefined {
  if ('failure' in end) {
    return end.kept === undefined ? spentOnFailed(made, request, end.failure) : end.kept.costNanoUsd;
  }
  const { cost } = end.facts.usage;
  return cost === undefined ? undefined : nanoFromUsd(cost);
}

/** Failures after which the provider may go on, and charges for it. */
export const ABANDONED: ReadonlySet<AttemptFailure['kind']> = new Set(['aborted', 'superseded']);

/** Usage of a call that failed and is charged for, although its caller may not pay for it. */
export function usageOfFailed(made: UnansweredCall, request: RoutedRequest, failed: AttemptFailure): Usage | undefined {
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
  readonly call: { readonly tracker: StreamTracker };
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
