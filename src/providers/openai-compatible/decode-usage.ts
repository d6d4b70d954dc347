import type { ReportedUsage } from '../../core/stream/pieces.ts';
import { isJsonObject, type JsonObject } from '../../protocol/json.ts';
import type { Dialect } from './dialect.ts';
import * as read from '../../platform/json.ts';

/** Usage is at the top of a chunk or answer, in Groq's extension, or inside a choice. */
export function findUsage(body: JsonObject, choices: readonly unknown[]): unknown {
  if (body['usage'] != null) return body['usage'];
  const groq = body['x_groq'];
  if (isJsonObject(groq) && groq['usage'] != null) return groq['usage'];
  const [first] = choices;
  return isJsonObject(first) ? first['usage'] : undefined;
}

/**
 * Reads a usage object of any server of this wire, or undefined when it holds no counts. What a server does not
 * report stays absent.
 */
export function decodeUsage(value: unknown, dialect: Dialect): ReportedUsage | undefined {
  if (!isJsonObject(value)) return undefined;
  const prompt = read.count(value['prompt_tokens']);
  const reported = read.count(value['completion_tokens']);
  if (prompt === undefined && reported === undefined) return undefined;
  const completion = withReasoning(value, prompt ?? 0, reported ?? 0, dialect);
  const usage: Writable<ReportedUsage> = {
    prompt_tokens: prompt ?? 0,
    completion_tokens: completion,
    total_tokens: (prompt ?? 0) + completion,
  };
  const promptCounts = promptDetails(value, prompt ?? 0);
  if (promptCounts !== undefined) usage.prompt_tokens_details = promptCounts;
  const completionCounts = completionDetails(value, completion);
  if (completionCounts !== undefined) usage.completion_tokens_details = completionCounts;
  const { cost_details: costDetails, server_tool_use: tools } = value;
  const cost = read.usd(value['cost']);
  if (cost !== undefined) usage.reportedCost = cost;
  if (isJsonObject(costDetails)) usage.reportedCostDetails = costDetails;
  if (isJsonObject(tools)) usage.server_tool_use = countsOf(tools) ?? {};
  return usage;
}

/** A value whose members are still being written. */
export type Writable<Value> = { -readonly [Name in keyof Value]: Value[Name] };

/**
 * Some servers count reasoning beside the completion although it costs the same; the total gives them away, also
 * where they do not say how much of it was reasoning.
 */
function withReasoning(usage: JsonObject, prompt: number, completion: number, dialect: Dialect): number {
  if (dialect.reasoningOutsideCompletion !== true) return completion;
  const total = read.count(usage['total_tokens']);
  if (total === undefined) return completion;
  const reasoning = read.count(read.object(usage['completion_tokens_details'])['reasoning_tokens']);
  const beside = total - prompt - completion;
  return beside > 0 && (reasoning === undefined || reasoning === beside) ? completion + beside : completion;
}

function promptDetails(usage: JsonObject, prompt: number): ReportedUsage['prompt_tokens_details'] {
  const counts = countsOf(usage['prompt_tokens_details']);
  const cached =
    counts?.['cached_tokens'] ?? read.count(usage['prompt_cache_hit_tokens']) ?? read.count(usage['cached_tokens']);
  return cached === undefined ? counts : { ...counts, cached_tokens: Math.min(cached, prompt) };
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
