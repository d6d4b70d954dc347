import type { JsonObject, JsonValue } from '../../../protocol/json.ts';
import type { MessagesRequest } from '../../../protocol/messages/messages-request.ts';
import { isRouterTool } from '../../../protocol/messages/tool.ts';
import { nativeMessages } from './native-messages.ts';

/** Fields that the router reads and that no provider of this wire knows. */
const ROUTING_FIELDS = new Set([
  'models',
  'provider',
  'plugins',
  'session_id',
  'user',
  'trace',
  'route',
  'debug',
  'fallbacks',
  'max_tool_calls',
  'stop_server_tools_when',
  'stream_options',
  'usage',
  'prompt_cache_key',
]);

/** Fields of the chat request that change the answer and that this wire has no word for. */
const CHAT_OPTIONS = [
  'preset',
  'transforms',
  'reasoning',
  'reasoning_effort',
  'include_reasoning',
  'response_format',
  'frequency_penalty',
  'presence_penalty',
  'repetition_penalty',
  'min_p',
  'top_a',
  'logit_bias',
  'logprobs',
  'top_logprobs',
  'max_completion_tokens',
  'seed',
  'stop',
  'modalities',
  'audio',
  'parallel_tool_calls',
  'verbosity',
  'prediction',
  'image_config',
  'web_search_options',
  'prompt_cache_options',
] as const;

/** Plugins that only decide where a request goes, or whether it goes at all. */
const ROUTING_PLUGINS = new Set(['auto-router', 'auto-beta-router', 'pareto-router', 'moderation']);

/**
 * Path of the first thing that the router itself has to do with a request, so that even an endpoint of this wire is
 * asked in the chat form: options of the chat request, tools of the router, plugins that change what is sent.
 */
export function chatOnly(request: MessagesRequest): string | undefined {
  const option = CHAT_OPTIONS.find((name) => request[name] != null);
  if (option !== undefined) return option;
  const tool = request.tools?.findIndex(isRouterTool) ?? -1;
  if (tool >= 0) return `tools[${tool}].type`;
  const plugins = Array.isArray(request['plugins']) ? (request['plugins'] as readonly unknown[]) : [];
  const plugin = plugins.findIndex((entry) => changesRequest(entry));
  return plugin >= 0 ? `plugins[${plugin}]` : undefined;
}

function changesRequest(entry: unknown): boolean {
  const { id, enabled } = (entry ?? {}) as { readonly id?: unknown; readonly enabled?: unknown };
  return enabled !== false && typeof id === 'string' && !ROUTING_PLUGINS.has(id);
}

/**
 * The caller's own body for an endpoint that speaks this wire: without what only the router reads, and without traces
 * of other providers that Anthropic refuses.
 */
export function nativeBody(request: MessagesRequest): JsonObject {
  const body: Record<string, JsonValue | undefined> = {};
  for (const name in request) {
    if (!ROUTING_FIELDS.has(name)) body[name] = request[name] as JsonValue | undefined;
  }
  body['messages'] = nativeMessages(request.messages) as unknown as JsonValue;
  const user = request.metadata?.user_id;
  if (user == null) delete body['metadata'];
  else body['metadata'] = { user_id: user };
  const tier = NATIVE_TIERS[request.service_tier ?? ''];
  if (tier === undefined) delete body['service_tier'];
  else body['service_tier'] = tier;
  return body;
}

/** Other tiers are chosen by choosing an endpoint. */
const NATIVE_TIERS: Readonly<Record<string, string | undefined>> = {
  auto: 'auto',
  standard_only: 'standard_only',
  default: 'standard_only',
};
