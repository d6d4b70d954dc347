/** Reads usage and finish reasons of the AI SDK, in all its versions. */
import { endWord } from '../../core/stream/pieces.ts';
import { isJsonObject, type JsonObject } from '../../protocol/json.ts';
import type { AiSdkFamily } from './families.ts';
import type { FinishReason } from '../../protocol/chat-result.ts';
import { decodeUsage as decodeChatUsage } from '../openai-compatible/decode-usage.ts';
import { mapFinishReason } from '../openai-compatible/decode-result.ts';
import * as read from '../../platform/json.ts';
import type { ReportedUsage } from '../../contracts/stream-piece.ts';

/** Token counts as a provider reported them; what it did not report is undefined, never zero. */
interface Counts {
  readonly prompt: number | undefined;
  readonly completion: number | undefined;
  readonly cached: number | undefined;
  readonly written: number | undefined;
  readonly reasoning: number | undefined;
}

/**
 * Reads usage in the form of any version: nested totals in 3 and 4, flat numbers in 2. Undefined when nothing was
 * counted. Cached tokens are part of the prompt and reasoning tokens part of the completion, each once; the provider's
 * own report beside it adds what the interface has no names for.
 */
export function decodeSdkUsage(usage: unknown, family: AiSdkFamily, metadata: unknown): ReportedUsage | undefined {
  if (!isJsonObject(usage)) return undefined;
  const counts = isJsonObject(usage['inputTokens']) ? nestedCounts(usage) : flatCounts(usage, family, metadata);
  const { prompt, completion, cached, written, reasoning } = counts;
  if (prompt === undefined && completion === undefined) return undefined;
  const raw = read.object(usage['raw']);
  const cost = read.usd(raw['cost']);
  const promptDetails = {
    ...details(raw['prompt_tokens_details'], ['audio_tokens', 'image_tokens', 'video_tokens', 'file_tokens']),
    ...(cached === undefined ? {} : { cached_tokens: Math.min(cached, prompt ?? cached) }),
    ...(written === undefined ? {} : { cache_write_tokens: written }),
  };
  const completionDetails = {
    ...details(raw['completion_tokens_details'], COMPLETION_DETAILS),
    ...(reasoning === undefined ? {} : { reasoning_tokens: Math.min(reasoning, completion ?? reasoning) }),
  };
  return {
    prompt_tokens: prompt ?? 0,
    completion_tokens: completion ?? 0,
    total_tokens: (prompt ?? 0) + (completion ?? 0),
    ...(Object.keys(promptDetails).length > 0 ? { prompt_tokens_details: promptDetails } : {}),
    ...(Object.keys(completionDetails).length > 0 ? { completion_tokens_details: completionDetails } : {}),
    ...group('cache_creation', raw, ['ephemeral_5m_input_tokens', 'ephemeral_1h_input_tokens']),
    ...group('server_tool_use', raw, ['web_search_requests', 'web_fetch_requests']),
    ...(cost === undefined ? {} : { reportedCost: cost }),
  };
}

const COMPLETION_DETAILS = [
  'audio_tokens',
  'image_tokens',
  'accepted_prediction_tokens',
  'rejected_prediction_tokens',
] as const;

/** What the interface has no names for, or the provider's package did not look for, is in the provider's own report. */
function nestedCounts(usage: JsonObject): Counts {
  const input = read.object(usage['inputTokens']);
  const output = read.object(usage['outputTokens']);
  const own = decodeChatUsage(usage['raw'], {});
  const cached = most(read.count(input['cacheRead']), own?.prompt_tokens_details?.cached_tokens);
  const written = most(read.count(input['cacheWrite']), own?.prompt_tokens_details?.cache_write_tokens);
  const reasoning = most(read.count(output['reasoning']), own?.completion_tokens_details?.reasoning_tokens);
  return {
    prompt: most(read.count(input['total']) ?? sum(read.count(input['noCache']), cached, written), own?.prompt_tokens),
    completion: most(read.count(output['total']) ?? sum(read.count(output['text']), reasoning), own?.completion_tokens),
    cached,
    written,
    reasoning,
  };
}

/** The larger of two counts of the same tokens. */
function most(one: number | undefined, other: number | null | undefined): number | undefined {
  return other == null || (one !== undefined && one >= other) ? one : other;
}

