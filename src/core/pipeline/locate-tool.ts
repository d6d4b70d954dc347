/** Finds where in the client's own body a plugin or server tool is named, for errors. */
import type { RequestFault } from '../../protocol/fault.ts';
import { isJsonObject, type JsonObject } from '../../protocol/json.ts';
import { serverToolType } from '../normalize/server-tools.ts';
import type { ChatRequest } from '../../protocol/chat-request.ts';
import * as read from '../../platform/json.ts';
import { PLUGIN_SHORT_FORMS } from '../../protocol/plugins.ts';

/**
 * Where in a caller's own body a server tool stands, whatever API format the body is in.
 *
 * @param body - As the caller sent it.
 * @param occurrence - Which one of several tools of this type, from 0.
 */
export function pathOfServerTool(body: unknown, type: string, occurrence: number): string {
  let left = occurrence;
  for (const [index, tool] of toolsOf(body).entries()) {
    if (typeIn(tool) !== type) continue;
    if (left === 0) return `tools[${index}]`;
    left -= 1;
  }
  return 'tools';
}

/**
 * The fault of a server tool as its caller must read it: options may be beside `type` instead of under `parameters`,
 * and API formats have names of their own for some.
 */
export function faultInBody(fault: RequestFault, body: unknown): RequestFault {
  const [, start = '', place = '', option = '', rest = ''] =
    /^(tools\[(\d+)\])\.parameters\.([^.[]+)(.*)$/.exec(fault.path) ?? [];
  const tool = toolsOf(body)[Number(place)];
  const own = option === '' || tool === undefined ? undefined : ownName(tool, option);
  if (own === undefined) return fault;
  const path = `${start}.${own}${rest}`;
  const { message } = fault;
  return {
    ...fault,
    path,
    message: message.startsWith(fault.path) ? path + message.slice(fault.path.length) : message,
  };
}

/** What an option beside `type` is called; undefined when it is where it is expected. */
function ownName(tool: JsonObject, option: string): string | undefined {
  if (isJsonObject(tool['parameters']) && option in tool['parameters']) return undefined;
  if (option in tool) return option;
  const blocked = option === 'excluded_domains' ? 'blocked_domains' : option;
  if (blocked in tool) return blocked;
  return isJsonObject(tool['filters']) && blocked in tool['filters'] ? `filters.${blocked}` : undefined;
}

function toolsOf(body: unknown): readonly JsonObject[] {
  const tools = isJsonObject(body) ? body['tools'] : undefined;
  return Array.isArray(tools) ? (tools as readonly unknown[]).map((tool) => read.object(tool)) : [];
}

/** The one spelling of a tool's type. Anthropic's types carry a date, and OpenAI's image tool has no prefix. */
function typeIn({ type }: JsonObject): string | undefined {
  if (typeof type !== 'string') return undefined;
  if (type === 'image_generation') return 'router:image_generation';
  const [, web] = /^(web_search|web_fetch)_\d{8}$/.exec(type) ?? [];
  return web === undefined ? serverToolType(type) : `router:${web}`;
}

/** Where in a body a plugin was requested: its last entry, or a field that stands for one. */
export function pathOfPlugin(body: ChatRequest, id: string): string {
  const index = body.plugins?.findLastIndex((entry) => entry.id === id) ?? -1;
  if (index >= 0) return `plugins[${index}]`;
  if (id === PLUGIN_SHORT_FORMS.transforms && body.transforms != null) return 'transforms';
  if (id === PLUGIN_SHORT_FORMS.online && body.model?.includes(':online') === true) return 'model';
  return 'plugins';
}
