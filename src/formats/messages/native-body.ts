/** Decides whether a Messages body may go to an endpoint as it came, and writes it. */
import { parametersLackedBy } from '../../catalog/lacked-parameters.ts';
import { isGatewayField } from '../../protocol/gateway-fields.ts';
import type { JsonObject, JsonValue } from '../../protocol/json.ts';
import type { MessagesRequest, MessagesTurn } from './protocol/messages-request.ts';
import { isRouterTool } from './protocol/tool.ts';
import { MAX_STOP_SEQUENCES } from '../../protocol/limits.ts';
import { type MessagesBlock, SERVER_TOOL_RESULTS } from './protocol/block.ts';
import { isTranslatable, shortHash } from './chat-tools.ts';
import { isForeign } from './thinking-blocks.ts';

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
const CHAT_OPTIONS: readonly string[] = [
  ...parametersLackedBy('messages'),
  'preset',
  'transforms',
  'modalities',
  'audio',
  'image_config',
  'prompt_cache_options',
];

/**
 * Path of the first thing that the router itself has to do with a request, so that even an endpoint of this wire is
 * called in the chat form: options of the chat request, tools of the router, plugins that change what is sent.
 *
 * @param routing - Ids of plugins that change nothing of it.
 */
export function chatOnly(request: MessagesRequest, routing: ReadonlySet<string>): string | undefined {
  const option = CHAT_OPTIONS.find((name) => request[name] != null);
  if (option !== undefined) return option;
  const tool = request.tools?.findIndex(isRouterTool) ?? -1;
  if (tool >= 0) return `tools[${tool}].type`;
  const plugins = Array.isArray(request['plugins']) ? (request['plugins'] as readonly unknown[]) : [];
  const plugin = plugins.findIndex((entry) => changesRequest(entry, routing));
  return plugin >= 0 ? `plugins[${plugin}]` : undefined;
}

function changesRequest(entry: unknown, routing: ReadonlySet<string>): boolean {
  const { id, enabled } = (entry ?? {}) as { readonly id?: unknown; readonly enabled?: unknown };
  return enabled !== false && typeof id === 'string' && !routing.has(id);
}

/**
 * The caller's own body for an endpoint that speaks this wire: without what only the router reads, and without traces
 * of other providers that Anthropic refuses.
 */
export function nativeBody(request: MessagesRequest): JsonObject {
  const body: Record<string, JsonValue | undefined> = {};
  for (const name in request) {
    if (!ROUTING_FIELDS.has(name) && !isGatewayField(name)) body[name] = request[name] as JsonValue | undefined;
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

/**
 * Path of the first thing that the chat form cannot say, so that only an endpoint that speaks this wire can be called:
 * files that lie with Anthropic, tools it defines, its containers, and blocks that are newer than this router. What
 * only saves time or cost, such as `context_management`, is no such thing and goes to native endpoints only.
 */
export function nativeOnly(request: MessagesRequest): string | undefined {
  if (request.max_tokens === 0) return 'max_tokens';
  if ((request.stop_sequences?.length ?? 0) > MAX_STOP_SEQUENCES) return 'stop_sequences';
  if (request.container != null) return 'container';
  if (request.mcp_servers != null && request.mcp_servers.length > 0) return 'mcp_servers';
  if (request.inference_geo != null && request.inference_geo !== 'global') return 'inference_geo';
  const tool = request.tools?.findIndex((one) => !isTranslatable(one)) ?? -1;
  if (tool >= 0) return `tools[${tool}].type`;
  for (const [turn, { content }] of request.messages.entries()) {
    const path = typeof content === 'string' ? undefined : strangeBlock(content);
    if (path !== undefined) return `messages[${turn}].content${path}`;
  }
  return undefined;
}

/** Blocks that are translated, besides those with a source. */
const TRANSLATED = new Set<string>([
  'text',
  'search_result',
  'tool_reference',
  'thinking',
  'redacted_thinking',
  'tool_use',
  'server_tool_use',
  'mcp_tool_use',
  ...SERVER_TOOL_RESULTS,
]);

/** The path is put together only where something is found: a message may have many thousands of blocks. */
function strangeBlock(blocks: readonly MessagesBlock[]): string | undefined {
  for (let index = 0; index < blocks.length; index += 1) {
    const found = strangePart(blocks[index] as MessagesBlock);
    if (found !== undefined) return `[${index}]${found}`;
  }
  return undefined;
}

function strangePart(block: MessagesBlock): string | undefined {
  if (block.type === 'image') return block.source.type === 'file' ? '.source' : undefined;
  if (block.type === 'document') {
    const { source } = block;
    if (source.type === 'file') return '.source';
    if (source.type !== 'content' || typeof source.content === 'string') return undefined;
    const found = strangeBlock(source.content);
    return found && `.source.content${found}`;
  }
  if (block.type === 'tool_result') {
    const found = typeof block.content === 'string' ? undefined : strangeBlock(block.content ?? []);
    return found && `.content${found}`;
  }
  return TRANSLATED.has(block.type) ? undefined : '.type';
}

/** Ids of calls as Anthropic accepts them. */
const OWN_ID = /^[a-zA-Z0-9_-]+$/;

/**
 * A conversation that Anthropic can go on with, also when others took part in it: thinking that it did not make is
 * left out, because it refuses that, and ids of calls that it would refuse get stand-ins, the same for call and result.
 */
function nativeMessages(messages: readonly MessagesTurn[]): readonly MessagesTurn[] {
  if (!messages.some(({ content }) => typeof content !== 'string' && content.some(isStrange))) return messages;
  return messages.flatMap((turn) => {
    if (typeof turn.content === 'string') return [turn];
    const content = turn.content.filter((block) => !isForeignThinking(block)).map(withOwnId);
    // Neighbours of the same role are one turn to Anthropic.
    return content.length === 0 ? [] : [{ ...turn, content }];
  });
}

function isStrange(block: MessagesBlock): boolean {
  return isForeignThinking(block) || withOwnId(block) !== block;
}

function isForeignThinking(block: MessagesBlock): boolean {
  return (block.type === 'thinking' || block.type === 'redacted_thinking') && isForeign(block);
}

function withOwnId(block: MessagesBlock): MessagesBlock {
  if (block.type === 'tool_use') return OWN_ID.test(block.id) ? block : { ...block, id: standIn(block.id) };
  if (block.type !== 'tool_result' || OWN_ID.test(block.tool_use_id)) return block;
  return { ...block, tool_use_id: standIn(block.tool_use_id) };
}

function standIn(id: string): string {
  return `${id.replaceAll(/[^a-zA-Z0-9_-]/g, '_')}_${shortHash(id)}`;
}
