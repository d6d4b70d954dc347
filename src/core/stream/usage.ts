/** Checks that reports of usage consist of counts, and joins them. */
import { isJsonObject } from '../../protocol/json.ts';
import * as read from '../../platform/json.ts';
import type { ReportedUsage } from '../../contracts/stream-piece.ts';

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

type Writable<Value> = { -readonly [Name in keyof Value]: Value[Name] };
