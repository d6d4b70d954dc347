import type { NormalizedRequest } from '../../core/normalize/normalized-request.ts';
import { type JsonObject, type JsonValue, isJsonObject } from '../../protocol/json.ts';
import { EncodeError } from '../encode-error.ts';
import type { SearchToolDefinition } from './blocks.ts';

/**
 * Anthropic's own search, which is what `web_search_options` ask for; undefined when they do not. How much context a
 * search brings is the model's decision here.
 *
 * @throws {@link EncodeError} when a function of the caller has the name of the search.
 */
export function encodeSearch({ parameters, tools }: NormalizedRequest): SearchToolDefinition | undefined {
  const { web_search_options: options } = parameters;
  if (options === undefined) return undefined;
  if (tools.some((tool) => tool.function.name === 'web_search')) {
    throw new EncodeError('A function named web_search cannot stand beside the search of the provider');
  }
  const { user_location: location, max_uses: maxUses } = options;
  const [allowed, blocked] = [textsOf(options['allowed_domains']), textsOf(options['blocked_domains'])];
  return {
    type: 'web_search_20250305',
    name: 'web_search',
    ...(typeof maxUses === 'number' ? { max_uses: maxUses } : {}),
    ...(allowed.length > 0 ? { allowed_domains: allowed } : {}),
    ...(blocked.length > 0 ? { blocked_domains: blocked } : {}),
    ...(isJsonObject(location) ? { user_location: flat(location) } : {}),
  };
}

function flat({ approximate, ...rest }: JsonObject): JsonObject {
  return { ...rest, ...(isJsonObject(approximate) ? approximate : {}), type: 'approximate' };
}

function textsOf(value: JsonValue | undefined): readonly string[] {
  return Array.isArray(value) ? value.filter((one: JsonValue) => typeof one === 'string') : [];
}
