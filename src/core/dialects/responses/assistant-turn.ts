import type { JsonObject, JsonValue } from '../../../protocol/json.ts';
import type { ReasoningDetail } from '../../../protocol/reasoning.ts';
import type { MessagePart } from '../../../protocol/responses/input-content.ts';
import type {
  CustomToolCallItem,
  FunctionCallItem,
  ImageCallItem,
  MessageItem,
  ReasoningItem,
  ServerCallItem,
} from '../../../protocol/responses/input-item.ts';
import { detailOfServerCall, reasoningOfItem } from './reasoning-items.ts';
import type { Annotation } from '../../../protocol/chat-result.ts';

/** An item that tells of what the model did. */
export type AssistantItem =
  | MessageItem
  | FunctionCallItem
  | CustomToolCallItem
  | ReasoningItem
  | ImageCallItem
  | ServerCallItem;

/**
 * What the model did between two messages of others, as chat messages. With calls among it, it is one message: their
 * results must follow it directly. Without, every message stays one, each with the reasoning before it.
 */
export function messagesOfTurn(items: readonly AssistantItem[]): readonly JsonObject[] {
  const calls = items.some((item) => item.type === 'function_call' || item.type === 'custom_tool_call');
  if (calls) return [messageOf(items)];
  const groups: AssistantItem[][] = [];
  let spoken = true;
  for (const [position, item] of items.entries()) {
    const speaksLater = items.slice(position).some(isMessage);
    if (groups.length === 0 || (spoken && speaksLater)) groups.push([]);
    groups.at(-1)?.push(item);
    spoken = isMessage(item) || (spoken && !speaksLater);
  }
  return groups.map(messageOf);
}

function messageOf(items: readonly AssistantItem[]): JsonObject {
  const texts: string[] = [];
  const details: ReasoningDetail[] = [];
  const parts: MessagePart[] = [];
  const files: JsonValue[] = [];
  const calls: JsonObject[] = [];
  const images: JsonObject[] = [];
  for (const item of items) {
    if (isMessage(item)) {
      parts.push(...partsOf(item));
      files.push(...((item.annotations ?? []) as unknown as JsonValue[]));
    } else if (item.type === 'function_call') calls.push(callOf(item, item.arguments));
    else if (item.type === 'custom_tool_call') calls.push(callOf(item, JSON.stringify({ input: item.input })));
    else if (item.type === 'image_generation_call') images.push(...imagesOf(item));
    else if (item.type === 'reasoning') {
      const earlier = reasoningOfItem(item, details.length === 0 ? 0 : (details.at(-1)?.index ?? 0) + 1);
      if (earlier.text !== '') texts.push(earlier.text);
      details.push(...earlier.details);
    } else {
      const detail = detailOfServerCall(item, details.length === 0 ? 0 : (details.at(-1)?.index ?? 0) + 1);
      if (detail !== undefined) details.push(detail);
    }
  }
  const annotations = [...chatAnnotations(parts), ...files];
  return {
    role: 'assistant',
    ...contentOf(parts, calls.length > 0),
    ...(texts.length === 0 ? {} : { reasoning: texts.join('\n\n') }),
    ...(details.length === 0 ? {} : { reasoning_details: details as unknown as JsonValue }),
    ...(annotations.length === 0 ? {} : { annotations }),
    ...(images.length === 0 ? {} : { images }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
}

function isMessage(item: AssistantItem): item is MessageItem {
  return item.type == null || item.type === 'message';
}

function partsOf({ content }: MessageItem): readonly MessagePart[] {
  if (typeof content === 'string') return [{ type: 'output_text', text: content }];
  return content ?? [];
}

/** One text stays a string, which every provider takes; a refusal alone is in its own member. */
function contentOf(parts: readonly MessagePart[], called: boolean): JsonObject {
  const [first] = parts;
  if (first === undefined) return { content: called ? null : '' };
  if (parts.length === 1 && 'text' in first) return { content: first.text };
  if (parts.length === 1 && first.type === 'refusal') return { content: null, refusal: first.refusal };
  return {
    content: parts.flatMap((part): JsonObject[] => {
      if (part.type === 'refusal') return [{ type: 'refusal', refusal: part.refusal }];
      return 'text' in part ? [{ type: 'text', text: part.text }] : [];
    }),
  };
}

function callOf({ call_id: id, name }: FunctionCallItem | CustomToolCallItem, text: string): JsonObject {
  return { id, type: 'function', function: { name, arguments: text } };
}

function imagesOf({ result, output_format: format }: ImageCallItem): readonly JsonObject[] {
  if (result == null || result === '') return [];
  const url = /^(?:https?:|data:)/.test(result) ? result : `data:image/${format ?? 'png'};base64,${result}`;
  return [{ type: 'image_url', image_url: { url } }];
}

/** A citation, with its members beside the type; undefined for annotations that are no citations. */
export function citationOf(annotation: Annotation): JsonObject | undefined {
  if (annotation.type !== 'url_citation') return undefined;
  const { url, title, content, start_index: start, end_index: end } = annotation.url_citation;
  return {
    type: 'url_citation',
    url,
    title: title ?? '',
    start_index: start ?? 0,
    end_index: end ?? 0,
    ...(content === undefined ? {} : { content }),
  };
}

/** The citations of an earlier answer in the chat form. */
function chatAnnotations(parts: readonly MessagePart[]): readonly JsonObject[] {
  const annotations = parts.flatMap((part) => (part.type === 'output_text' ? (part.annotations ?? []) : []));
  return annotations.flatMap(({ type, ...citation }) =>
    type === 'url_citation' ? [{ type, url_citation: citation } as JsonObject] : [],
  );
}
