/** Translates bodies of `POST /responses` into the chat form. */
import { isGatewayField } from '../../protocol/gateway-fields.ts';
import { type Checked, failed, faultAt, passed } from '../../protocol/fault.ts';
import type { JsonObject, JsonValue } from '../../protocol/json.ts';
import type { RequestLimits } from '../../protocol/limits.ts';
import { parseResponsesRequest, type ResponsesRequest, type TextFormat } from './protocol/responses-request.ts';
import type { ApiFormatRequest } from '../api-format.ts';
import { forbidsNative, requiresNative } from './native-request.ts';
import { toolsOfResponses } from './tools.ts';
import type { InputPart, MessagePart } from './protocol/input-content.ts';
import {
  type CustomToolCallItem,
  type FunctionCallItem,
  type ImageCallItem,
  type InputItem,
  isTranslatedItem,
  type MessageItem,
  type ReasoningItem,
  type ServerCallItem,
} from './protocol/input-item.ts';
import type { ContentPart, TextPart } from '../../protocol/content-part.ts';
import type { ReasoningDetail } from '../../protocol/reasoning.ts';
import { detailOfServerCall, reasoningOfItem } from './reasoning-items.ts';

/** Fields that the chat form says in other words, or that were refused unless they say nothing. */
const TRANSLATED = new Set([
  '__proto__',
  'input',
  'instructions',
  'tools',
  'tool_choice',
  'text',
  'reasoning',
  'include',
  'max_output_tokens',
  'top_logprobs',
  'truncation',
  'safety_identifier',
  'user',
  'stream_options',
  'prompt_cache_options',
  'client_metadata',
  'store',
  'background',
  'previous_response_id',
  'conversation',
  'prompt',
  'context_management',
  'moderation',
  'access_programs',
  'image',
  'messages',
]);

/** Fields that are for this router and for nobody behind it. */
const ROUTING = new Set([
  '__proto__',
  'models',
  'provider',
  'plugins',
  'session_id',
  'metadata',
  'trace',
  'route',
  'debug',
  'usage',
  'safety_identifier',
  'user',
  'store',
  'background',
]);

/**
 * Checks a body of `POST /responses` and says the same in the chat form (gaps 10; upstreams 7.2).
 *
 * @param routing - Ids of plugins that choose the model and leave the rest of a request alone.
 */
export function toChat(
  body: unknown,
  limits: RequestLimits,
  routing: ReadonlySet<string> = new Set(),
): Checked<ApiFormatRequest> {
  const parsed = parseResponsesRequest(body, limits);
  if (!parsed.ok) return parsed;
  const request = parsed.value;
  const requiredBy = requiresNative(request);
  const forbidden = forbidsNative(request, routing);
  if (requiredBy !== undefined && forbidden !== undefined) {
    const problem = `can only be sent to a provider that supports this API natively, which ${forbidden} rules out`;
    return failed(faultAt(requiredBy, problem));
  }
  const chat = chatBody(request);
  return passed(forbidden === undefined ? { chat, native: { body: nativeBody(request), requiredBy } } : { chat });
}

function nativeBody(request: ResponsesRequest): JsonObject {
  const kept = Object.entries(request).filter(
    ([name, value]) => value != null && !ROUTING.has(name) && !isGatewayField(name),
  );
  return Object.fromEntries(kept) as JsonObject;
}

function chatBody(request: ResponsesRequest): JsonObject {
  const { text, truncation, max_output_tokens: limit, tools, tool_choice: choice } = request;
  const user = request.safety_identifier ?? request.user;
  const format = formatOf(text?.format);
  const reasoning = reasoningOf(request);
  return {
    ...sharedFields(request),
    messages: messagesOfInput(request.input, request.instructions),
    ...toolsOfResponses(tools ?? [], choice ?? undefined),
    ...(format === undefined ? {} : { response_format: format }),
    ...(text?.verbosity == null ? {} : { verbosity: text.verbosity }),
    ...(reasoning === undefined ? {} : { reasoning }),
    ...(limit == null ? {} : { max_completion_tokens: limit }),
    ...logprobsOf(request),
    ...(truncation == null || request['transforms'] != null
      ? {}
      : { transforms: truncation === 'auto' ? ['middle-out'] : [] }),
    ...(user == null ? {} : { user }),
  };
}

/** What both shapes say in the same words, and what neither knows. */
function sharedFields(request: ResponsesRequest): JsonObject {
  const shared: Record<string, JsonValue | undefined> = {};
  for (const [name, value] of Object.entries(request)) {
    if (!TRANSLATED.has(name)) shared[name] = value as JsonValue;
  }
  const cache = request['prompt_cache_options'] as JsonObject | null | undefined;
  // Only this mode exists in the chat form; the other one is what happens anyway.
  if (cache?.['mode'] === 'explicit') shared['prompt_cache_options'] = cache;
  return shared;
}

function formatOf(format: TextFormat | null | undefined): JsonObject | undefined {
  if (format == null || format.type === 'text') return undefined;
  if (format.type === 'json_object') return { type: 'json_object' };
  const { name, description, schema, strict } = format;
  return {
    type: 'json_schema',
    json_schema: {
      name,
      ...(description == null ? {} : { description }),
      ...(schema == null ? {} : { schema: schema as JsonObject }),
      ...(strict == null ? {} : { strict }),
    },
  };
}

