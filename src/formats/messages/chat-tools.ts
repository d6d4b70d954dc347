/** Writes the tools of a Messages request in the chat form. */
import type { JsonObject } from '../../protocol/json.ts';
import type { MessagesRequest } from './protocol/messages-request.ts';
import { type CustomTool, isCustomTool, isRouterTool, type MessagesTool, type TypedTool } from './protocol/tool.ts';
import { MAX_NAME_LENGTH } from '../../protocol/limits.ts';
import * as read from '../../platform/json.ts';

/** `tools`, `tool_choice` and `parallel_tool_calls` of the chat form. */
export function toolsOfMessages({ tools, tool_choice: choice }: MessagesRequest): JsonObject {
  const translated = (tools ?? []).flatMap(chatTool);
  return {
    ...(tools == null ? {} : { tools: translated }),
    ...(choice == null || translated.length === 0 ? {} : { tool_choice: chatChoice(choice, tools ?? []) }),
    ...(choice?.disable_parallel_tool_use === true && translated.length > 0 ? { parallel_tool_calls: false } : {}),
  };
}

/** True for a tool that has a place in the chat form. Other tools that Anthropic defines have none. */
export function isTranslatable(tool: MessagesTool): boolean {
  return isCustomTool(tool) || isRouterTool(tool) || WEB_TOOL.test(tool.type) || TOOL_SEARCH.test(tool.type);
}

/** Anthropic's own web tools, of any version. */
const WEB_TOOL = /^(web_search|web_fetch)_\d{8}$/;

/** The search for tools that are not loaded yet. Others get all tools at once, so there is nothing to search for. */
const TOOL_SEARCH = /^tool_search_tool_\w+$/;

function chatTool(tool: MessagesTool): readonly JsonObject[] {
  if (isCustomTool(tool)) return [functionTool(tool)];
  if (isRouterTool(tool)) return [routerTool(tool as JsonObject)];
  const [, name] = WEB_TOOL.exec(tool.type) ?? [];
  return name === undefined ? [] : [webTool(`router:${name}`, tool)];
}

function functionTool({
  name,
  description,
  input_schema: schema,
  strict,
  cache_control: mark,
}: CustomTool): JsonObject {
  return {
    type: 'function',
    function: {
      name: chatToolName(name),
      ...(description == null ? {} : { description }),
      parameters: schema as JsonObject,
      ...(strict == null ? {} : { strict }),
    },
    ...(mark == null ? {} : { cache_control: { ...mark } }),
  };
}

/** Tools of this wire have a name, by which they can be forced, and cache marks; neither is an option. */
function routerTool({ name: _, cache_control: __, ...tool }: JsonObject): JsonObject {
  return tool;
}

/** The router's web tools have the same options; those of a search call blocked domains excluded ones. */
function webTool(type: string, tool: TypedTool): JsonObject {
  const blocked = type === 'router:web_search' ? 'excluded_domains' : 'blocked_domains';
  const options: Readonly<Record<string, unknown>> = {
    max_uses: tool['max_uses'],
    allowed_domains: tool['allowed_domains'],
    [blocked]: tool['blocked_domains'],
    max_content_tokens: tool['max_content_tokens'],
    user_location: tool['user_location'],
  };
  const given = Object.entries(options).filter(([, value]) => value != null);
  return { type, ...(given.length === 0 ? {} : { parameters: Object.fromEntries(given) as JsonObject }) };
}

function chatChoice(
  choice: NonNullable<MessagesRequest['tool_choice']>,
  tools: readonly MessagesTool[],
): string | JsonObject {
  switch (choice.type) {
    case 'auto':
    case 'none':
      return choice.type;
    case 'any':
      return 'required';
    case 'tool': {
      const [tool] = tools.filter(({ name }) => name === choice.name).flatMap(chatTool);
      const isFunction = tool === undefined || tool['type'] === 'function';
      return isFunction ? { type: 'function', function: { name: chatToolName(choice.name) } } : { type: tool['type'] };
    }
  }
}

/** Characters of a long name that stay; a hash of the whole name follows them. */
const KEPT = MAX_NAME_LENGTH - 9;

/**
 * A tool's name in the chat form, which takes 64 characters where this wire takes 128: longer names, such as those of
 * tools behind connectors, get a short stand-in, always the same.
 */
export function chatToolName(name: string): string {
  return name.length <= MAX_NAME_LENGTH ? name : `${name.slice(0, KEPT)}_${shortHash(name)}`;
}

/** Gives tool names of the chat form back as the caller wrote them. */
export function originalNames(tools: unknown): (chatName: string) => string {
  const names = new Map<string, string>();
  for (const tool of read.list(tools)) {
    const { name } = tool as { readonly name?: unknown };
    if (typeof name === 'string' && name.length > MAX_NAME_LENGTH) names.set(chatToolName(name), name);
  }
  return (chatName) => names.get(chatName) ?? chatName;
}

/** Eight letters and digits that stand for a text: FNV-1a. For names that must differ, not for secrets. */
export function shortHash(text: string): string {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return (hash >>> 0).toString(16).padStart(8, '0');
}
