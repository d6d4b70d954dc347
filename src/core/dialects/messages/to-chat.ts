import { CHAT_FIELDS } from '../../../protocol/chat-request.ts';
import { type Checked, failed, faultAt, passed } from '../../../protocol/fault.ts';
import type { JsonObject, JsonValue } from '../../../protocol/json.ts';
import { MAX_STOP_SEQUENCES, type RequestLimits } from '../../../protocol/limits.ts';
import type { MessagesRequest } from '../../../protocol/messages/messages-request.ts';
import { parseMessagesRequest } from '../../../protocol/messages/parse-messages-request.ts';
import type { DialectRequest } from '../dialect.ts';
import { chatMessages } from './chat-messages.ts';
import { chatReasoning } from './chat-reasoning.ts';
import { chatTools } from './chat-tools.ts';
import { chatOnly, nativeBody } from './native-body.ts';
import { nativeOnly } from './native-only.ts';

/** Fields that are named as in the chat request, but mean something else there or are translated. */
const TRANSLATED = new Set(['messages', 'tools', 'tool_choice', 'metadata', 'service_tier']);

/** Checks a body of `POST /messages` and says the same as a chat request. */
export function messagesToChat(body: unknown, limits: RequestLimits): Checked<DialectRequest> {
  const parsed = parseMessagesRequest(body, limits);
  if (!parsed.ok) return parsed;
  const request = parsed.value;
  const requiredBy = nativeOnly(request);
  const routersOwn = chatOnly(request);
  if (requiredBy !== undefined && routersOwn !== undefined) {
    const problem = `can only be sent to a provider that speaks this API itself, which has no word for ${routersOwn}`;
    return failed(faultAt(requiredBy, problem));
  }
  return passed({
    chat: chatBody(request),
    native: routersOwn === undefined ? { body: nativeBody(request), requiredBy } : undefined,
  });
}

/** Fields that neither wire knows stay behind: most are new ones of Anthropic's, and only its endpoints know them. */
function chatBody(request: MessagesRequest): JsonObject {
  const body: Record<string, JsonValue | undefined> = {};
  for (const name in request) {
    if (CHAT_FIELDS.has(name) && !TRANSLATED.has(name)) body[name] = request[name] as JsonValue | undefined;
  }
  return {
    ...body,
    messages: chatMessages(request),
    // Zero is for endpoints of this wire only, and only they are asked then.
    max_tokens: Math.max(1, request.max_tokens),
    ...chatTools(request),
    ...chatReasoning(request),
    ...stopOf(request),
    ...formatOf(request),
    ...userOf(request),
    ...tierOf(request),
    ...modelsOf(request),
  };
}

function stopOf({ stop_sequences: sequences }: MessagesRequest): JsonObject {
  return sequences == null || sequences.length === 0 ? {} : { stop: sequences.slice(0, MAX_STOP_SEQUENCES) };
}

function formatOf({ output_config: config }: MessagesRequest): JsonObject {
  if (config?.format == null) return {};
  const schema = config.format.schema as JsonObject;
  return { response_format: { type: 'json_schema', json_schema: { name: 'output', schema, strict: true } } };
}

/** The end user may be named as on chat as well; the other pairs of `metadata` are the chat request's. */
function userOf({ metadata, user }: MessagesRequest): JsonObject {
  const { user_id: id, ...pairs } = metadata ?? {};
  return {
    ...(id == null || user != null ? {} : { user: id }),
    ...(Object.keys(pairs).length === 0 ? {} : { metadata: pairs as JsonObject }),
  };
}

function tierOf({ service_tier: tier, speed }: MessagesRequest): JsonObject {
  if (tier != null && tier !== 'auto') return { service_tier: tier === 'standard_only' ? 'default' : tier };
  return speed === 'fast' ? { service_tier: 'priority' } : {};
}

function modelsOf({ fallbacks }: MessagesRequest): JsonObject {
  return fallbacks == null || fallbacks === 'default' ? {} : { models: fallbacks.map(({ model }) => model) };
}
