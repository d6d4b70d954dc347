/** How providers are asked why a prompt was not in their caches, and what they answer. */
import type { NormalizedRequest } from '../contracts/request.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../protocol/json.ts';
import * as read from '../platform/json.ts';

/** The word for an earlier prompt that differs in nothing from this one. */
const UNCHANGED = 'unchanged';
/** Words of providers, which become labels of metrics: nothing else of what they say is passed on. */
const WORD = /^[a-z][a-z_]{0,39}$/;
/** Words for a comparison that was not made. */
const NOT_COMPARED: ReadonlySet<unknown> = new Set(['previous_message_not_found', 'unavailable']);

/** A body of the Messages API that asks for the comparison, unless its caller has asked for one. */
export function comparingMessages<Body extends object>(body: Body, { cache }: Pick<NormalizedRequest, 'cache'>): Body {
  const { compareWith } = cache;
  return compareWith === undefined || 'diagnostics' in body
    ? body
    : { ...body, diagnostics: { previous_message_id: compareWith } };
}

/**
 * Anthropic's word for why a prompt was not in its cache; undefined where nothing was compared, or not yet.
 *
 * @param compareWith - With what it was to be compared.
 */
export function causeInMessage(
  { diagnostics }: JsonObject,
  compareWith: string | null | undefined,
): string | undefined {
  if (compareWith == null || diagnostics === undefined) return undefined;
  if (diagnostics === null) return UNCHANGED;
  const { type } = read.object(read.object(diagnostics)['cache_miss_reason']);
  return NOT_COMPARED.has(type) ? undefined : wordOf(type);
}

/** A message without an answer that its caller did not ask for. */
export function withoutDiagnostics(message: JsonObject): JsonObject {
  return { ...message, diagnostics: null };
}

/** A body of the Responses API that asks for the comparison, unless its caller has asked for one. */
export function comparingResponses<Body extends Readonly<Record<string, unknown>>>(
  body: Body,
  { cache }: Pick<NormalizedRequest, 'cache'>,
): Body {
  if (!asksResponses(cache.compareWith)) return body;
  const options = read.object(body['prompt_cache_options']);
  return 'comparison_response_id' in options
    ? body
    : { ...body, prompt_cache_options: { ...options, comparison_response_id: cache.compareWith } };
}

/** Only answers of the same API can be compared with. */
function asksResponses(compareWith: string | null | undefined): compareWith is string {
  return compareWith?.startsWith('resp_') === true;
}

/** OpenAI's word for why a prompt was not in its cache; undefined where nothing was compared. */
export function causeInResponse({ prompt_cache_diagnostics: diagnostics }: JsonObject): string | undefined {
  const { type, reason } = read.object(diagnostics);
  if (type === 'cache_hit') return UNCHANGED;
  return type === 'cache_miss' ? wordOf(reason) : undefined;
}

/** A response without an answer that its caller did not ask for. */
export function withoutComparison({ prompt_cache_diagnostics: _, ...response }: JsonObject): JsonObject {
  const { prompt_cache_options: options } = response;
  if (!isJsonObject(options)) return response;
  const { comparison_response_id: __, ...own } = options;
  return { ...response, prompt_cache_options: own };
}

function wordOf(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' && WORD.test(value) ? value : undefined;
}