/** Providers of version 2 differ in what their input and output tokens include. */
function flatCounts(usage: JsonObject, family: AiSdkFamily, metadata: unknown): Counts {
  const input = read.count(usage['inputTokens']);
  const output = read.count(usage['outputTokens']);
  const cached = read.count(usage['cachedInputTokens']);
  const reasoning = read.count(usage['reasoningTokens']);
  const written = writtenTokens(metadata);
  const outside = family.cacheOutsideInput === true && input !== undefined;
  const total = read.count(usage['totalTokens']);
  // The total gives away reasoning that was counted beside the output.
  const beside = reasoning !== undefined && total !== undefined && total === (input ?? 0) + (output ?? 0) + reasoning;
  return {
    prompt: outside ? sum(input, cached, written) : input,
    completion: beside ? sum(output, reasoning) : output,
    cached,
    written,
    reasoning,
  };
}

/** Tokens that were written to a cache, which version 2 only tells in the provider's own words. */
function writtenTokens(metadata: unknown): number | undefined {
  for (const members of Object.values(read.object(metadata))) {
    const own = read.object(members);
    const found =
      read.count(own['cacheCreationInputTokens']) ?? read.count(read.object(own['usage'])['cacheWriteInputTokens']);
    if (found !== undefined) return found;
  }
  return undefined;
}

function details<Name extends string>(value: unknown, names: readonly Name[]): Partial<Record<Name, number>> {
  const counts: Partial<Record<Name, number>> = {};
  for (const name of names) {
    const number = read.count(read.object(value)[name]);
    if (number !== undefined) counts[name] = number;
  }
  return counts;
}

function group<Group extends string, Name extends string>(
  name: Group,
  raw: JsonObject,
  members: readonly Name[],
): Partial<Record<Group, Partial<Record<Name, number>>>> {
  const counts = details(raw[name], members);
  return Object.keys(counts).length > 0 ? ({ [name]: counts } as Record<Group, Partial<Record<Name, number>>>) : {};
}

/** The sum of what is known; undefined when nothing is. */
function sum(...parts: readonly (number | undefined)[]): number | undefined {
  const known = parts.filter((part) => part !== undefined);
  return known.length === 0 ? undefined : known.reduce((total, part) => total + part, 0);
}

/** How an answer ended: well, with an error, or without anybody saying how. */
type AnswerEnd =
  | { readonly type: 'finish'; readonly reason: FinishReason; readonly native: string | null }
  | { readonly type: 'broken' };

/** What is known about an answer when its end is judged. */
interface AnswerSoFar {
  /** Something was said or called. */
  readonly hasContent: boolean;
  readonly hasToolCalls: boolean;
  /** The answer came in pieces, so that it can have been cut off. */
  readonly streamed: boolean;
}

const KNOWN: Readonly<Record<string, FinishReason>> = {
  stop: 'stop',
  length: 'length',
  'content-filter': 'content_filter',
  'tool-calls': 'tool_calls',
  error: 'error',
};

/**
 * Reads a finish reason: a word in version 2, a word and the provider's own in 3 and 4. Where the interface has no word
 * the provider's own counts, and an unknown one is a normal end as long as something was said. A stream whose provider
 * never gave a reason was cut off. Tool calls that the caller does not see are none of its business, so `tool-calls`
 * without any is a normal end, and a normal end with some is not.
 */
export function readFinishReason(value: unknown, { hasContent, hasToolCalls, streamed }: AnswerSoFar): AnswerEnd {
  const { unified, raw } = isJsonObject(value) ? value : { unified: value, raw: value };
  const word = read.text(unified) ?? '';
  const native = endWord(raw) ?? (word || null);
  if (word === 'interrupted' || (streamed && word === 'other' && endWord(raw) === undefined)) return { type: 'broken' };
  const known = KNOWN[word] ?? mapFinishReason(native ?? '');
  if (KNOWN[word] === undefined && known === 'stop' && !hasContent) return { type: 'finish', reason: 'error', native };
  const ended = known === 'stop' || known === 'tool_calls';
  return { type: 'finish', reason: ended ? (hasToolCalls ? 'tool_calls' : 'stop') : known, native };
}
