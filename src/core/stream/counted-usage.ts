import { isJsonObject } from '../../protocol/json.ts';
import type { ReportedUsage } from './pieces.ts';
import * as read from '../../platform/json.ts';

/** Members of a usage report whose own members are counts. */
const GROUPS = ['prompt_tokens_details', 'completion_tokens_details', 'cache_creation', 'server_tool_use'] as const;

/**
 * Whether a usage report consists of counts. Adapters come from anybody, and what they report is added up, priced,
 * charged to budgets and stored: one NaN would spoil all of it.
 */
export function isCounted(usage: ReportedUsage | undefined): boolean {
  if (!isJsonObject(usage)) return false;
  const { prompt_tokens: prompt, completion_tokens: completion, total_tokens: total, reportedCost: cost } = usage;
  if (!isCount(prompt) || !isCount(completion) || !isCount(total)) return false;
  return (cost === undefined || read.usd(cost) !== undefined) && GROUPS.every((group) => hasCounts(usage[group]));
}

/** An answer without a usage report that does not consist of counts. */
export function withCountedUsage<Answer extends { readonly usage?: ReportedUsage | undefined }>(
  answer: Answer,
): Answer {
  return answer.usage === undefined || isCounted(answer.usage) ? answer : { ...answer, usage: undefined };
}

function isCount(value: unknown): boolean {
  return value !== undefined && value === read.count(value);
}

function hasCounts(group: unknown): boolean {
  if (group == null) return true;
  if (!isJsonObject(group)) return false;
  for (const name in group) if (group[name] != null && !isCount(group[name])) return false;
  return true;
}
