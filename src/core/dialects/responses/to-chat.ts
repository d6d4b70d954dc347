import { type Checked, failed, faultAt, passed } from '../../../protocol/fault.ts';
import type { JsonObject, JsonValue } from '../../../protocol/json.ts';
import type { RequestLimits } from '../../../protocol/limits.ts';
import { parseResponsesRequest } from '../../../protocol/responses/parse-responses-request.ts';
import type { ResponsesRequest, TextFormat } from '../../../protocol/responses/responses-request.ts';
import type { DialectRequest } from '../dialect.ts';
import { forbidsNative, requiresNative } from './native-request.ts';
import { chatTools } from './tools.ts';
import type { InputPart, MessagePart } from '../../../protocol/responses/input-content.ts';
import { type InputItem, isTranslatedItem } from '../../../protocol/responses/input-item.ts';
import { type AssistantItem, messagesOfTurn } from './assistant-turn.ts';
import type { ContentPart, TextPart } from '../../../protocol/content-part.ts';

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
): Checked<DialectRequest> {
  const parsed = parseResponsesRequest(body, limits);
  if (!parsed.ok) return parsed;
  const request = parsed.value;
  const requiredBy = requiresNative(request);
  const forbidden = forbidsNative(request, routing);
  if (requiredBy !== undefined && forbidden !== undefined) {
    const problem = `can only be sent to a provider that speaks this API itself, which ${forbidden} rules out`;
    return failed(faultAt(requiredBy, problem));
  }
  const chat = chatBody(request);
  return passed(forbidden === undefined ? { chat, native: { body: nativeBody(request), requiredBy } } : { chat });
}

function nativeBody(request: ResponsesRequest): JsonObject {
  const kept = Object.entries(request).filter(([name, value]) => value != null && !ROUTING.has(name));
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
    ...chatTools(tools ?? [], choice ?? undefined),
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

/** One part in the chat form; an empty text for an image that only its own provider can find. */
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
