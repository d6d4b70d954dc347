/** Reads usage reports of chat completions, wherever servers put them. */
import type { ReportedUsageNames } from '../../core/accepts.ts';
import { isJsonObject, type JsonObject } from '../../protocol/json.ts';
import { CACHED_TOKENS, CACHE_WRITE_TOKENS } from '../accepts/usual.ts';
import type { VendorQuirks } from './vendor-quirks.ts';
import * as read from '../../platform/json.ts';
import type { ReportedUsage } from '../../contracts/stream-piece.ts';

/**
 * Reads a usage object of any server of this wire, or undefined when it holds no counts. What a server does not
 * report stays absent.
 *
 * @param names - What the server calls cached tokens. Default: every name that is in use.
 */
export function decodeUsage(
  value: unknown,
  quirks: VendorQuirks,
  names: UsageNames = USUAL_NAMES,
): ReportedUsage | undefined {
  if (!isJsonObject(value)) return undefined;
  const prompt = read.count(value['prompt_tokens']);
  const reported = read.count(value['completion_tokens']);
  if (prompt === undefined && reported === undefined) return undefined;
  const { details, outside } = promptDetails(value, prompt ?? 0, names);
  const whole = (prompt ?? 0) + outside;
  const completion = withReasoning(value, whole, reported ?? 0, quirks);
  const usage: Writable<ReportedUsage> = {
    prompt_tokens: whole,
    completion_tokens: completion,
    total_tokens: whole + completion,
  };
  if (details !== undefined) usage.prompt_tokens_details = details;
  const completionCounts = completionDetails(value, completion);
  if (completionCounts !== undefined) usage.completion_tokens_details = completionCounts;
  const { cost_details: costDetails, server_tool_use: tools } = value;
  const cost = read.usd(value['cost']);
  if (cost !== undefined) usage.reportedCost = cost;
  if (isJsonObject(costDetails)) usage.reportedCostDetails = costDetails;
  if (isJsonObject(tools)) usage.server_tool_use = countsOf(tools) ?? {};
  return usage;
}

/** What a server calls cached tokens. */
type UsageNames = Pick<ReportedUsageNames, 'cachedTokens' | 'cacheWriteTokens'>;

const USUAL_NAMES: UsageNames = { cachedTokens: CACHED_TOKENS, cacheWriteTokens: CACHE_WRITE_TOKENS };

/** A value whose members are still being written. */
export type Writable<Value> = { -readonly [Name in keyof Value]: Value[Name] };

/**
 * Some servers count reasoning beside the completion although it costs the same; the total gives them away. Of a server
 * that is known for it, the total also says how much it was where nothing else does.
 */
function withReasoning(usage: JsonObject, prompt: number, completion: number, quirks: VendorQuirks): number {
  const total = read.count(usage['total_tokens']);
  if (total === undefined) return completion;
  const reasoning = read.count(read.object(usage['completion_tokens_details'])['reasoning_tokens']);
  const beside = total - prompt - completion;
  const known = reasoning === undefined ? quirks.reasoningOutsideCompletion === true : reasoning === beside;
  return beside > 0 && known ? completion + beside : completion;
}

/** The counts of a prompt's parts, and of its tokens that the server does not count as such. */
interface PromptCounts {
  readonly details: ReportedUsage['prompt_tokens_details'];
  readonly outside: number;
}

function promptDetails(usage: JsonObject, prompt: number, names: UsageNames): PromptCounts {
  const counts = countsOf(usage['prompt_tokens_details']);
  const cached = largest(names.cachedTokens, counts, usage);
  const written = largest(names.cacheWriteTokens, counts, usage);
  if (cached === undefined && written === undefined) return { details: counts, outside: 0 };
  const outside = outsidePrompt(usage, prompt);
  const details = {
    ...counts,
    ...(cached === undefined ? {} : { cached_tokens: Math.min(cached, prompt + outside) }),
    ...(written === undefined ? {} : { cache_write_tokens: Math.min(written, prompt + outside) }),
  };
  return { details, outside };
}

/** The largest count under any of the names: servers that know several give zeros for those they do not mean. */
function largest(
  names: readonly string[],
  counts: Readonly<Record<string, number>> | undefined,
  usage: JsonObject,
): number | undefined {
  let found: number | undefined;
  for (const name of names) {
    for (const count of [counts?.[name], read.count(usage[name])]) {
      if (count !== undefined && count >= (found ?? 0)) found = count;
    }
  }
  return found;
}

/** Servers in front of Anthropic's may count as it does, where the prompt is what the cache left: the total says so. */
function outsidePrompt(usage: JsonObject, prompt: number): number {
  const cache =
    (read.count(usage['cache_read_input_tokens']) ?? 0) + (read.count(usage['cache_creation_input_tokens']) ?? 0);
  if (cache === 0) return 0;
  const [completion, total] = [read.count(usage['completion_tokens']) ?? 0, read.count(usage['total_tokens'])];
  return total === prompt + completion + cache ? cache : 0;
}

function completionDetails(usage: JsonObject, completion: number): ReportedUsage['completion_tokens_details'] {
  const counts = countsOf(usage['completion_tokens_details']);
  const reasoning = counts?.['reasoning_tokens'];
  return reasoning === undefined ? counts : { ...counts, reasoning_tokens: Math.min(reasoning, completion) };
}

/** The members that are proper counts; undefined where there is none. */
function countsOf(details: unknown): Readonly<Record<string, number>> | undefined {
  if (!isJsonObject(details)) return undefined;
  let counts: Record<string, number> | undefined;
  for (const [name, value] of Object.entries(details)) {
    const number = read.count(value);
    if (number !== undefined && name !== '__proto__') (counts ??= {})[name] = number;
  }
  return counts;
}
