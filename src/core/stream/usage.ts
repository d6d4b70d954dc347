import type { Endpoint } from '../../catalog/endpoint.ts';
import { nanoFromUsd, priceUsage, usdFromNano } from '../../catalog/cost.ts';
import { isJsonObject } from '../../protocol/json.ts';
import type { CostDetails, Usage } from '../../protocol/usage.ts';
import type { ReportedUsage } from './pieces.ts';

/** What an answer used and cost, and in whole nano-dollars what is charged for it. */
export interface Settlement {
  readonly usage: Usage;
  /** Undefined when neither the provider reported a cost nor a price is known. */
  readonly costNanoUsd?: number | undefined;
}

/** Where the numbers come from when a provider reported none. */
export interface Estimate {
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly images: number;
}

/**
 * Prices a usage report for the caller (gaps 4.7, 6.2). A cost that the provider reports wins over one we compute; an
 * account that paid with its own key is charged nothing here, and what its provider charges stands in the details.
 */
export function settleUsage(endpoint: Endpoint, reported: ReportedUsage | undefined, estimate: Estimate): Settlement {
  const counted = reported ?? estimated(estimate);
  const { reportedCost, reportedCostDetails, ...usage } = counted;
  const priced = endpoint.price && priceUsage(endpoint.price, usage, estimate.images);
  const upstream = reportedCost === undefined ? priced?.totalNanoUsd : nanoFromUsd(reportedCost);
  const byok = endpoint.byok !== undefined;
  const base = { ...usage, ...(reported === undefined ? { estimated: true } : {}), is_byok: byok };
  if (upstream === undefined) return { usage: base };
  const charged = byok ? 0 : upstream;
  const split: CostDetails = isJsonObject(reportedCostDetails)
    ? reportedCostDetails
    : reportedCost === undefined && priced !== undefined
      ? {
          upstream_inference_prompt_cost: usdFromNano(priced.promptNanoUsd),
          upstream_inference_completions_cost: usdFromNano(priced.completionNanoUsd),
        }
      : {};
  return {
    usage: {
      ...base,
      cost: usdFromNano(charged),
      cost_details: { ...split, upstream_inference_cost: usdFromNano(upstream) },
    },
    costNanoUsd: charged,
  };
}

function estimated({ promptTokens, completionTokens }: Estimate): ReportedUsage {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
  };
}
