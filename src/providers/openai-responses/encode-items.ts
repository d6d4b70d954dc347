import { isJsonObject, type JsonObject, type JsonValue } from '../../protocol/json.ts';

/** Formats of encrypted reasoning that servers of this wire made themselves. */
const OWN_FORMATS: ReadonlySet<unknown> = new Set(['openai-responses-v1', 'azure-openai-responses-v1']);

/**
 * Input items as a server of this wire takes them. What other providers or this router put into earlier answers is
 * taken out: strict servers refuse members they do not know, and reasoning that they cannot find or read.
 *
 * @param extended - Whether the server knows the members that routers add.
 */
export function encodeItems(items: readonly JsonValue[], extended: boolean): readonly JsonValue[] {
  return items.filter(isJsonObject).flatMap((item) => encodeItem(item, extended));
}

function encodeItem(item: JsonObject, extended: boolean): readonly JsonObject[] {
  const { type } = item;
  if (typeof type === 'string' && /^(?:open)?router:/.test(type)) return [];
  // Made here: the server never ran this search, and what it found is in the text that follows.
  if (type === 'web_search_call' && item['tool_name'] != null) return [];
  if (type === 'reasoning') return extended ? [item] : encodeReasoning(item);
  if (type !== undefined && type !== 'message') return [item];
  const { annotations: _, ...message } = item;
  return [message];
}

/** Nothing is stored, so reasoning that is not there in full cannot be found. */
function encodeReasoning({ format, signature: _, ...item }: JsonObject): readonly JsonObject[] {
  if (item['encrypted_content'] == null) return [];
  return format == null || OWN_FORMATS.has(format) ? [item] : [];
}
