import { type Checked, failed, faultAt, passed } from '../../../protocol/fault.ts';
import type { JsonObject, JsonValue } from '../../../protocol/json.ts';
import type { RequestLimits } from '../../../protocol/limits.ts';
import { parseResponsesRequest } from '../../../protocol/responses/parse-responses-request.ts';
import type { ResponsesRequest, TextFormat } from '../../../protocol/responses/responses-request.ts';
import type { DialectRequest } from '../dialect.ts';
import { messagesOfInput } from './input-messages.ts';
import { forbidsNative, requiresNative } from './native-request.ts';
import { chatTools } from './tools.ts';

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

/** Checks a body of `POST /responses` and says the same in the chat form (gaps 10; upstreams 7.2). */
export function toChat(body: unknown, limits: RequestLimits): Checked<DialectRequest> {
  const parsed = parseResponsesRequest(body, limits);
  if (!parsed.ok) return parsed;
  const request = parsed.value;
  const requiredBy = requiresNative(request);
  const forbidden = forbidsNative(request);
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
