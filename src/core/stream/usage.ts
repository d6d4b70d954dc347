/** Settles what an answer used and what it costs; checks that reports of it consist of counts, and joins them. */
import type { Endpoint } from '../../catalog/endpoint.ts';
import { type Cost, type CostPart, nanoFromUsd, priceUsage, usdFromNano } from '../../catalog/cost.ts';
import { billedTier, ratesAt } from '../../catalog/price-at.ts';
import { isJsonObject } from '../../protocol/json.ts';
import * as read from '../../platform/json.ts';
import type { ReportedUsage } from '../../contracts/stream-piece.ts';
import type { CostDetails, Usage } from '../../protocol/usage.ts';

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
  const cut = reported === undefined || estimate.isCut !== true ? reported : asGenerated(reported, estimate);
  const counted = cut ?? estimated(estimate);
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
export function withGivenUp(settlement: Settlement, givenUpUsd: number): Settlement {
  if (givenUpUsd <= 0) return settlement;
  const { usage } = settlement;
  return { ...settlement, usage: { ...usage, cost_details: { ...usage.cost_details, given_up_cost: givenUpUsd } } };
}

/** A provider's own searches count in both members that tell of them (gaps 5.4). */
function withSearchDetails<Counted extends Usage>(usage: Counted): Counted {
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

/** Members of a usage report whose own members are counts. */
const GROUPS = ['prompt_tokens_details', 'completion_tokens_details', 'cache_creation', 'server_tool_use'] as const;

/**
 * Whether a usage report consists of counts. Adapters come from anybody, and what they report is added up, priced,
 * charged to budgets and stored: one NaN would spoil all of it. A report of nothing but zeros counts nothing: no prompt
 * has no tokens.
 */
export function isCounted(usage: ReportedUsage | undefined): boolean {
  if (!isJsonObject(usage)) return false;
  const { prompt_tokens: prompt, completion_tokens: completion, total_tokens: total, reportedCost: cost } = usage;
  if (!isCount(prompt) || !isCount(completion) || !isCount(total)) return false;
  if (prompt + completion + total === 0 && cost === undefined) return false;
  if (cost !== undefined && read.usd(cost) === undefined) return false;
  for (const group of GROUPS) if (usage[group] != null && !hasCounts(usage[group])) return false;
  return true;
}

/** An answer without a usage report that does not consist of counts. */
export function withCountedUsage<Answer extends { readonly usage?: ReportedUsage | undefined }>(
  answer: Answer,
): Answer {
  return answer.usage === undefined || isCounted(answer.usage) ? answer : { ...answer, usage: undefined };
}

/**
 * Two reports of one answer as one. Reports are cumulative, so no count is ever less than it was before: some servers
 * send zeros, or leave out, what they have counted already.
 */
export function moreUsage(known: ReportedUsage | undefined, report: ReportedUsage): ReportedUsage {
  if (known === undefined) return report;
  const more: Writable<ReportedUsage> = larger(known, report);
  for (const group of GROUPS) {
    const [before, after] = [known[group], report[group]];
    if (before != null && after != null) Object.assign(more, { [group]: larger(before, after) });
  }
  more.total_tokens = Math.max(more.total_tokens, more.prompt_tokens + more.completion_tokens);
  return more;
}

/** The members of both: of a number in both the larger, of anything else what was said last. */
function larger<Counts extends object>(known: Counts, report: Counts): Counts {
  const all: Record<string, unknown> = { ...(known as Readonly<Record<string, unknown>>) };
  for (const [name, value] of Object.entries(report)) {
    const before = all[name];
    if (value == null || (typeof before === 'number' && typeof value === 'number' && before > value)) continue;
    all[name] = value;
  }
  return all as Counts;
}

function isCount(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) <= read.MOST_COUNTED;
}

function hasCounts(group: unknown): boolean {
  if (!isJsonObject(group)) return false;
  for (const name in group) if (group[name] != null && !isCount(group[name])) return false;
  return true;
}
