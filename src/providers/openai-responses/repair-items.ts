/** Repairs the input items of a Responses body. */
import { NO_RESULT } from '../../core/conversation/repair.ts';
import { nameOfFile } from '../../core/conversation/shape.ts';
import * as read from '../../platform/json.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../protocol/json.ts';

/** The type of a call's output, by the type of the call: for tools that the caller runs. */
const OUTPUT_TYPES: Readonly<Record<string, string>> = {
  function_call: 'function_call_output',
  custom_tool_call: 'custom_tool_call_output',
};

const OUTPUTS: ReadonlySet<unknown> = new Set(Object.values(OUTPUT_TYPES));

/**
 * Repairs the items of a caller's own body as `repairConversation` does messages: each call has one output, and files
 * have names. Of an output that comes twice, the first counts, and another one that says something else becomes the
 * user's words. A list that needs nothing is the same.
 */
export function repairItems(items: readonly JsonValue[]): readonly JsonValue[] {
  const answered = new Set<unknown>();
  let repeated = false;
  for (const item of items) {
    if (!isJsonObject(item) || !OUTPUTS.has(item['type'])) continue;
    repeated ||= answered.has(item['call_id']);
    answered.add(item['call_id']);
  }
  const isOpen = (item: JsonValue): item is JsonObject =>
    isJsonObject(item) && outputTypeOf(item) !== undefined && !answered.has(item['call_id']);
  if (!repeated && !items.some((item) => isOpen(item) || hasUnnamedFile(item))) return items;
  const seen = new Map<unknown, string>();
  return items.flatMap((item): readonly JsonValue[] => {
    if (isOpen(item)) {
      return [item, { type: outputTypeOf(item) ?? '', call_id: item['call_id'] ?? '', output: NO_RESULT }];
    }
    if (isJsonObject(item) && OUTPUTS.has(item['type'])) return onceOnly(item, seen);
    return [hasUnnamedFile(item) ? withNames(item) : item];
  });
}

function outputTypeOf({ type }: JsonObject): string | undefined {
  return typeof type === 'string' && Object.hasOwn(OUTPUT_TYPES, type) ? OUTPUT_TYPES[type] : undefined;
}

function onceOnly(item: JsonObject, seen: Map<unknown, string>): readonly JsonValue[] {
  const { call_id: id, output } = item;
  const text = JSON.stringify(output);
  const first = seen.get(id);
  if (first === undefined) {
    seen.set(id, text);
    return [item];
  }
  return first === text ? [] : [{ role: 'user', content: output ?? '' }];
}

function hasUnnamedFile(item: JsonValue): item is JsonObject {
  if (!isJsonObject(item)) return false;
  const { content } = item;
  return Array.isArray(content) && content.some(isUnnamed);
}

function isUnnamed(part: JsonValue): boolean {
  return isJsonObject(part) && part['type'] === 'input_file' && part['file_data'] != null && !part['filename'];
}

function withNames(item: JsonObject): JsonObject {
  const content = item['content'] as readonly JsonValue[];
  return {
    ...item,
    content: content.map((part) =>
      isUnnamed(part) && isJsonObject(part)
        ? { ...part, filename: nameOfFile(read.string(part['file_data']) ?? '') }
        : part,
    ),
  };
}
