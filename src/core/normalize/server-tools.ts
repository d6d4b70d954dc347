/** Separates server tools from functions and normalizes the spelling of their types. */
import {
  type FunctionTool,
  isFunctionTool,
  type ServerTool,
  type Tool,
  WEB_SEARCH_SHORT_FORMS,
} from '../../protocol/tools.ts';

/** Tools, distinguished by who runs them. */
interface SortedTools {
  readonly functions: readonly FunctionTool[];
  readonly server: readonly ServerTool[];
}

/** Separates the caller's functions from server tools, and brings the latter to the spelling `router:name`. */
export function sortTools(tools: readonly Tool[]): SortedTools {
  const functions: FunctionTool[] = [];
  const server: ServerTool[] = [];
  for (const tool of tools) {
    if (isFunctionTool(tool)) functions.push(tool);
    else server.push(normalizeServerTool(tool));
  }
  return { functions, server };
}

/** One spelling for a server tool's type, whatever brand or short form it came in. */
export function serverToolType(type: string): ServerTool['type'] {
  if ((WEB_SEARCH_SHORT_FORMS as readonly string[]).includes(type)) return 'router:web_search';
  return type.replace(/^openrouter:/, 'router:') as ServerTool['type'];
}

/** One spelling for a server tool. Options may be beside `type` or under `parameters`; the latter win. */
export function normalizeServerTool({ type, parameters, ...flat }: ServerTool): ServerTool {
  return { type: serverToolType(type), parameters: { ...flat, ...parameters } };
}
