import type { ReportedUsage } from '../../core/stream/pieces.ts';
import { isJsonObject, type JsonObject } from '../../protocol/json.ts';

type Counts = Readonly<Record<string, number>>;
type Names = Readonly<Record<string, string>>;

/** Our names of the modalities in a prompt; text is what is left. */
const PROMPT_NAMES: Names = {
  AUDIO: 'audio_tokens',
  VIDEO: 'video_tokens',
  IMAGE: 'image_tokens',
  DOCUMENT: 'file_tokens',
};
/** Our names of the modalities in an answer. */
const ANSWER_NAMES: Names = { AUDIO: 'audio_tokens', IMAGE: 'image_tokens' };

/**
 * Reads `usageMetadata`, or undefined when it holds no counts. Thoughts are not among Google's candidate tokens but
 * among our completion tokens; what a tool of Google's own put into the prompt is part of ours.
 *
 * @param searches - Queries that Google's own search answered.
 */
export function decodeUsage(value: unknown, searches: number): ReportedUsage | undefined {
  if (!isJsonObject(value)) return undefined;
  const prompt = count(value['promptTokenCount']);
  const answer = count(value['candidatesTokenCount']);
  const thoughts = count(value['thoughtsTokenCount']);
  if (prompt === undefined && answer === undefined && thoughts === undefined) return undefined;
  const promptTokens = (prompt ?? 0) + (count(value['toolUsePromptTokenCount']) ?? 0);
  const completionTokens = (answer ?? 0) + (thoughts ?? 0);
  const promptDetails = promptParts(value, promptTokens);
  const completionDetails = {
    ...(thoughts === undefined ? {} : { reasoning_tokens: thoughts }),
    ...named(byModality(value['candidatesTokensDetails']), ANSWER_NAMES),
  };
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    ...(Object.keys(promptDetails).length > 0 ? { prompt_tokens_details: promptDetails } : {}),
    ...(Object.keys(completionDetails).length > 0 ? { completion_tokens_details: completionDetails } : {}),
    ...(searches > 0 ? { server_tool_use: { web_search_requests: searches } } : {}),
  };
}

/** Every token of the prompt counts in one part only, so cached sound is cached and not sound. */
function promptParts(usage: JsonObject, promptTokens: number): Counts {
  const cached = count(usage['cachedContentTokenCount']);
  const fromCache = byModality(usage['cacheTokensDetails']);
  const modalities = byModality(usage['promptTokensDetails']);
  for (const [modality, tokens] of byModality(usage['toolUsePromptTokensDetails'])) {
    modalities.set(modality, (modalities.get(modality) ?? 0) + tokens);
  }
  for (const [modality, tokens] of fromCache) {
    const all = modalities.get(modality);
    if (all !== undefined) modalities.set(modality, Math.max(0, all - tokens));
  }
  return {
    ...(cached === undefined ? {} : { cached_tokens: Math.min(cached, promptTokens) }),
    ...named(modalities, PROMPT_NAMES),
  };
}

function named(modalities: ReadonlyMap<string, number>, names: Names): Counts {
  const counts: Record<string, number> = {};
  for (const [modality, tokens] of modalities) {
    const name = Object.hasOwn(names, modality) ? names[modality] : undefined;
    if (name !== undefined) counts[name] = tokens;
  }
  return counts;
}

function byModality(details: unknown): Map<string, number> {
  const tokens = new Map<string, number>();
  for (const detail of Array.isArray(details) ? details : []) {
    if (!isJsonObject(detail) || typeof detail['modality'] !== 'string') continue;
    const { modality } = detail;
    tokens.set(modality, (tokens.get(modality) ?? 0) + (count(detail['tokenCount']) ?? 0));
  }
  return tokens;
}

/** A whole number that can be a count; nonsense is nothing. */
function count(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER ? Math.round(value) : undefined;
}