function reasoningOf({ reasoning }: ResponsesRequest): JsonObject | undefined {
  if (reasoning == null) return undefined;
  const { generate_summary: old, ...options } = reasoning;
  return { ...options, ...(options.summary == null && old != null ? { summary: old } : {}) };
}

function logprobsOf({ top_logprobs: top, include }: ResponsesRequest): JsonObject {
  const wanted = include?.includes('message.output_text.logprobs') === true;
  if (!wanted && !top) return {};
  return { logprobs: true, ...(top ? { top_logprobs: top } : {}) };
}

/**
 * The messages that input items stand for. Items that only their own provider understands leave nothing behind: a
 * request with such items does not go to anybody else.
 */
function messagesOfInput(
  input: string | readonly InputItem[],
  instructions: string | null | undefined,
): readonly JsonObject[] {
  const messages: JsonObject[] = instructions ? [{ role: 'system', content: instructions }] : [];
  if (typeof input === 'string') return [...messages, { role: 'user', content: input }];
  let turn: AssistantItem[] = [];
  const endTurn = (): void => {
    if (turn.length > 0) messages.push(...messagesOfTurn(turn));
    turn = [];
  };
  for (const item of input.filter(isTranslatedItem)) {
    if (isOfAssistant(item)) {
      turn.push(item);
      continue;
    }
    endTurn();
    messages.push(messageOfOther(item));
  }
  endTurn();
  // Nothing is left when all items were of the other kind.
  return messages.some((message) => message['role'] !== 'system')
    ? messages
    : [...messages, { role: 'user', content: '' }];
}

function isOfAssistant(item: InputItem): item is AssistantItem {
  if (item.type == null || item.type === 'message') return item.role === 'assistant';
  return !(
    item.type === 'function_call_output' ||
    item.type === 'custom_tool_call_output' ||
    item.type === 'configuration_update'
  );
}

function messageOfOther(item: Exclude<InputItem, AssistantItem> | AssistantItem): JsonObject {
  switch (item.type) {
    case 'function_call_output':
    case 'custom_tool_call_output':
      return { role: 'tool', tool_call_id: item.call_id, content: chatContent(item.output) as JsonValue };
    case 'configuration_update':
      return {
        role: 'developer',
        content: '',
        ...(item.reasoning == null ? {} : { configuration_update: { reasoning: { ...item.reasoning } } }),
      };
    default: {
      const { role, content } = item as { readonly role: string; readonly content: string | readonly InputPart[] };
      return { role, content: (role === 'user' ? chatContent(content) : chatText(content)) as JsonValue };
    }
  }
}

/** Content of a user's message or of a tool's result, in the chat form. */
function chatContent(content: string | readonly InputPart[]): string | readonly ContentPart[] {
  return typeof content === 'string' ? content : content.flatMap(chatParts);
}

/** Content of instructions: text only. */
function chatText(content: string | readonly MessagePart[] | null | undefined): string | readonly TextPart[] {
  if (typeof content === 'string' || content == null) return content ?? '';
  return content.flatMap((part) => (part.type === 'input_text' ? [{ ...part, type: 'text' as const }] : []));
}

/** One part in the chat form; an empty string for an image that only its own provider can find. */
function chatParts(part: InputPart): readonly ContentPart[] {
  const { type: _, ...rest } = part;
  const marks = {
    ...(part.cache_control == null ? {} : { cache_control: part.cache_control }),
    ...(part.prompt_cache_breakpoint == null ? {} : { prompt_cache_breakpoint: part.prompt_cache_breakpoint }),
  };
  switch (part.type) {
    case 'input_text':
      return [{ ...rest, type: 'text', text: part.text }];
    case 'input_image': {
      const { image_url: url, detail } = part;
      return url == null
        ? [{ type: 'text', text: '' }]
        : [{ type: 'image_url', image_url: { url, ...(detail == null ? {} : { detail }) }, ...marks }];
    }
    case 'input_file': {
      const { filename, file_id: id } = part;
      const data = part.file_data ?? part.file_url;
      const file = {
        ...(filename == null ? {} : { filename }),
        ...(data == null ? {} : { file_data: data }),
        ...(id == null ? {} : { file_id: id }),
      };
      return [{ type: 'file', file, ...marks }];
    }
    case 'input_audio':
      return [{ type: 'input_audio', input_audio: part.input_audio, ...marks }];
    case 'input_video':
      return [{ type: 'video_url', video_url: { url: part.video_url }, ...marks }];
  }
}

/** An item that tells of what the model did. */
type AssistantItem =
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
function messagesOfTurn(items: readonly AssistantItem[]): readonly JsonObject[] {
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
    ...contentOf(parts, calls.length),
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
function contentOf(parts: readonly MessagePart[], calls: number): JsonObject {
  const [first] = parts;
  if (first === undefined) return { content: calls > 0 ? null : '' };
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

/** The citations of an earlier answer in the chat form. */
function chatAnnotations(parts: readonly MessagePart[]): readonly JsonObject[] {
  const annotations = parts.flatMap((part) => (part.type === 'output_text' ? (part.annotations ?? []) : []));
  return annotations.flatMap(({ type, ...citation }) =>
    type === 'url_citation' ? [{ type, url_citation: citation } as JsonObject] : [],
  );
}
