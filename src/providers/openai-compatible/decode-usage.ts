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
  const reasoning = read.count(read.object(value['completion_tokens_details'])['reasoning_tokens']);
  const completion = withReasoning(prompt ?? 0, reported ?? 0, reasoning, read.count(value['total_tokens']), dialect);
  return {
    prompt_tokens: prompt ?? 0,
    completion_tokens: completion,
    total_tokens: (prompt ?? 0) + completion,
    ...promptDetails(value, prompt ?? 0),
    ...completionDetails(value, completion),
    ...(typeof value['cost'] === 'number' && value['cost'] >= 0 ? { reportedCost: value['cost'] } : {}),
    ...(isJsonObject(value['cost_details']) ? { reportedCostDetails: value['cost_details'] } : {}),
    ...(isJsonObject(value['server_tool_use']) ? { server_tool_use: countsOf(value['server_tool_use']) } : {}),
  };
}

/**
 * Some servers count reasoning beside the completion although it costs the same; the total gives them away, also
 * where they do not say how much of it was reasoning.
 */
function withReasoning(
  prompt: number,
  completion: number,
  reasoning: number | undefined,
  total: number | undefined,
  dialect: Dialect,
): number {
  if (dialect.reasoningOutsideCompletion !== true || total === undefined) return completion;
  const beside = total - prompt - completion;
  return beside > 0 && (reasoning === undefined || reasoning === beside) ? completion + beside : completion;
}

function promptDetails(usage: JsonObject, prompt: number): Pick<ReportedUsage, 'prompt_tokens_details'> {
  const details = read.object(usage['prompt_tokens_details']);
  const cached =
    read.count(details['cached_tokens']) ??
    read.count(usage['prompt_cache_hit_tokens']) ??
    read.count(usage['cached_tokens']);
  const known = countsOf(details);
  const counts = { ...known, ...(cached === undefined ? {} : { cached_tokens: Math.min(cached, prompt) }) };
  return Object.keys(counts).length > 0 ? { prompt_tokens_details: counts } : {};
}

function completionDetails(usage: JsonObject, completion: number): Pick<ReportedUsage, 'completion_tokens_details'> {
  const counts = countsOf(read.object(usage['completion_tokens_details']));
  if (counts['reasoning_tokens'] !== undefined) {
    counts['reasoning_tokens'] = Math.min(counts['reasoning_tokens'], completion);
  }
  return Object.keys(counts).length > 0 ? { completion_tokens_details: counts } : {};
}

/** The members that are proper counts. */
function countsOf(details: JsonObject): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const [name, value] of Object.entries(details)) {
    const number = read.count(value);
    if (number !== undefined && name !== '__proto__') counts[name] = number;
  }
  return counts;
}
