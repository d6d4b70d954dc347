/** Reads usage reports of the Messages API. */
import { isJsonObject, type JsonObject } from '../../protocol/json.ts';
import * as read from '../../platform/json.ts';
import type { ReportedUsage } from '../../contracts/stream-piece.ts';
import type { UsageIteration } from '../../protocol/usage.ts';

/**
 * Usage reports of one answer, put together. Reports in a stream are cumulative: what a later one names takes the place
 * of what was known, and what it leaves out or gives as null stays.
 */
export function mergeUsage(known: JsonObject | undefined, report: unknown): JsonObject | undefined {
  if (!isJsonObject(report)) return known;
  const named = Object.entries(report).filter(([, value]) => value != null);
  return { ...known, ...Object.fromEntries(named) };
}

/**
 * Reads a usage report, or gives undefined when it holds no counts. Its input tokens leave out what was read from or
 * written to the prompt cache; ours are all of the prompt, each token once.
 */
export function decodeMessagesUsage(
  usage: JsonObject | undefined,
  { detailedUsage }: { readonly detailedUsage: boolean },
): ReportedUsage | undefined {
  if (usage === undefined) return undefined;
  const parts = billedParts(usage);
  const sum = (name: string): number | undefined => sumOf(parts.map((part) => read.count(part[name])));
  const input = sum('input_tokens');
  const output = sum('output_tokens');
  if (input === undefined && output === undefined) return undefined;
  const cached = sum('cache_read_input_tokens');
  const written = sum('cache_creation_input_tokens');
  const prompt = (input ?? 0) + (cached ?? 0) + (written ?? 0);
  const completion = output ?? 0;
  const reasoning = read.count(read.object(usage['output_tokens_details'])['thinking_tokens']);
  const lifetimes = lifetimesOf(parts) ?? lifetimesOf([usage]);
  const served = servedTools(usage);
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    ...(cached === undefined && written === undefined
      ? {}
      : {
          prompt_tokens_details: {
            ...(cached === undefined ? {} : { cached_tokens: cached }),
            ...(written === undefined ? {} : { cache_write_tokens: written }),
          },
        }),
    ...(reasoning === undefined
      ? {}
      : { completion_tokens_details: { reasoning_tokens: Math.min(reasoning, completion) } }),
    ...(lifetimes === undefined ? {} : { cache_creation: lifetimes }),
    ...(served === undefined ? {} : { server_tool_use: served }),
    ...(detailedUsage ? asReported(usage) : {}),
  };
}

/** What a report says besides counts, as the provider names it (contract: batch resource). */
function asReported({ service_tier: tier, speed, iterations }: JsonObject): Partial<ReportedUsage> {
  const rounds = read.objects(iterations).filter(isIteration);
  return {
    ...(typeof tier === 'string' ? { service_tier: tier } : {}),
    ...(typeof speed === 'string' ? { speed } : {}),
    ...(rounds.length === 0 ? {} : { iterations: rounds }),
  };
}

function isIteration(round: JsonObject): round is JsonObject & UsageIteration {
  return typeof round['type'] === 'string';
}

/** The service tier that answered, as chat completions name it. */
export function decodeTier(usage: JsonObject | undefined): string | undefined {
  const tier = usage?.['service_tier'];
  if (typeof tier !== 'string' || tier === '') return undefined;
  return tier === 'standard' ? 'default' : tier;
}

/**
 * What the counts are added up from: the rounds of an answer that took several, without those of other models, or the
 * report itself.
 */
function billedParts(usage: JsonObject): readonly JsonObject[] {
  const { iterations } = usage;
  const rounds = read.objects(iterations);
  if (rounds.some(({ type }) => type === 'fallback_message')) return [usage];
  const own = rounds.filter(({ type }) => type === 'message' || type === 'compaction');
  return own.length > 0 ? own : [usage];
}

type Lifetimes = NonNullable<ReportedUsage['cache_creation']>;

/** Cache writes by how long they live, which differ in price. */
function lifetimesOf(parts: readonly JsonObject[]): Lifetimes | undefined {
  const created = parts.map((part) => read.object(part['cache_creation']));
  const minutes = sumOf(created.map((one) => read.count(one['ephemeral_5m_input_tokens'])));
  const hour = sumOf(created.map((one) => read.count(one['ephemeral_1h_input_tokens'])));
  if (minutes === undefined && hour === undefined) return undefined;
  return {
    ...(minutes === undefined ? {} : { ephemeral_5m_input_tokens: minutes }),
    ...(hour === undefined ? {} : { ephemeral_1h_input_tokens: hour }),
  };
}

function servedTools(usage: JsonObject): ReportedUsage['server_tool_use'] {
  const { web_search_requests: searches, web_fetch_requests: fetches } = read.object(usage['server_tool_use']);
  const [searched, fetched] = [read.count(searches), read.count(fetches)];
  if (searched === undefined && fetched === undefined) return undefined;
  return {
    ...(searched === undefined ? {} : { web_search_requests: searched }),
    ...(fetched === undefined ? {} : { web_fetch_requests: fetched }),
  };
}

function sumOf(counts: readonly (number | undefined)[]): number | undefined {
  const known = counts.filter((one) => one !== undefined);
  return known.length === 0 ? undefined : known.reduce((sum, one) => sum + one, 0);
}
